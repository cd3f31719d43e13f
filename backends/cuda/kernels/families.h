#ifndef VELLUM_BACKENDS_CUDA_KERNELS_FAMILIES_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_FAMILIES_H_

#include <vector>

#include "vellum/tensor/kernel.h"

namespace vellum::cuda {

// The kernels of each family. What none has is composed of others or computed on the host.
std::vector<KernelEntry> pointwise_kernels();   // add, sub, mul, div, neg, conj, exp, relu, relu_backward
std::vector<KernelEntry> comparison_kernels();  // eq, ne, lt, le, gt, ge
std::vector<KernelEntry> matmul_kernels();      // matmul

// All of them.
std::vector<KernelEntry> all_kernels();

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_FAMILIES_H_
