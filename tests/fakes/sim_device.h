#ifndef VELLUM_TESTS_FAKES_SIM_DEVICE_H_
#define VELLUM_TESTS_FAKES_SIM_DEVICE_H_

#include "vellum/device/device_api.h"

namespace vellum::sim {

const DeviceApi& device_functions();

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_DEVICE_H_
