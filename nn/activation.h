#ifndef VELLUM_NN_ACTIVATION_H_
#define VELLUM_NN_ACTIVATION_H_

#include "vellum/nn/module.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::nn {

// max(x, 0), elementwise. For a backward pass it keeps its output alive.
class ReLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return relu(input); }
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_ACTIVATION_H_
