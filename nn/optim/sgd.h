#ifndef VELLUM_NN_OPTIM_SGD_H_
#define VELLUM_NN_OPTIM_SGD_H_

#include <vector>

#include "vellum/nn/optim/optimizer.h"

namespace vellum::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// Stochastic gradient descent as in PyTorch: with g = grad + weight_decay p,
//
//   b = g at a parameter's first step, else momentum b + (1 - dampening) g
//   p = p - lr g                    without momentum
//   p = p - lr b                    with momentum
//   p = p - lr (g + momentum b)     with Nesterov momentum (Sutskever et al. 2013)
//
// Keeps b, one tensor for each parameter, if there is momentum. A step makes no other tensor of a parameter's size.
class SGD : public Optimizer {
 public:
  // Throws InvalidArgumentError for options that are negative or not finite, and for nesterov without momentum or with
  // dampening.
  explicit SGD(std::vector<Tensor> parameters, const SGDOptions& options = {});

  int64_t state_bytes() const override { return bytes_of(momentum_buffers_); }

 private:
  void apply(std::span<Pending> pending) override;
  void update_buffer(Tensor& buffer, const Pending& pending, const Tensor& momentum) const;
  void update_parameter(Pending& pending) const;

  SGDOptions options_;
  std::vector<Tensor> momentum_buffers_;
};

}  // namespace vellum::optim

#endif  // VELLUM_NN_OPTIM_SGD_H_
