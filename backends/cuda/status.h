#ifndef VELLUM_BACKENDS_CUDA_STATUS_H_
#define VELLUM_BACKENDS_CUDA_STATUS_H_

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "vellum/device/status.h"

namespace vellum::cuda {

// What the CUDA runtime answered, in the library's terms. The message is the runtime's own, except where that would not
// say what is missing. Pure; needs no device.
Status status_of(cudaError_t error);
Status status_of(cublasStatus_t error);

// status_of(error), and forgets the error, so that the next launch of this thread is not blamed for it. A fault of the
// device (an address out of bounds) cannot be forgotten: each later call reports it again until the process ends.
Status take_status(cudaError_t error);

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_STATUS_H_
