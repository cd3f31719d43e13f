#include <cmath>
#include <limits>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using reference::Split3;

// --- log_softmax

std::vector<RefTensor> log_softmax_reference(const RefCall& call) {
  RefTensor out = call.inputs[0];
  const Split3 s(out.shape, call.attributes<DimAttrs>().dim);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](int64_t k) -> auto& { return out.values[(o * s.n + k) * s.inner + i]; };
      double top = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t k = 0; k < s.n; ++k) top = std::max(top, at(k).real());
      for (int64_t k = 0; k < s.n; ++k) total += std::exp(at(k).real() - top);
      for (int64_t k = 0; k < s.n; ++k) at(k) -= top + std::log(total);
    }
  return {out};
}

constexpr OpDef kLogSoftmax{
    .name = "log_softmax",
    .kind = OpKind::kGeneral,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer = shape_rules::same,
    .attrs = attrs_type<DimAttrs>,
    .saves = {saves_output()},
    .vjp = [](Vjp& v) { v.grad() = log_softmax_backward(v.cotangent(), v.output(), v.attributes<DimAttrs>().dim); },
    .reference = {.tensors = log_softmax_reference}};
OpSlot log_softmax_slot{kLogSoftmax, "loss"};

// z = g - softmax * sum(g), where softmax = exp(output).
std::vector<RefTensor> log_softmax_backward_reference(const RefCall& call) {
  RefTensor out = call.inputs[0];
  const RefTensor& log_p = call.inputs[1];
  const Split3 s(out.shape, call.attributes<DimAttrs>().dim);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](int64_t k) { return (o * s.n + k) * s.inner + i; };
      double total = 0;
      for (int64_t k = 0; k < s.n; ++k) total += call.inputs[0].values[at(k)].real();
      for (int64_t k = 0; k < s.n; ++k) out.values[at(k)] -= std::exp(log_p.values[at(k)].real()) * total;
    }
  return {out};
}

void log_softmax_backward_vjp(Vjp& v) {
  const int dim = v.attributes<DimAttrs>().dim;
  const Tensor& h = v.cotangent();
  const Tensor p = exp(v.input(1));
  const Tensor weighted = h.dim() ? sum(mul(h, p), {dim}, true) : mul(h, p);
  if (v.needs(0)) v.grad(0) = sub(h, weighted);
  if (v.needs(1)) {
    const Tensor total = h.dim() ? sum(v.input(0), {dim}, true) : v.input(0);
    v.grad(1) = neg(mul(mul(h, p), total));
  }
}

constexpr OpDef kLogSoftmaxBackward{.name = "log_softmax_backward",
                                    .kind = OpKind::kGeneral,
                                    .inputs = 2,
                                    .dtypes = dtype_rules::promote,
                                    .domain = kFloatingDTypes,
                                    .infer = shape_rules::equal,
                                    .attrs = attrs_type<DimAttrs>,
                                    .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                                    .vjp = log_softmax_backward_vjp,
                                    .reference = {.tensors = log_softmax_backward_reference}};
OpSlot log_softmax_backward_slot{kLogSoftmaxBackward, "loss"};

}  // namespace

Tensor log_softmax(const Tensor& x, int64_t dim) {
  const DimAttrs attrs{wrap_dim("log_softmax", dim, x.dim()), false};
  return call(log_softmax_slot, {&x}, &attrs);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  const DimAttrs attrs{wrap_dim("log_softmax_backward", dim, output.dim()), false};
  return call(log_softmax_backward_slot, {&grad, &output}, &attrs);
}

Tensor Tensor::log_softmax(int64_t dim) const { return vellum::log_softmax(*this, dim); }

}  // namespace vellum
