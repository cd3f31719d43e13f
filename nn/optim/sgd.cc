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

void SGD::apply(std::span<Pending> pending) {
  if (options_.momentum != 0) {
    std::vector<Tensor> fresh, momenta;
    for (const Pending& p : pending) {
      const bool is_first = !momentum_buffers_[p.index].defined();
      fresh.push_back(is_first ? kept_state(p.grad.clone(), p.parameter, "momentum_buffer") : Tensor());
      momenta.push_back(is_first ? Tensor() : number_like(options_.momentum, p.grad));
    }
    for (size_t k = 0; k < pending.size(); ++k) {
      Tensor& buffer = momentum_buffers_[pending[k].index];
      if (fresh[k].defined()) buffer = std::move(fresh[k]);
      update_buffer(buffer, pending[k], momenta[k]);
    }
  }
  for (Pending& p : pending) update_parameter(p);
}

// Here and below, g stands in its two parts, grad and weight_decay p, so that no tensor is needed for their sum.
void SGD::update_buffer(Tensor& buffer, const Pending& pending, const Tensor& momentum) const {
  const double share = momentum.defined() ? 1 - options_.dampening : 1;
  if (momentum.defined()) buffer.mul_(momentum).add_(pending.grad, share);
  if (options_.weight_decay != 0) buffer.add_(pending.parameter, share * options_.weight_decay);
}

void SGD::update_parameter(Pending& pending) const {
  Tensor& parameter = pending.parameter;
  const double lr = learning_rate();
  if (options_.momentum != 0 && !options_.nesterov) {
    parameter.add_(momentum_buffers_[pending.index], -lr);
    return;
  }
  if (options_.weight_decay != 0) parameter.add_(parameter, -lr * options_.weight_decay);
  parameter.add_(pending.grad, -lr);
  if (options_.nesterov) parameter.add_(momentum_buffers_[pending.index], -lr * options_.momentum);
}

}  // namespace vellum::optim
