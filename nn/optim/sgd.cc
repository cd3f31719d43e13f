#include "vellum/nn/optim/sgd.h"

#include <limits>

#include "vellum/device/error.h"

namespace vellum::optim {

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : Optimizer("SGD", std::move(parameters), options.lr), options_(options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_option("momentum", options.momentum, 0, kInfinity);
  check_option("dampening", options.dampening, 0, kInfinity);
  check_option("weight_decay", options.weight_decay, 0, kInfinity);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw_error<InvalidArgumentError>("SGD: Nesterov momentum requires a momentum and zero dampening, they are ",
                                      options.momentum, " and ", options.dampening);
  if (options.momentum != 0) momentum_buffers_.resize(this->parameters().size());
}

// g stands in two parts, grad and weight_decay p, wherever it is read, so that no sum of them is kept.
void SGD::update(size_t i, Tensor& parameter, const Tensor& grad) {
  const double lr = learning_rate();
  if (options_.momentum != 0) {
    update_momentum(momentum_buffers_[i], parameter, grad);
    if (!options_.nesterov) {
      parameter.add_(momentum_buffers_[i], -lr);
      return;
    }
  }
  if (options_.weight_decay != 0) parameter.add_(parameter, -lr * options_.weight_decay);
  parameter.add_(grad, -lr);
  if (options_.nesterov) parameter.add_(momentum_buffers_[i], -lr * options_.momentum);
}

void SGD::update_momentum(Tensor& buffer, const Tensor& parameter, const Tensor& grad) const {
  double share = 1;
  if (buffer.defined()) {
    share = 1 - options_.dampening;
    buffer.mul_(options_.momentum).add_(grad, share);
  } else {
    buffer = grad.clone();
  }
  if (options_.weight_decay != 0) buffer.add_(parameter, share * options_.weight_decay);
}

}  // namespace vellum::optim
