#ifndef VELLUM_BACKENDS_CUDA_CUDA_DEVICE_H_
#define VELLUM_BACKENDS_CUDA_CUDA_DEVICE_H_

#include "vellum/device/device_api.h"

namespace vellum::cuda {

// The functions of NVIDIA GPUs as devices, written with the CUDA runtime. Thread-safe. Without a driver or a GPU there
// are 0 devices, and every function reports why.
//
// - Memory is the runtime's own (cudaMalloc), aligned to 256 bytes; what caches it stands above. Freeing waits for the
//   device.
// - Handle 0 is the default stream, which all threads share. Other streams run beside it: only events order them.
// - Copies and memsets are enqueued. A copy from or to pageable host memory has read or written it when the call
//   returns; page-locked memory must live until the stream has got there.
// - A fault of a kernel shows at the next synchronisation and in each call after it.
const DeviceApi& cuda_device_api();

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_CUDA_DEVICE_H_
