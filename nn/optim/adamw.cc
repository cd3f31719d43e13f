#include "vellum/nn/optim/adamw.h"

#include <cmath>
#include <limits>

#include "vellum/tensor/ops/ops.h"

namespace vellum::optim {

AdamW::AdamW(std::vector<Tensor> parameters, const AdamWOptions& options)
    : Optimizer("AdamW", std::move(parameters), options.lr), options_(options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_option("beta1", options.beta1, 0, 1);
  check_option("beta2", options.beta2, 0, 1);
  check_option("eps", options.eps, 0, kInfinity);
  check_option("weight_decay", options.weight_decay, 0, kInfinity);
  states_.resize(this->parameters().size());
}

int64_t AdamW::state_bytes() const {
  int64_t bytes = 0;
  for (const State& state : states_) bytes += bytes_of({{state.mean, state.square}});
  return bytes;
}

void AdamW::update(size_t i, Tensor& parameter, const Tensor& grad) {
  State& state = states_[i];
  Tensor p = parameter.is_complex() ? parameter.view_as_real() : parameter;
  const Tensor g = grad.is_complex() ? grad.view_as_real() : grad;
  if (!state.square.defined()) {
    state.mean = zeros_like(p);
    state.square = zeros_like(p);
  }
  ++state.steps;

  if (options_.weight_decay != 0) p.mul_(1 - learning_rate() * options_.weight_decay);
  state.mean.mul_(options_.beta1).add_(g, 1 - options_.beta1);
  state.square.mul_(options_.beta2).add_(g * g, 1 - options_.beta2);

  // With s = sqrt(1 - beta2^t), the update m / (sqrt(v) / s + eps) is s m / (sqrt(v) + s eps): a pass less.
  const double steps = static_cast<double>(state.steps);
  const double s = std::sqrt(1 - std::pow(options_.beta2, steps));
  const double rate = learning_rate() / (1 - std::pow(options_.beta1, steps));
  Tensor scratch = sqrt(state.square);
  scratch.add_(s * options_.eps);
  div_out(scratch, state.mean, scratch);
  p.add_(scratch, -rate * s);
}

}  // namespace vellum::optim
