#ifndef VELLUM_BACKENDS_CPU_KERNELS_COPY_BITS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_COPY_BITS_H_

#include <cstdint>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// Copies elements of `bytes` (1, 2, 4, 8 or 16) as they are, over any plan of two operands. Transposed inputs are
// walked in tiles.
void copy_bits(const LoopPlan& plan, int64_t bytes) noexcept;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_COPY_BITS_H_
