#ifndef VELLUM_BACKENDS_CPU_KERNELS_PLAIN_NORM_H_
#define VELLUM_BACKENDS_CPU_KERNELS_PLAIN_NORM_H_

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// vector_norm of any order and floating or complex dtype, in double and without vectors.
Status run_plain_norm(const KernelContext& context) noexcept;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_PLAIN_NORM_H_
