#ifndef VELLUM_BACKENDS_CUDA_CUDA_BACKEND_H_
#define VELLUM_BACKENDS_CUDA_CUDA_BACKEND_H_

#include "vellum/tensor/backend.h"

namespace vellum {

// NVIDIA GPUs as the device "cuda". Depend on //backends/cuda:register to have it linked and registered; a program that
// does starts on any machine, and finds 0 devices where there is no driver or no GPU.
const Backend& cuda_backend();

}  // namespace vellum

#endif  // VELLUM_BACKENDS_CUDA_CUDA_BACKEND_H_
