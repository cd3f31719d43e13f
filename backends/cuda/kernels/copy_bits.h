#ifndef VELLUM_BACKENDS_CUDA_KERNELS_COPY_BITS_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_COPY_BITS_H_

#include <cstddef>

#include "vellum/tensor/kernel.h"

namespace vellum::cuda {

// Enqueues a copy of operand 1 of the plan, elements of `bytes` (1, 2, 4, 8 or 16), into operand 0.
Status copy_bits(const LoopPlan& plan, size_t bytes, const Stream& stream) noexcept;

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_COPY_BITS_H_
