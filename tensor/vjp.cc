#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {

Tensor Vjp::cotangent_or_zeros(int i) const {
  const Tensor& g = cotangent(i);
  return g.defined() ? g : zeros(output_shape(i), TensorOptions(output_dtype(i), device()));
}

}  // namespace vellum
