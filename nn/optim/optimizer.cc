#include "vellum/nn/optim/optimizer.h"

#include <limits>
#include <unordered_set>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/nn/gradients.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::optim {

Optimizer::Optimizer(const char* name, std::vector<Tensor> parameters, double learning_rate)
    : name_(name), parameters_(std::move(parameters)) {
  if (parameters_.empty()) throw_error<InvalidArgumentError>(name_, ": got an empty parameter list");
  std::unordered_set<const internal::TensorImpl*> seen;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    if (!p.defined()) throw_error<InvalidArgumentError>(name_, ": parameter ", i, " is undefined");
    if (!p.is_leaf())
      throw_error<InvalidArgumentError>(name_, ": can't optimize a non-leaf Tensor: parameter ", i, ", ", p.dtype(),
                                        p.shape(), ", comes from ", p.grad_fn().name(),
                                        "; pass what it was computed from, or detach() it");
    if (!seen.insert(p.impl_or_null()).second)
      throw_error<InvalidArgumentError>(name_, ": parameter ", i, ", ", p.dtype(), p.shape(), ", is listed twice");
  }
  set_learning_rate(learning_rate);
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_option("lr", learning_rate, 0, std::numeric_limits<double>::infinity());
  learning_rate_ = learning_rate;
}

void Optimizer::check_option(const char* option, double value, double low, double high) const {
  if (value >= low && value < high) return;
  throw_error<InvalidArgumentError>(name_, ": ", option, " must lie in [", low, ", ", high, "), it is ", value);
}

void Optimizer::step() {
  const NoGradGuard no_grad;
  std::vector<Pending> pending;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (Tensor grad = parameters_[i].grad(); grad.defined()) pending.push_back({i, parameters_[i], std::move(grad)});
  apply(pending);
}

void Optimizer::zero_grad(bool set_to_none) { nn::clear_gradients(parameters_, set_to_none); }

Tensor kept_state(Tensor state, const Tensor& parameter, std::string_view what) {
  if (!parameter.name().empty()) state.set_name(str_cat(parameter.name(), ".", what));
  set_memory_role(state, MemoryRole::kOptimizerState);
  return state;
}

Tensor number_like(double value, const Tensor& tensor) {
  return scalar_tensor(value, TensorOptions(tensor.dtype(), tensor.device()));
}

int64_t bytes_of(std::span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors)
    if (t.defined()) bytes += t.nbytes();
  return bytes;
}

}  // namespace vellum::optim
