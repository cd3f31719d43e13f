#ifndef VELLUM_TESTS_REPLAY_TARGET_H_
#define VELLUM_TESTS_REPLAY_TARGET_H_

#include "vellum/device/device.h"

namespace vellum::replay {

// The device that the kept cases run on; each test defines it.
Device target();

}  // namespace vellum::replay

#endif  // VELLUM_TESTS_REPLAY_TARGET_H_
