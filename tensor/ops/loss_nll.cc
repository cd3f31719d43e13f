#include "vellum/device/error.h"
#include "vellum/tensor/internal/class_targets.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace internal {

int class_dim(std::string_view op, const Dims& scores) {
  if (scores.empty())
    throw_error<ShapeError>(op, ": scores must be [C], [N, C] or [N, C, d1, ...], they are ", scores,
                            "; unsqueeze() them");
  return scores.size() == 1 ? 0 : 1;
}

Dims target_shape(std::string_view op, const Dims& scores) {
  Dims shape = scores;
  shape.erase(class_dim(op, scores));
  return shape;
}

void check_class_weight(std::string_view op, const Dims& scores, const Tensor& weight) {
  if (!weight.defined()) return;
  const int64_t classes = scores[class_dim(op, scores)];
  if (weight.shape() != Dims{classes})
    throw_error<ShapeError>(op, ": weight ", weight.shape(), " does not fit scores ", scores, "; it must be [", classes,
                            "]");
  if (is_complex(weight.dtype()))
    throw_error<DTypeError>(op, ": weight must be real, it is ", weight.dtype(), "; take its real() part");
}

void check_class_targets(std::string_view op, const Dims& scores, const Tensor& target, const Tensor& weight) {
  const Dims expected = target_shape(op, scores);
  if (target.dtype() != kInt64)
    throw_error<DTypeError>(op, ": the target must be int64 class indices, it is ", target.dtype(),
                            "; convert it with to(kInt64)");
  if (target.shape() != expected)
    throw_error<ShapeError>(op, ": target ", target.shape(), " does not fit scores ", scores, "; it must be ",
                            expected);
  check_class_weight(op, scores, weight);
}

}  // namespace internal

namespace {

using internal::check_class_targets;
using internal::class_dim;
using internal::target_shape;

Dims loss_shape(std::string_view op, Reduction reduction, const Dims& scores) {
  return reduction == Reduction::kNone ? target_shape(op, scores) : Dims{};
}

// Calls f(position in the target, position in the scores, weight) for each target that counts. Input 1 is the target,
// input 2 the weight.
template <typename F>
void for_each_target(const RefCall& call, const Dims& scores, int64_t ignore_index, F f) {
  const RefTensor &target = call.inputs[1], &weight = call.inputs[2];
  const reference::Split3 s(scores, class_dim("nll_loss", scores));
  for (size_t i = 0; i < target.values.size(); ++i) {
    const int64_t t = static_cast<int64_t>(target.values[i].real());
    if (t == ignore_index) continue;
    const int64_t outer = static_cast<int64_t>(i) / s.inner, inner = static_cast<int64_t>(i) % s.inner;
    f(i, (outer * s.n + t) * s.inner + inner, weight.values.empty() ? 1.0 : weight.values[t].real());
  }
}

double total_weight(const RefCall& call, const Dims& scores, int64_t ignore_index) {
  double total = 0;
  for_each_target(call, scores, ignore_index, [&](size_t, int64_t, double weight) { total += weight; });
  return total;
}

std::vector<RefTensor> nll_loss_reference(const RefCall& call) {
  const auto& a = call.attributes<NllLossAttrs>();
  const RefTensor& x = call.inputs[0];
  RefTensor each = reference::zeros(call.inputs[1].shape, x.dtype), total = reference::zeros({}, x.dtype);
  for_each_target(call, x.shape, a.ignore_index,
                  [&](size_t i, int64_t at, double weight) { each.values[i] = -weight * x.values[at]; });
  if (a.reduction == Reduction::kNone) return {each};
  for (const auto& loss : each.values) total.values[0] += loss;
  if (a.reduction == Reduction::kMean) total.values[0] /= total_weight(call, x.shape, a.ignore_index);
  return {total};
}

// grad times the derivative of nll_loss(x, target, weight) by the weight; only the mean's reads the weight itself.
Tensor weight_gradient(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                       const NllLossAttrs& a) {
  const int dim = class_dim("nll_loss", x.shape());
  const Tensor counts = target != Scalar(a.ignore_index);
  const Tensor classes = where(counts, target, wrap_number(0, target));
  Tensor slope = neg(gather(x, dim, classes.unsqueeze(dim)).squeeze(dim));
  if (a.reduction == Reduction::kMean) {
    const Tensor loss = nll_loss(x, target, {Reduction::kMean, a.ignore_index, weight});
    const Tensor flat = classes.flatten();
    const Tensor each = where(counts.flatten(), gather(weight.to(x.dtype()), 0, flat), wrap_number(0, x));
    slope = div(sub(slope, loss), sum(each));
  }
  slope = where(counts, mul(slope, grad), wrap_number(0, slope));
  return gather_backward(slope.flatten(), classes.flatten(), 0, {x.size(dim)});
}

// The weight, where the reduction's gradient reads it.
Tensor weight_of_mean(Vjp& v, const NllLossAttrs& a) { return a.reduction == Reduction::kMean ? v.input(2) : Tensor(); }

const NllLossAttrs& loss_attributes(const NllLossAttrs& a) { return a; }
const NllLossAttrs& loss_attributes(const NllLossBackwardAttrs& a) { return a.loss; }

template <typename Attrs>
Saves without_unread_weight(const void* attrs, int input, uint32_t, Saves declared) {
  const bool unread = input == 2 && loss_attributes(*static_cast<const Attrs*>(attrs)).reduction != Reduction::kMean;
  return unread ? Saves{declared.bits & ~saves_input(2).bits} : declared;
}

constexpr Saves kTargetAndWeight = saves_input(1) | saves_input(2);

constexpr OpDef kNllLoss{
    .name = "nll_loss",
    .kind = OpKind::kGeneral,
    .inputs = 3,
    .optional_inputs = 0b100,
    .cast_inputs = 0b101,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          const Dims shape = call.input(0).shape();
          check_class_targets(call.op.name, shape, call.input(1), call.input(2));
          call.add_output(loss_shape(call.op.name, call.attributes<NllLossAttrs>().reduction, shape));
        },
    .attrs = attrs_type<NllLossAttrs>,
    .saves = {kTargetAndWeight, saves_nothing(), saves_input(0) | kTargetAndWeight},
    .refine_saves = without_unread_weight<NllLossAttrs>,
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<NllLossAttrs>();
          if (v.needs(0)) v.grad(0) = nll_loss_backward(v.cotangent(), v.input(1), {a, v.input_shape(0)}, v.input(2));
          if (v.needs(2)) v.grad(2) = weight_gradient(v.cotangent(), v.input(0), v.input(1), weight_of_mean(v, a), a);
        },
    .reference = {.tensors = nll_loss_reference}};
OpSlot nll_loss_slot{kNllLoss, "loss"};

std::vector<RefTensor> nll_loss_backward_reference(const RefCall& call) {
  const auto& a = call.attributes<NllLossBackwardAttrs>();
  const RefTensor& g = call.inputs[0];
  RefTensor out = reference::zeros(a.shape, g.dtype);
  const double share =
      a.loss.reduction == Reduction::kMean ? 1 / total_weight(call, a.shape, a.loss.ignore_index) : 1.0;
  for_each_target(call, a.shape, a.loss.ignore_index, [&](size_t i, int64_t at, double weight) {
    out.values[at] = -weight * share * g.values[a.loss.reduction == Reduction::kNone ? i : 0];
  });
  return {out};
}

void nll_loss_backward_vjp(Vjp& v) {
  const NllLossAttrs& a = v.attributes<NllLossBackwardAttrs>().loss;
  const Tensor& h = v.cotangent();
  if (v.needs(0)) v.grad(0) = nll_loss(h, v.input(1), {a.reduction, a.ignore_index, v.input(2)});
  // The loss is linear in the scores and in its gradient, so that both take the same part.
  if (v.needs(2)) v.grad(2) = weight_gradient(v.input(0), h, v.input(1), weight_of_mean(v, a), a);
}

constexpr OpDef kNllLossBackward{.name = "nll_loss_backward",
                                 .kind = OpKind::kGeneral,
                                 .inputs = 3,
                                 .optional_inputs = 0b100,
                                 .cast_inputs = 0b101,
                                 .dtypes = dtype_rules::same,
                                 .domain = kFloatingDTypes,
                                 .infer =
                                     [](Inference& call) {
                                       const auto& a = call.attributes<NllLossBackwardAttrs>();
                                       check_class_targets(call.op.name, a.shape, call.input(1), call.input(2));
                                       shape_rules::check_cotangent(
                                           call, loss_shape(call.op.name, a.loss.reduction, a.shape));
                                       call.add_output(a.shape);
                                     },
                                 .attrs = attrs_type<NllLossBackwardAttrs>,
                                 .saves = {kTargetAndWeight, saves_nothing(), saves_input(0) | kTargetAndWeight},
                                 .refine_saves = without_unread_weight<NllLossBackwardAttrs>,
                                 .vjp = nll_loss_backward_vjp,
                                 .reference = {.tensors = nll_loss_backward_reference}};
OpSlot nll_loss_backward_slot{kNllLossBackward, "loss"};

}  // namespace

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossOptions& options) {
  const NllLossAttrs attrs{options.reduction, options.ignore_index};
  return call(nll_loss_slot, {&log_probabilities, &target, &options.weight}, &attrs);
}

Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const NllLossBackwardAttrs& attrs,
                         const Tensor& weight) {
  return call(nll_loss_backward_slot, {&grad, &target, &weight}, &attrs);
}

}  // namespace vellum
