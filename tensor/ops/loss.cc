#include <cmath>
#include <limits>

#include "vellum/device/error.h"
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

// --- nll_loss

// Log-probabilities of `shape` and their target.
void check_classes(const OpCall& call, const Dims& shape, const Tensor& target) {
  if (shape.size() != 2) throw_error<ShapeError>(call.op.name, ": log-probabilities must be [N, C], they are ", shape);
  if (target.dtype() != kInt64)
    throw_error<DTypeError>(call.op.name, ": the target must be int64 class indices, it is ", target.dtype());
  if (target.shape() != Dims{shape[0]})
    throw_error<ShapeError>(call.op.name, ": target ", target.shape(), " does not fit ", shape[0],
                            " rows; it must be [", shape[0], "]");
}

Dims loss_shape(Reduction reduction, const Dims& shape) {
  return reduction == Reduction::kNone ? Dims{shape[0]} : Dims{};
}

double counted(const RefTensor& target, int64_t ignore) {
  double count = 0;
  for (const auto& t : target.values) count += t.real() != static_cast<double>(ignore);
  return count;
}

std::vector<RefTensor> nll_loss_reference(const RefCall& call) {
  const auto& a = call.attributes<NllLossAttrs>();
  const RefTensor &x = call.inputs[0], &target = call.inputs[1];
  const int64_t n = x.shape[0], c = x.shape[1];
  RefTensor each = reference::zeros({n}, x.dtype), total = reference::zeros({}, x.dtype);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t t = static_cast<int64_t>(target.values[i].real());
    if (t != a.ignore_index) each.values[i] = -x.values[i * c + t];
    total.values[0] += each.values[i];
  }
  if (a.reduction == Reduction::kNone) return {each};
  if (a.reduction == Reduction::kMean) total.values[0] /= counted(target, a.ignore_index);
  return {total};
}

constexpr OpDef kNllLoss{
    .name = "nll_loss",
    .kind = OpKind::kGeneral,
    .inputs = 2,
    .cast_inputs = 0b01,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          const Dims shape = call.input(0).shape();
          check_classes(call, shape, call.input(1));
          call.add_output(loss_shape(call.attributes<NllLossAttrs>().reduction, shape));
        },
    .attrs = attrs_type<NllLossAttrs>,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          v.grad(0) = nll_loss_backward(v.cotangent(), v.input(1), {v.attributes<NllLossAttrs>(), v.input_shape(0)});
        },
    .reference = {.tensors = nll_loss_reference}};
OpSlot nll_loss_slot{kNllLoss, "loss"};

std::vector<RefTensor> nll_loss_backward_reference(const RefCall& call) {
  const auto& a = call.attributes<NllLossBackwardAttrs>();
  const RefTensor &g = call.inputs[0], &target = call.inputs[1];
  RefTensor out = reference::zeros(a.shape, g.dtype);
  const double share = a.loss.reduction == Reduction::kMean ? 1 / counted(target, a.loss.ignore_index) : 1.0;
  for (int64_t i = 0; i < a.shape[0]; ++i) {
    const int64_t t = static_cast<int64_t>(target.values[i].real());
    if (t == a.loss.ignore_index) continue;
    out.values[i * a.shape[1] + t] = -share * g.values[a.loss.reduction == Reduction::kNone ? i : 0];
  }
  return {out};
}

constexpr OpDef kNllLossBackward{.name = "nll_loss_backward",
                                 .kind = OpKind::kGeneral,
                                 .inputs = 2,
                                 .cast_inputs = 0b01,
                                 .dtypes = dtype_rules::same,
                                 .domain = kFloatingDTypes,
                                 .infer =
                                     [](Inference& call) {
                                       const auto& a = call.attributes<NllLossBackwardAttrs>();
                                       check_classes(call, a.shape, call.input(1));
                                       shape_rules::check_cotangent(call, loss_shape(a.loss.reduction, a.shape));
                                       call.add_output(a.shape);
                                     },
                                 .attrs = attrs_type<NllLossBackwardAttrs>,
                                 .saves = {saves_input(1)},
                                 .vjp =
                                     [](Vjp& v) {
                                       if (v.needs(0))
                                         v.grad(0) = nll_loss(v.cotangent(), v.input(1),
                                                              v.attributes<NllLossBackwardAttrs>().loss);
                                     },
                                 .reference = {.tensors = nll_loss_backward_reference}};
OpSlot nll_loss_backward_slot{kNllLossBackward, "loss"};

}  // namespace

Tensor log_softmax(const Tensor& x, int64_t dim) {
  const DimAttrs attrs{wrap_dim("log_softmax", dim, x.dim()), false};
  return call(log_softmax_slot, {&x}, &attrs);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  const DimAttrs attrs{wrap_dim("log_softmax_backward", dim, output.dim()), false};
  return call(log_softmax_backward_slot, {&grad, &output}, &attrs);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossAttrs& options) {
  return call(nll_loss_slot, {&log_probabilities, &target}, &options);
}

Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const NllLossBackwardAttrs& attrs) {
  return call(nll_loss_backward_slot, {&grad, &target}, &attrs);
}

Tensor Tensor::log_softmax(int64_t dim) const { return vellum::log_softmax(*this, dim); }

}  // namespace vellum
