#ifndef VELLUM_BACKENDS_CPU_KERNELS_STATISTIC_H_
#define VELLUM_BACKENDS_CPU_KERNELS_STATISTIC_H_

#include <cstddef>
#include <cstdint>

#include "vellum/tensor/dtype.h"
#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// Element i of a row-major operand that has a floating dtype of its own, such as a mean.
inline double statistic(const TensorArg& t, int64_t i) {
  switch (t.dtype) {
    case kFloat64:
      return t.as<const double>()[i];
    case kFloat32:
      return t.as<const float>()[i];
    case kFloat16:
      return static_cast<float>(t.as<const float16>()[i]);
    default:
      return static_cast<float>(t.as<const bfloat16>()[i]);
  }
}

// Where output `i`, a by-product, goes: null where nobody reads it. A call that writes into a tensor lists none.
template <typename T>
T* by_product(const KernelContext& context, size_t i) {
  return i < context.outputs.size() && context.outputs[i].defined ? context.outputs[i].as<T>() : nullptr;
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_STATISTIC_H_
