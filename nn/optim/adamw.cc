#include "vellum/nn/optim/adamw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vellum/tensor/ops/ops.h"

namespace vellum::optim {
namespace {

Tensor real_view(const Tensor& t) { return t.is_complex() ? t.view_as_real() : t; }

// For each dtype and device, memory for the largest of the tensors that were announced, which they use in turn.
class SharedScratch {
 public:
  void announce(const Tensor& t) {
    Buffer& buffer = buffer_for(t);
    buffer.numel = std::max(buffer.numel, t.numel());
  }
  void allocate() {
    for (Buffer& buffer : buffers_) buffer.memory = empty({buffer.numel}, buffer.options);
  }
  Tensor like(const Tensor& t) { return buffer_for(t).memory.slice(0, 0, t.numel()).view(t.shape()); }

 private:
  struct Buffer {
    TensorOptions options;
    int64_t numel = 0;
    Tensor memory;
  };

  Buffer& buffer_for(const Tensor& t) {
    for (Buffer& buffer : buffers_)
      if (buffer.options.dtype == t.dtype() && buffer.options.device == t.device()) return buffer;
    return buffers_.emplace_back(Buffer{TensorOptions(t.dtype(), t.device())});
  }

  std::vector<Buffer> buffers_;
};

}  // namespace

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

void AdamW::apply(std::span<Pending> pending) {
  std::vector<State> fresh(pending.size());
  std::vector<Operands> operands;
  SharedScratch scratch;
  for (size_t k = 0; k < pending.size(); ++k) {
    const Tensor p = real_view(pending[k].parameter);
    scratch.announce(p);
    if (!states_[pending[k].index].square.defined())
      fresh[k] = {kept_state(zeros_like(p), pending[k].parameter, "exp_avg"),
                  kept_state(zeros_like(p), pending[k].parameter, "exp_avg_sq")};
    operands.push_back({p,
                        real_view(pending[k].grad),
                        {},
                        number_like(options_.beta1, p),
                        number_like(options_.beta2, p),
                        number_like(1, p)});
  }
  scratch.allocate();
  for (Operands& x : operands) x.scratch = scratch.like(x.parameter);

  for (size_t k = 0; k < pending.size(); ++k) {
    State& state = states_[pending[k].index];
    if (fresh[k].square.defined()) state = std::move(fresh[k]);
    update(state, operands[k]);
  }
}

void AdamW::update(State& state, Operands& x) const {
  const double steps = static_cast<double>(++state.steps), lr = learning_rate();
  if (options_.weight_decay != 0) x.parameter.add_(x.parameter, -lr * options_.weight_decay);
  state.mean.mul_(x.beta1).add_(x.grad, 1 - options_.beta1);
  mul_out(x.scratch, x.grad, x.grad);
  state.square.mul_(x.beta2).add_(x.scratch, 1 - options_.beta2);

  // With s = sqrt(1 - beta2^t), the update m / (sqrt(v) / s + eps) is s m / (sqrt(v) + s eps): a pass less.
  const double s = std::sqrt(1 - std::pow(options_.beta2, steps));
  const double rate = lr / (1 - std::pow(options_.beta1, steps));
  sqrt_out(x.scratch, state.square);
  x.scratch.add_(x.one, s * options_.eps);
  div_out(x.scratch, state.mean, x.scratch);
  x.parameter.add_(x.scratch, -rate * s);
}

}  // namespace vellum::optim
