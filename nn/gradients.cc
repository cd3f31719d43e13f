#include "vellum/nn/gradients.h"

#include "vellum/autograd/grad_mode.h"

namespace vellum::nn {

void clear_gradients(std::span<const Tensor> parameters, bool set_to_none) {
  const NoGradGuard no_grad;
  for (Tensor parameter : parameters) {
    Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      parameter.set_grad({});
    } else {
      grad.detach_();
      grad.zero_();
    }
  }
}

}  // namespace vellum::nn
