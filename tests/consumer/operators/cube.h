#ifndef CONSUMER_OPERATORS_CUBE_H_
#define CONSUMER_OPERATORS_CUBE_H_

#include "vellum/tensor/tensor.h"

namespace consumer {

// x * x * x, elementwise, in the dtype of x. Differentiable. On any device; `toy` has a kernel for it.
vellum::Tensor cube(const vellum::Tensor& x);

}  // namespace consumer

#endif  // CONSUMER_OPERATORS_CUBE_H_
