#include <algorithm>
#include <cmath>
#include <limits>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/class_targets.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

// --- The fused operator: class indices, scores [N, C], no weights.

Tensor in_float(const Tensor& x) { return x.element_size() == 2 ? x.to(kFloat32) : x; }

void check_rows(const OpCall& call, const Tensor& scores, const Tensor& target) {
  if (scores.dim() != 2)
    throw_error<ShapeError>(call.op.name, ": scores must be [N, C], they are ", scores.shape(),
                            "; use cross_entropy()");
  internal::check_class_targets(call.op.name, scores.shape(), target, {});
  const double smoothing = call.attributes<CrossEntropyAttrs>().label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    throw_error<InvalidArgumentError>(call.op.name, ": label_smoothing must lie in [0, 1], it is ", smoothing);
}

Dims loss_shape(const CrossEntropyAttrs& a, const Dims& scores) {
  return a.reduction == Reduction::kNone ? Dims{scores[0]} : Dims{};
}

double log_sum_exp(const RefTensor& x, int64_t row) {
  const int64_t n = x.shape[1];
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t c = 0; c < n; ++c) top = std::max(top, x.values[row * n + c].real());
  for (int64_t c = 0; c < n; ++c) total += std::exp(x.values[row * n + c].real() - top);
  return top + std::log(total);
}

// What the target says of class c.
double target_share(const CrossEntropyAttrs& a, int64_t target, int64_t c, int64_t classes) {
  return (c == target ? 1 - a.label_smoothing : 0) + a.label_smoothing / static_cast<double>(classes);
}

double counted(const RefTensor& target, const CrossEntropyAttrs& a) {
  double count = 0;
  for (const auto& t : target.values) count += t.real() != static_cast<double>(a.ignore_index);
  return count;
}

std::vector<RefTensor> cross_entropy_reference(const RefCall& call) {
  const auto& a = call.attributes<CrossEntropyAttrs>();
  const RefTensor &x = call.inputs[0], &target = call.inputs[1];
  const int64_t rows = x.shape[0], classes = x.shape[1];
  RefTensor each = reference::zeros({rows}, x.dtype), total = reference::zeros({}, x.dtype);
  RefTensor sums = reference::zeros({rows}, kFloat64);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t t = static_cast<int64_t>(target.values[i].real());
    const double lse = log_sum_exp(x, i);
    sums.values[i] = lse;
    if (t == a.ignore_index) continue;
    for (int64_t c = 0; c < classes; ++c)
      each.values[i] += target_share(a, t, c, classes) * (lse - x.values[i * classes + c]);
    total.values[0] += each.values[i];
  }
  if (a.reduction == Reduction::kNone) return {each, sums};
  if (a.reduction == Reduction::kMean) total.values[0] /= counted(target, a);
  return {total, sums};
}

// Of each row of [N, C], with a history.
Tensor logsumexp_of_rows(const Tensor& scores) {
  const Tensor x = in_float(scores);
  const Tensor top = amax(x.detach(), {1}, true);
  return add(log(sum(exp(sub(x, top)), {1}, true)), top).squeeze(1);
}

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& lse,
                              const CrossEntropyAttrs& attrs);

void cross_entropy_vjp(Vjp& v) {
  const Tensor& x = v.input(0);
  Tensor lse = v.by_product(0);
  if (x.requires_grad()) lse = logsumexp_of_rows(x);  // this pass is recorded, but a by-product has no history
  v.grad(0) = cross_entropy_backward(v.cotangent(), x, v.input(1), lse, v.attributes<CrossEntropyAttrs>());
}

// Keeps the log-sum-exp of each row in double precision, so that softmax = exp(x - lse) is exact beside large scores.
constexpr OpDef kCrossEntropy{.name = "cross_entropy",
                              .kind = OpKind::kGeneral,
                              .inputs = 2,
                              .by_products = 1,
                              .cast_inputs = 0b01,
                              .dtypes = dtype_rules::same,
                              .domain = kFloatingDTypes,
                              .infer =
                                  [](Inference& call) {
                                    check_rows(call, call.input(0), call.input(1));
                                    const Dims shape = call.input(0).shape();
                                    call.add_output(loss_shape(call.attributes<CrossEntropyAttrs>(), shape));
                                    call.add_by_product({shape[0]}, kFloat64);
                                  },
                              .attrs = attrs_type<CrossEntropyAttrs>,
                              .saves = {saves_input(0) | saves_input(1) | saves_by_product(0)},
                              .vjp = cross_entropy_vjp,
                              .reference = {.tensors = cross_entropy_reference}};
OpSlot cross_entropy_slot{kCrossEntropy, "loss"};

// --- Its gradient: grad shared out to the rows, times exp(x - lse) - target.

std::vector<RefTensor> cross_entropy_backward_reference(const RefCall& call) {
  const auto& a = call.attributes<CrossEntropyAttrs>();
  const RefTensor &g = call.inputs[0], &x = call.inputs[1], &target = call.inputs[2], &lse = call.inputs[3];
  const int64_t rows = x.shape[0], classes = x.shape[1];
  RefTensor out = reference::zeros(x.shape, x.dtype);
  const double share = a.reduction == Reduction::kMean ? 1 / counted(target, a) : 1;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t t = static_cast<int64_t>(target.values[i].real());
    if (t == a.ignore_index) continue;
    const double slope = share * g.values[a.reduction == Reduction::kNone ? i : 0].real();
    for (int64_t c = 0; c < classes; ++c)
      out.values[i * classes + c] =
          slope * (std::exp(x.values[i * classes + c].real() - lse.values[i].real()) - target_share(a, t, c, classes));
  }
  return {out};
}

void infer_cross_entropy_backward(Inference& call) {
  const Tensor &x = call.input(1), &lse = call.input(3);
  check_rows(call, x, call.input(2));
  shape_rules::check_cotangent(call, loss_shape(call.attributes<CrossEntropyAttrs>(), x.shape()));
  if (lse.shape() != Dims{x.size(0)} || !is_floating(lse.dtype()))
    throw_error<ShapeError>(call.op.name, ": the log-sum-exp must be floating [", x.size(0), "], it is ", lse.dtype(),
                            lse.shape(), "; take the one that the forward pass made");
  call.add_output(x.shape());
}

// The part of each row in the reduced loss, times its gradient: [N, 1].
Tensor row_slopes(const Tensor& grad, const Tensor& target, const CrossEntropyAttrs& a) {
  Tensor counts = (target != Scalar(a.ignore_index)).to(grad.dtype());
  if (a.reduction == Reduction::kMean) counts = div(counts, sum(counts));
  return mul(counts, grad).unsqueeze(1);
}

void cross_entropy_backward_vjp(Vjp& v) {
  const auto& a = v.attributes<CrossEntropyAttrs>();
  const Tensor &h = v.cotangent(), &x = v.input(1), &target = v.input(2), &lse = v.input(3);
  if (v.needs(0)) {
    const Tensor one = ones(v.input_shape(0), TensorOptions(x.dtype(), x.device()));
    const Tensor slopes = mul(h, cross_entropy_backward(one, x, target, lse, a));
    v.grad(0) = a.reduction == Reduction::kNone ? sum(slopes, {1}) : sum(slopes);
  }
  if (!v.needs(1) && !v.needs(3)) return;
  const Tensor scores = in_float(x);
  const Tensor softmax = exp(sub(scores, lse.to(scores.dtype()).unsqueeze(1)));
  const Tensor part = mul(mul(h, softmax), row_slopes(v.input(0), target, a));
  if (v.needs(1)) v.grad(1) = part;
  if (v.needs(3)) v.grad(3) = neg(sum(part, {1}));
}

constexpr Saves kScoresTargetAndSum = saves_input(1) | saves_input(2) | saves_input(3);

constexpr OpDef kCrossEntropyBackward{.name = "cross_entropy_backward",
                                      .kind = OpKind::kGeneral,
                                      .inputs = 4,
                                      .cast_inputs = 0b0011,
                                      .dtypes = dtype_rules::promote,
                                      .domain = kFloatingDTypes,
                                      .infer = infer_cross_entropy_backward,
                                      .attrs = attrs_type<CrossEntropyAttrs>,
                                      .saves = {kScoresTargetAndSum, saves_input(0) | kScoresTargetAndSum,
                                                saves_nothing(), saves_input(0) | kScoresTargetAndSum},
                                      .vjp = cross_entropy_backward_vjp,
                                      .reference = {.tensors = cross_entropy_backward_reference}};
OpSlot cross_entropy_backward_slot{kCrossEntropyBackward, "loss"};

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& lse,
                              const CrossEntropyAttrs& attrs) {
  return call(cross_entropy_backward_slot, {&grad, &x, &target, &lse}, &attrs);
}

// --- The cases that are composed.

// [C] as it broadcasts against scores of this rank.
Tensor beside_scores(const Tensor& weight, const Tensor& scores, int dim) {
  Dims shape = Dims::filled(scores.dim(), 1);
  shape[dim] = weight.size(0);
  return weight.to(scores.dtype()).reshape(shape);
}

Tensor with_probabilities(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  if (target.shape() != input.shape())
    throw_error<ShapeError>("cross_entropy: class probabilities ", target.shape(), " do not fit scores ", input.shape(),
                            "; give one for each score, or int64 class indices");
  if (o.ignore_index >= 0)
    throw_error<InvalidArgumentError>("cross_entropy: ignore_index ", o.ignore_index,
                                      " has no meaning for class probabilities; zero the rows that do not count");
  const int dim = internal::class_dim("cross_entropy", input.shape());
  internal::check_class_weight("cross_entropy", input.shape(), o.weight);
  const double classes = static_cast<double>(input.size(dim)), smoothing = o.label_smoothing;
  const Tensor log_p = log_softmax(input, dim);
  const Tensor smooth = smoothing > 0 ? add(mul(target, 1 - smoothing), smoothing / classes) : target;
  Tensor shares = mul(log_p, smooth);
  if (o.weight.defined()) shares = mul(shares, beside_scores(o.weight, input, dim));
  if (o.reduction == Reduction::kNone) return neg(sum(shares, {dim}));
  const Tensor total = neg(sum(shares));
  if (o.reduction == Reduction::kSum) return total;
  return div(total, static_cast<double>(input.numel()) / classes);
}

// The loss against a target that is uniform over the classes, with the weights of nll_loss.
Tensor uniform_loss(const Tensor& log_p, const Tensor& target, const CrossEntropyOptions& o, int dim) {
  const Tensor weighted = o.weight.defined() ? mul(log_p, beside_scores(o.weight, log_p, dim)) : log_p;
  const Tensor counts = target != Scalar(o.ignore_index);
  const Tensor each = where(counts, neg(sum(weighted, {dim})), wrap_number(0, log_p));
  if (o.reduction == Reduction::kNone) return each;
  if (o.reduction == Reduction::kSum) return sum(each);
  Tensor weights = counts.to(log_p.dtype());
  if (o.weight.defined()) {
    const Tensor classes = where(counts, target, wrap_number(0, target)).flatten();
    weights = mul(weights.flatten(), gather(o.weight.to(log_p.dtype()), 0, classes));
  }
  return div(sum(each), sum(weights));
}

Tensor with_weights_or_places(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  const int dim = internal::class_dim("cross_entropy", input.shape());
  const Tensor log_p = log_softmax(input, dim);
  const Tensor sharp = nll_loss(log_p, target, {o.reduction, o.ignore_index, o.weight});
  if (o.label_smoothing == 0) return sharp;
  const Tensor uniform = uniform_loss(log_p, target, o, dim);
  return add(mul(sharp, 1 - o.label_smoothing), mul(uniform, o.label_smoothing / static_cast<double>(input.size(dim))));
}

Tensor of_rows(const Tensor& input, const Tensor& target, const CrossEntropyAttrs& attrs) {
  return call(cross_entropy_slot, {&input, &target}, &attrs);
}

// A weight that is not smoothed over the classes is that of a whole row, so that the fused operator serves.
Tensor with_row_weights(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  const Tensor each = of_rows(input, target, {Reduction::kNone, o.ignore_index, 0});
  const Tensor counts = target != Scalar(o.ignore_index);
  const Tensor classes = where(counts, target, wrap_number(0, target));
  const Tensor weights = where(counts, gather(o.weight.to(each.dtype()), 0, classes), wrap_number(0, each));
  const Tensor weighted = mul(each, weights);
  if (o.reduction == Reduction::kNone) return weighted;
  return o.reduction == Reduction::kSum ? sum(weighted) : div(sum(weighted), sum(weights));
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    throw_error<InvalidArgumentError>("cross_entropy: label_smoothing must lie in [0, 1], it is ", o.label_smoothing);
  if (!is_floating(input.dtype()))
    throw_error<DTypeError>("cross_entropy: scores must be floating, they are ", input.dtype(),
                            "; convert them with to(kFloat32)");
  if (is_floating(target.dtype())) return with_probabilities(input, target, o);
  internal::check_class_targets("cross_entropy", input.shape(), target, o.weight);
  if (input.dim() > 2 || (o.weight.defined() && o.label_smoothing > 0)) return with_weights_or_places(input, target, o);
  if (input.dim() == 1) return cross_entropy(input.unsqueeze(0), target.unsqueeze(0), o).reshape({});
  if (o.weight.defined()) return with_row_weights(input, target, o);
  return of_rows(input, target, {o.reduction, o.ignore_index, o.label_smoothing});
}

}  // namespace vellum
