#include "vellum/nn/dropout.h"

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::nn {

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) throw_error<InvalidArgumentError>("Dropout: p must lie in [0, 1], it is ", p);
}

Tensor Dropout::forward(const Tensor& input) { return dropout(input, p_, is_training()); }

}  // namespace vellum::nn
