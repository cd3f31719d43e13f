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

// --- The fused operator: class indices, scores [N, C], weights [C] of the classes or none.

Tensor in_float(const Tensor& x) { return x.element_size() == 2 ? x.to(kFloat32) : x; }

void check_rows(const OpCall& call, const Tensor& scores, const Tensor& target, const Tensor& weight) {
  if (scores.dim() != 2)
    throw_error<ShapeError>(call.op.name, ": scores must be [N, C], they are ", scores.shape(),
                            "; use cross_entropy()");
  internal::check_class_targets(call.op.name, scores.shape(), target, weight);
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

// What the targets and the weights say of a reference's classes.
struct RefTargets {
  const CrossEntropyAttrs& attrs;
  const RefTensor &target, &weight;
  int64_t classes;

  int64_t of(int64_t row) const { return static_cast<int64_t>(target.values[row].real()); }
  bool counts(int64_t row) const { return of(row) != attrs.ignore_index; }
  double weight_of(int64_t c) const { return weight.values.empty() ? 1 : weight.values[c].real(); }
  // The part that class c has in the loss of a row, and that of all classes.
  double part(int64_t row, int64_t c) const {
    const double sharp = c == of(row) ? 1 - attrs.label_smoothing : 0;
    return weight_of(c) * (sharp + attrs.label_smoothing / static_cast<double>(classes));
  }
  double parts(int64_t row) const {
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += part(row, c);
    return total;
  }
  // What a sum over the rows is divided by.
  double divisor() const {
    if (attrs.reduction != Reduction::kMean) return 1;
    double total = 0;
    for (int64_t i = 0; i < target.shape[0]; ++i) total += counts(i) ? weight_of(of(i)) : 0;
    return total;
  }
};

std::vector<RefTensor> cross_entropy_reference(const RefCall& call) {
  const auto& a = call.attributes<CrossEntropyAttrs>();
  const RefTensor& x = call.inputs[0];
  const int64_t rows = x.shape[0], classes = x.shape[1];
  const RefTargets targets{a, call.inputs[1], call.inputs[2], classes};
  RefTensor each = reference::zeros({rows}, x.dtype), total = reference::zeros({}, x.dtype);
  RefTensor sums = reference::zeros({rows}, kFloat64);
  for (int64_t i = 0; i < rows; ++i) {
    const double lse = log_sum_exp(x, i);
    sums.values[i] = lse;
    if (!targets.counts(i)) continue;
    for (int64_t c = 0; c < classes; ++c) each.values[i] += targets.part(i, c) * (lse - x.values[i * classes + c]);
    total.values[0] += each.values[i];
  }
  if (a.reduction == Reduction::kNone) return {each, sums};
  total.values[0] /= targets.divisor();
  return {total, sums};
}

// Of each row of [N, C], with a history.
Tensor logsumexp_of_rows(const Tensor& scores) {
  const Tensor x = in_float(scores);
  const Tensor top = amax(x.detach(), {1}, true);
  return add(log(sum(exp(sub(x, top)), {1}, true)), top).squeeze(1);
}

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& lse,
                              const Tensor& weight, const CrossEntropyAttrs& attrs);

// The loss, like its gradient's product with a cotangent, is the reduction of sum_c weight[c] share[i, c] terms[i, c]
// over the rows i, where share is what target i says of class c. This is the gradient in the weight, which is read for
// the mean alone.
Tensor weight_gradient(const Tensor& grad, const Tensor& terms, const Tensor& target, const Tensor& weight,
                       const CrossEntropyAttrs& a) {
  const int64_t classes = terms.size(1);
  const double spread = a.label_smoothing / static_cast<double>(classes);
  const Tensor places = target.unsqueeze(1), counts = places != Scalar(a.ignore_index);
  const Tensor own = logical_and(counts, places == arange(classes, TensorOptions(kInt64, target.device())));
  const Tensor shares = add(mul(own.to(terms.dtype()), 1 - a.label_smoothing), spread);
  // Not a product with 0, for terms may be infinite.
  Tensor slopes = where(spread > 0 ? counts : own, mul(shares, terms), wrap_number(0, terms));
  if (a.reduction == Reduction::kMean) {
    const Tensor weights = weight.to(terms.dtype());
    const Tensor total = sum(mul(own, weights)), loss = div(sum(mul(slopes, weights)), total);
    slopes = div(sub(slopes, mul(own, loss)), total);
  }
  return sum(mul(slopes, a.reduction == Reduction::kNone ? grad.unsqueeze(1) : grad), {0});
}

// The weight, where the reduction's gradient in it reads it.
Tensor weight_of_mean(Vjp& v, int input) {
  return v.attributes<CrossEntropyAttrs>().reduction == Reduction::kMean ? v.input(input) : Tensor();
}

template <int kWeight>
Saves without_unread_weight(const void* attrs, int input, uint32_t, Saves declared) {
  const bool read = static_cast<const CrossEntropyAttrs*>(attrs)->reduction == Reduction::kMean || input != kWeight;
  return read ? declared : Saves{declared.bits & ~saves_input(kWeight).bits};
}

void cross_entropy_vjp(Vjp& v) {
  const auto& a = v.attributes<CrossEntropyAttrs>();
  const Tensor &x = v.input(0), &target = v.input(1);
  Tensor lse = v.by_product(0);
  if (x.requires_grad()) lse = logsumexp_of_rows(x);  // this pass is recorded, but a by-product has no history
  if (v.needs(0)) v.grad(0) = cross_entropy_backward(v.cotangent(), x, target, lse, v.input(2), a);
  if (!v.needs(2)) return;
  const Tensor scores = in_float(x);
  const Tensor losses = sub(lse.to(scores.dtype()).unsqueeze(1), scores);
  v.grad(2) = weight_gradient(v.cotangent(), losses, target, weight_of_mean(v, 2), a);
}

constexpr Saves kAllAndSum = saves_input(0) | saves_input(1) | saves_input(2) | saves_by_product(0);

// Keeps the log-sum-exp of each row in double precision, so that softmax = exp(x - lse) is exact beside large scores.
constexpr OpDef kCrossEntropy{.name = "cross_entropy",
                              .kind = OpKind::kGeneral,
                              .inputs = 3,
                              .by_products = 1,
                              .optional_inputs = 0b100,
                              .cast_inputs = 0b101,
                              .dtypes = dtype_rules::same,
                              .domain = kFloatingDTypes,
                              .infer =
                                  [](Inference& call) {
                                    check_rows(call, call.input(0), call.input(1), call.input(2));
                                    const Dims shape = call.input(0).shape();
                                    call.add_output(loss_shape(call.attributes<CrossEntropyAttrs>(), shape));
                                    call.add_by_product({shape[0]}, kFloat64);
                                  },
                              .attrs = attrs_type<CrossEntropyAttrs>,
                              .saves = {kAllAndSum, saves_nothing(), kAllAndSum},
                              .refine_saves = without_unread_weight<2>,
                              .vjp = cross_entropy_vjp,
                              .reference = {.tensors = cross_entropy_reference}};
OpSlot cross_entropy_slot{kCrossEntropy, "loss"};

// --- Its gradient: grad shared out to the rows, times parts exp(x - lse) - part.

std::vector<RefTensor> cross_entropy_backward_reference(const RefCall& call) {
  const auto& a = call.attributes<CrossEntropyAttrs>();
  const RefTensor &g = call.inputs[0], &x = call.inputs[1], &lse = call.inputs[3];
  const int64_t rows = x.shape[0], classes = x.shape[1];
  const RefTargets targets{a, call.inputs[2], call.inputs[4], classes};
  RefTensor out = reference::zeros(x.shape, x.dtype);
  const double divisor = targets.divisor();
  for (int64_t i = 0; i < rows; ++i) {
    if (!targets.counts(i)) continue;
    const double slope = g.values[a.reduction == Reduction::kNone ? i : 0].real() / divisor, parts = targets.parts(i);
    for (int64_t c = 0; c < classes; ++c) {
      const double softmax = std::exp(x.values[i * classes + c].real() - lse.values[i].real());
      out.values[i * classes + c] = slope * (parts * softmax - targets.part(i, c));
    }
  }
  return {out};
}

void infer_cross_entropy_backward(Inference& call) {
  const Tensor &x = call.input(1), &lse = call.input(3);
  check_rows(call, x, call.input(2), call.input(4));
  shape_rules::check_cotangent(call, loss_shape(call.attributes<CrossEntropyAttrs>(), x.shape()));
  if (lse.shape() != Dims{x.size(0)} || !is_floating(lse.dtype()))
    throw_error<ShapeError>(call.op.name, ": the log-sum-exp must be floating [", x.size(0), "], it is ", lse.dtype(),
                            lse.shape(), "; take the one that the forward pass made");
  call.add_output(x.shape());
}

// The weights of the targets' classes, 0 where one does not count; in row-major order.
Tensor target_weights(const Tensor& weight, const Tensor& target, const Tensor& counts) {
  const Tensor classes = where(counts, target, wrap_number(0, target)).flatten();
  return where(counts.flatten(), gather(weight, 0, classes), wrap_number(0, weight));
}

// The part of each row in the reduced loss, times its gradient: [N, 1].
Tensor row_slopes(const Tensor& grad, const Tensor& target, const Tensor& weight, const CrossEntropyAttrs& a) {
  const Tensor g = in_float(grad), rows = target != Scalar(a.ignore_index), counts = rows.to(g.dtype());
  Tensor parts = counts, own = counts;
  if (weight.defined()) {
    const Tensor weights = weight.to(g.dtype());
    own = target_weights(weights, target, rows);
    const Tensor spread = mul(sum(weights), a.label_smoothing / static_cast<double>(weight.size(0)));
    parts = add(mul(own, 1 - a.label_smoothing), mul(counts, spread));
  }
  if (a.reduction == Reduction::kMean) parts = div(parts, sum(own));
  return mul(parts, g).unsqueeze(1);
}

void cross_entropy_backward_vjp(Vjp& v) {
  const auto& a = v.attributes<CrossEntropyAttrs>();
  const Tensor &h = v.cotangent(), &x = v.input(1), &target = v.input(2), &lse = v.input(3);
  if (v.needs(0)) {
    const Tensor one = ones(v.input_shape(0), TensorOptions(x.dtype(), x.device()));
    const Tensor slopes = mul(h, cross_entropy_backward(one, x, target, lse, v.input(4), a));
    v.grad(0) = a.reduction == Reduction::kNone ? sum(slopes, {1}) : sum(slopes);
  }
  if (!v.needs(1) && !v.needs(3) && !v.needs(4)) return;
  const Tensor scores = in_float(x);
  const Tensor shares = mul(h, exp(sub(scores, lse.to(scores.dtype()).unsqueeze(1))));
  if (v.needs(4)) {
    const Tensor terms = sub(sum(shares, {1}, true), h);
    v.grad(4) = weight_gradient(v.input(0), terms, target, weight_of_mean(v, 4), a);
  }
  if (!v.needs(1) && !v.needs(3)) return;
  const Tensor part = mul(shares, row_slopes(v.input(0), target, v.input(4), a));
  if (v.needs(1)) v.grad(1) = part;
  if (v.needs(3)) v.grad(3) = neg(sum(part, {1}));
}

constexpr Saves kAllButGrad = saves_input(1) | saves_input(2) | saves_input(3) | saves_input(4);
constexpr Saves kAllInputs = saves_input(0) | kAllButGrad;

constexpr OpDef kCrossEntropyBackward{.name = "cross_entropy_backward",
                                      .kind = OpKind::kGeneral,
                                      .inputs = 5,
                                      .optional_inputs = 0b10000,
                                      .cast_inputs = 0b10011,
                                      .dtypes = dtype_rules::promote,
                                      .domain = kFloatingDTypes,
                                      .infer = infer_cross_entropy_backward,
                                      .attrs = attrs_type<CrossEntropyAttrs>,
                                      .saves = {kAllButGrad, kAllInputs, saves_nothing(), kAllInputs, kAllInputs},
                                      .refine_saves = without_unread_weight<4>,
                                      .vjp = cross_entropy_backward_vjp,
                                      .reference = {.tensors = cross_entropy_backward_reference}};
OpSlot cross_entropy_backward_slot{kCrossEntropyBackward, "loss"};

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& lse,
                              const Tensor& weight, const CrossEntropyAttrs& attrs) {
  return call(cross_entropy_backward_slot, {&grad, &x, &target, &lse, &weight}, &attrs);
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
  const Tensor weights =
      o.weight.defined() ? target_weights(o.weight.to(log_p.dtype()), target, counts) : counts.to(log_p.dtype());
  return div(sum(each), sum(weights));
}

Tensor with_places(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  const int dim = internal::class_dim("cross_entropy", input.shape());
  const Tensor log_p = log_softmax(input, dim);
  const Tensor sharp = nll_loss(log_p, target, {o.reduction, o.ignore_index, o.weight});
  if (o.label_smoothing == 0) return sharp;
  const Tensor uniform = uniform_loss(log_p, target, o, dim);
  return add(mul(sharp, 1 - o.label_smoothing), mul(uniform, o.label_smoothing / static_cast<double>(input.size(dim))));
}

Tensor of_rows(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  const Tensor weight = o.weight.defined() ? o.weight.to(input.dtype()) : Tensor();
  const CrossEntropyAttrs attrs{o.reduction, o.ignore_index, o.label_smoothing};
  return call(cross_entropy_slot, {&input, &target, &weight}, &attrs);
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
  if (input.dim() > 2) return with_places(input, target, o);
  if (input.dim() == 1) return cross_entropy(input.unsqueeze(0), target.unsqueeze(0), o).reshape({});
  return of_rows(input, target, o);
}

}  // namespace vellum
