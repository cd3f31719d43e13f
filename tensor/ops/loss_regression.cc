#include <array>
#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// Losses that compare elements: elementwise operators, reduced by others. Each has a fused gradient in the input,
// (grad, input, target), which is an operator too.

namespace vellum {
namespace {

using reference::Complex;

constexpr Saves kBoth = saves_input(0) | saves_input(1);
constexpr Saves kInputAndTarget = saves_input(1) | saves_input(2);
constexpr Saves kAllThree = saves_input(0) | kInputAndTarget;

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// A function of the difference: the target's gradient is the negative of the input's.
template <OpSlot& kSlot>
void difference_vjp(Vjp& v) {
  const Tensor slope = call(kSlot, {&v.cotangent(), &v.input(0), &v.input(1)}, v.attrs());
  if (v.needs(0)) v.grad(0) = slope;
  if (v.needs(1)) v.grad(1) = neg(slope);
}

constexpr OpDef fused_gradient(std::string_view name, void (*vjp)(Vjp&), std::array<Saves, kMaxInputs> saves,
                               Reference reference, AttrsType attrs = {}) {
  return {.name = name,
          .inputs = 3,
          .dtypes = dtype_rules::promote,
          .domain = kFloatingDTypes,
          .attrs = attrs,
          .saves = saves,
          .vjp = vjp,
          .reference = reference};
}

constexpr OpDef comparison_loss(std::string_view name, void (*vjp)(Vjp&), std::array<Saves, kMaxInputs> saves,
                                Reference reference, AttrsType attrs = {}) {
  OpDef def = fused_gradient(name, vjp, saves, reference, attrs);
  def.inputs = 2;
  return def;
}

// --- mse_loss

extern OpSlot mse_loss_backward_slot;

void mse_loss_backward_vjp(Vjp& v) {
  const Tensor& h = v.cotangent();
  if (v.needs(0)) v.grad(0) = call(mse_loss_backward_slot, {&h, &v.input(1), &v.input(2)});
  if (!v.needs(1) && !v.needs(2)) return;
  const Tensor slope = mul(mul(h, v.input(0)), 2);
  if (v.needs(1)) v.grad(1) = slope;
  if (v.needs(2)) v.grad(2) = neg(slope);
}

constexpr OpDef kMseLossBackward =
    fused_gradient("mse_loss_backward", mse_loss_backward_vjp, {kInputAndTarget, saves_input(0), saves_input(0)},
                   {.element = [](const Complex* x, const RefCall&) { return 2.0 * x[0] * (x[1] - x[2]); }});
OpSlot mse_loss_backward_slot{kMseLossBackward, "loss"};

constexpr OpDef kMseLoss =
    comparison_loss("mse_loss", difference_vjp<mse_loss_backward_slot>, {kBoth, kBoth},
                    reference::real([](double x, double target) { return (x - target) * (x - target); }));
OpSlot mse_loss_slot{kMseLoss, "loss"};

// --- l1_loss

extern OpSlot l1_loss_backward_slot;

constexpr OpDef kL1LossBackward = fused_gradient(
    "l1_loss_backward",
    [](Vjp& v) {  // constant in the operands, as far as there is a derivative
      if (v.needs(0)) v.grad(0) = call(l1_loss_backward_slot, {&v.cotangent(), &v.input(1), &v.input(2)});
    },
    {kInputAndTarget},
    {.element = [](const Complex* x, const RefCall&) { return x[0] * sign(x[1].real() - x[2].real()); }});
OpSlot l1_loss_backward_slot{kL1LossBackward, "loss"};

constexpr OpDef kL1Loss =
    comparison_loss("l1_loss", difference_vjp<l1_loss_backward_slot>, {kBoth, kBoth},
                    reference::real([](double x, double target) { return std::abs(x - target); }));
OpSlot l1_loss_slot{kL1Loss, "loss"};

// --- smooth_l1_loss

extern OpSlot smooth_l1_loss_backward_slot;

void smooth_l1_loss_backward_vjp(Vjp& v) {
  const Tensor &h = v.cotangent(), &x = v.input(1), &target = v.input(2);
  if (v.needs(0)) v.grad(0) = call(smooth_l1_loss_backward_slot, {&h, &x, &target}, v.attrs());
  const double beta = v.attributes<SmoothL1LossAttrs>().beta;
  if (beta == 0 || (!v.needs(1) && !v.needs(2))) return;
  const Tensor is_quadratic = call(l1_loss_slot, {&x, &target}) < Scalar(beta);
  const Tensor slope = div(mul(h, v.input(0)), beta);
  const Tensor inside = where(is_quadratic, slope, wrap_number(0, slope));
  if (v.needs(1)) v.grad(1) = inside;
  if (v.needs(2)) v.grad(2) = neg(inside);
}

constexpr OpDef kSmoothL1LossBackward =
    fused_gradient("smooth_l1_loss_backward", smooth_l1_loss_backward_vjp, {kInputAndTarget, kAllThree, kAllThree},
                   {.element =
                        [](const Complex* x, const RefCall& call) {
                          const double beta = call.attributes<SmoothL1LossAttrs>().beta;
                          const double d = x[1].real() - x[2].real();
                          return x[0] * (std::abs(d) < beta ? d / beta : sign(d));
                        }},
                   attrs_type<SmoothL1LossAttrs>);
OpSlot smooth_l1_loss_backward_slot{kSmoothL1LossBackward, "loss"};

constexpr OpDef kSmoothL1Loss =
    comparison_loss("smooth_l1_loss", difference_vjp<smooth_l1_loss_backward_slot>, {kBoth, kBoth},
                    {.element = [](const Complex* x, const RefCall& call) -> Complex {
                      const double beta = call.attributes<SmoothL1LossAttrs>().beta;
                      const double d = std::abs(x[0].real() - x[1].real());
                      return d < beta ? d * d / (2 * beta) : d - beta / 2;
                    }},
                    attrs_type<SmoothL1LossAttrs>);
OpSlot smooth_l1_loss_slot{kSmoothL1Loss, "loss"};

// --- binary_cross_entropy_with_logits, without weights

extern OpSlot binary_cross_entropy_backward_slot;

Tensor binary_slope(const Tensor& grad, const Tensor& x, const Tensor& target) {
  return call(binary_cross_entropy_backward_slot, {&grad, &x, &target});
}

void binary_cross_entropy_backward_vjp(Vjp& v) {
  const Tensor& h = v.cotangent();
  if (v.needs(0)) v.grad(0) = binary_slope(h, v.input(1), v.input(2));
  if (v.needs(1)) {
    const Tensor& x = v.input(1);
    const Tensor sigmoid = binary_slope(wrap_number(1.0, x), x, wrap_number(0.0, x));
    v.grad(1) = mul(mul(h, v.input(0)), mul(sigmoid, 1 - sigmoid));
  }
  if (v.needs(2)) v.grad(2) = neg(mul(h, v.input(0)));
}

// grad * (sigmoid(x) - target)
constexpr OpDef kBinaryCrossEntropyBackward = fused_gradient(
    "binary_cross_entropy_with_logits_backward", binary_cross_entropy_backward_vjp,
    {kInputAndTarget, saves_input(0) | saves_input(1), saves_input(0)},
    {.element = [](const Complex* x, const RefCall&) { return x[0] * (1 / (1 + std::exp(-x[1].real())) - x[2]); }});
OpSlot binary_cross_entropy_backward_slot{kBinaryCrossEntropyBackward, "loss"};

void binary_cross_entropy_vjp(Vjp& v) {
  if (v.needs(0)) v.grad(0) = binary_slope(v.cotangent(), v.input(0), v.input(1));
  if (v.needs(1)) v.grad(1) = neg(mul(v.cotangent(), v.input(0)));
}

constexpr OpDef kBinaryCrossEntropy =
    comparison_loss("binary_cross_entropy_with_logits", binary_cross_entropy_vjp, {kBoth, saves_input(0)},
                    reference::real([](double x, double target) {
                      return (x < 0 ? 0 : x) - x * target + std::log1p(std::exp(-std::abs(x)));
                    }));
OpSlot binary_cross_entropy_slot{kBinaryCrossEntropy, "loss"};

// --- For all of them

void check_same_shape(const char* op, const Tensor& input, const Tensor& target) {
  if (input.shape() != target.shape())
    throw_error<ShapeError>(op, ": input ", input.shape(), " and target ", target.shape(),
                            " differ; bring them to one shape with reshape or expand");
}

Tensor reduced(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::kNone ? each : reduction == Reduction::kMean ? mean(each) : sum(each);
}

void check_weight(const char* what, const Tensor& weight, const Tensor& input) {
  if (weight.defined() && !is_broadcastable_to(weight.shape(), input.shape()))
    throw_error<ShapeError>("binary_cross_entropy_with_logits: ", what, " ", weight.shape(),
                            " does not broadcast to input ", input.shape());
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, const MseLossOptions& options) {
  check_same_shape("mse_loss", input, target);
  return reduced(call(mse_loss_slot, {&input, &target}), options.reduction);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossOptions& options) {
  check_same_shape("l1_loss", input, target);
  const bool is_complex = input.is_complex() || target.is_complex();
  return reduced(is_complex ? abs(sub(input, target)) : call(l1_loss_slot, {&input, &target}), options.reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossOptions& options) {
  check_same_shape("smooth_l1_loss", input, target);
  if (!(options.beta >= 0))
    throw_error<InvalidArgumentError>("smooth_l1_loss: beta must be 0 or more, it is ", options.beta);
  const SmoothL1LossAttrs attrs{options.beta};
  return reduced(call(smooth_l1_loss_slot, {&input, &target}, &attrs), options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options) {
  check_same_shape("binary_cross_entropy_with_logits", input, target);
  check_weight("weight", options.weight, input);
  check_weight("pos_weight", options.pos_weight, input);
  Tensor each;
  if (options.pos_weight.defined()) {
    const Tensor positive = wrap_number(1.0, input);
    const Tensor softplus = call(binary_cross_entropy_slot, {&input, &positive});  // log(1 + exp(-x))
    const Tensor factor = add(mul(sub(options.pos_weight, 1), target), 1);
    each = add(mul(1 - target, input), mul(factor, softplus));
  } else {
    each = call(binary_cross_entropy_slot, {&input, &target});
  }
  if (options.weight.defined()) each = mul(each, options.weight);
  return reduced(each, options.reduction);
}

}  // namespace vellum
