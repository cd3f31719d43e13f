#ifndef VELLUM_BACKENDS_CPU_CPU_DEVICE_H_
#define VELLUM_BACKENDS_CPU_CPU_DEVICE_H_

#include "vellum/device/device_api.h"

namespace vellum {

// The functions of the CPU as a device. Everything works at once: there is one stream and no event, so those entries
// are null. Blocks of 2 MiB and more are aligned to huge pages and ask the kernel for them; so do reserved ranges, of
// which they are the pages. Thread-safe.
const DeviceApi& cpu_device_api();

}  // namespace vellum

#endif  // VELLUM_BACKENDS_CPU_CPU_DEVICE_H_
