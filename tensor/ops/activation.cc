#include <cmath>
#include <string_view>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::kNumericRealDTypes;
using internal::write_out;
using internal::write_self;
using reference::Complex;

// --- relu

constexpr OpDef kRelu{.name = "relu",
                      .dtypes = dtype_rules::promote,
                      .domain = kNumericRealDTypes,
                      .saves = {saves_output()},
                      .vjp = [](Vjp& v) { v.grad() = relu_backward(v.cotangent(), v.output()); },
                      .reference = reference::real([](double x) { return x < 0 ? 0.0 : x; })};
OpSlot relu_slot{kRelu, "pointwise"};

constexpr OpDef kReluBackward{
    .name = "relu_backward",
    .inputs = 2,
    .dtypes = dtype_rules::promote,
    .domain = kNumericRealDTypes,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = relu_backward(v.cotangent(), v.input(1));
        },
    .reference = reference::real([](double g, double output) { return output > 0 ? g : 0.0; })};
OpSlot relu_backward_slot{kReluBackward, "pointwise"};

// --- gelu: Hendrycks & Gimpel, "Gaussian error linear units" (2016)

constexpr double kInverseSqrtTwoPi = 0.39894228040143268, kSqrtTwoOverPi = 0.79788456080286536, kCubic = 0.044715;

double gelu_value(double x, bool by_tanh) {
  if (by_tanh) return x / 2 * (1 + std::tanh(kSqrtTwoOverPi * (x + kCubic * x * x * x)));
  return x / 2 * std::erfc(-x / std::sqrt(2.0));
}

double gelu_slope(double x, bool by_tanh) {
  if (!by_tanh) return std::erfc(-x / std::sqrt(2.0)) / 2 + x * kInverseSqrtTwoPi * std::exp(-x * x / 2);
  const double inner = kSqrtTwoOverPi * (x + kCubic * x * x * x), slope = kSqrtTwoOverPi * (1 + 3 * kCubic * x * x);
  const double t = std::tanh(inner);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * slope;
}

constexpr OpDef kGelu{
    .name = "gelu",
    .dtypes = dtype_rules::promote,
    .domain = kFloatingDTypes,
    .attrs = attrs_type<GeluAttrs>,
    .saves = {saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = gelu_backward(v.cotangent(), v.input(), v.attributes<GeluAttrs>()); },
    .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
      return gelu_value(x[0].real(), call.attributes<GeluAttrs>().tanh);
    }}};
OpSlot gelu_slot{kGelu, "pointwise"};

// The second derivative of gelu.
Tensor gelu_bend(const Tensor& x, bool by_tanh) {
  const Tensor squares = square(x);
  if (!by_tanh) return mul(exp(mul(squares, -0.5)), mul(Scalar(2) - squares, kInverseSqrtTwoPi));
  const Tensor slope = mul(add(mul(squares, 3 * kCubic), 1), kSqrtTwoOverPi);
  const Tensor t = tanh(mul(mul(x, add(mul(squares, kCubic), 1)), kSqrtTwoOverPi));
  const Tensor turn = sub(mul(squares, 3 * kCubic * kSqrtTwoOverPi), mul(mul(x, t), square(slope)));
  return mul(Scalar(1) - square(t), add(slope, turn));
}

constexpr OpDef kGeluBackward{.name = "gelu_backward",
                              .inputs = 2,
                              .dtypes = dtype_rules::promote,
                              .domain = kFloatingDTypes,
                              .attrs = attrs_type<GeluAttrs>,
                              .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                              .vjp =
                                  [](Vjp& v) {
                                    const GeluAttrs& attrs = v.attributes<GeluAttrs>();
                                    if (v.needs(0)) v.grad(0) = gelu_backward(v.cotangent(), v.input(1), attrs);
                                    if (v.needs(1))
                                      v.grad(1) =
                                          mul(mul(v.cotangent(), v.input(0)), gelu_bend(v.input(1), attrs.tanh));
                                  },
                              .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                                return x[0].real() * gelu_slope(x[1].real(), call.attributes<GeluAttrs>().tanh);
                              }}};
OpSlot gelu_backward_slot{kGeluBackward, "pointwise"};

GeluAttrs gelu_attrs(std::string_view approximate) {
  if (approximate != "none" && approximate != "tanh")
    throw_error<InvalidArgumentError>("gelu: approximate must be \"none\" or \"tanh\", it is \"", approximate, "\"");
  return {approximate == "tanh"};
}

// --- silu: Elfwing, Uchibe & Doya, "Sigmoid-weighted linear units" (2017)

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

constexpr OpDef kSilu{.name = "silu",
                      .dtypes = dtype_rules::promote,
                      .domain = kFloatingDTypes,
                      .saves = {saves_input(0)},
                      .vjp = [](Vjp& v) { v.grad() = silu_backward(v.cotangent(), v.input()); },
                      .reference = reference::real([](double x) { return x * logistic(x); })};
OpSlot silu_slot{kSilu, "pointwise"};

constexpr OpDef kSiluBackward{.name = "silu_backward",
                              .inputs = 2,
                              .dtypes = dtype_rules::promote,
                              .domain = kFloatingDTypes,
                              .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                              .vjp =
                                  [](Vjp& v) {
                                    const Tensor& x = v.input(1);
                                    if (v.needs(0)) v.grad(0) = silu_backward(v.cotangent(), x);
                                    if (!v.needs(1)) return;
                                    const Tensor s = sigmoid(x);
                                    const Tensor bend =
                                        mul(sigmoid_backward(v.cotangent(), s), add(mul(x, Scalar(1) - mul(s, 2)), 2));
                                    v.grad(1) = mul(v.input(0), bend);
                                  },
                              .reference = reference::real([](double g, double x) {
                                const double s = logistic(x);
                                return g * s * (1 + x * (1 - s));
                              })};
OpSlot silu_backward_slot{kSiluBackward, "pointwise"};

// --- softplus: Dugas et al., "Incorporating second-order functional knowledge" (2001)

constexpr OpDef kSoftplus{
    .name = "softplus",
    .dtypes = dtype_rules::promote,
    .domain = kFloatingDTypes,
    .attrs = attrs_type<SoftplusAttrs>,
    .saves = {saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = softplus_backward(v.cotangent(), v.input(), v.attributes<SoftplusAttrs>()); },
    .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
      const auto [beta, threshold] = call.attributes<SoftplusAttrs>();
      const double scaled = beta * x[0].real();
      return scaled > threshold ? x[0].real() : std::log1p(std::exp(scaled)) / beta;
    }}};
OpSlot softplus_slot{kSoftplus, "pointwise"};

void softplus_backward_vjp(Vjp& v) {
  const SoftplusAttrs& attrs = v.attributes<SoftplusAttrs>();
  const Tensor& x = v.input(1);
  if (v.needs(0)) v.grad(0) = softplus_backward(v.cotangent(), x, attrs);
  if (!v.needs(1)) return;
  const Tensor scaled = mul(x, attrs.beta);
  const Tensor bend = mul(mul(sigmoid_backward(v.cotangent(), sigmoid(scaled)), v.input(0)), attrs.beta);
  v.grad(1) = where(scaled > Scalar(attrs.threshold), wrap_number(0, bend), bend);
}

constexpr OpDef kSoftplusBackward{.name = "softplus_backward",
                                  .inputs = 2,
                                  .dtypes = dtype_rules::promote,
                                  .domain = kFloatingDTypes,
                                  .attrs = attrs_type<SoftplusAttrs>,
                                  .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                                  .vjp = softplus_backward_vjp,
                                  .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                                    const auto [beta, threshold] = call.attributes<SoftplusAttrs>();
                                    const double scaled = beta * x[1].real();
                                    return scaled > threshold ? x[0] : x[0] * logistic(scaled);
                                  }}};
OpSlot softplus_backward_slot{kSoftplusBackward, "pointwise"};

// --- leaky_relu: Maas, Hannun & Ng, "Rectifier nonlinearities improve neural network acoustic models" (2013)

// A slope that is not negative keeps the sign: the output, which the next operator likely saves too, will do.
Saves leaky_relu_saves(const void* attrs, int, uint32_t, Saves) {
  return static_cast<const LeakyReluAttrs*>(attrs)->negative_slope >= 0 ? saves_output() : saves_input(0);
}

constexpr OpDef kLeakyRelu{.name = "leaky_relu",
                           .dtypes = dtype_rules::promote,
                           .domain = kFloatingDTypes,
                           .attrs = attrs_type<LeakyReluAttrs>,
                           .saves = {saves_input(0) | saves_output()},
                           .refine_saves = leaky_relu_saves,
                           .vjp =
                               [](Vjp& v) {
                                 const LeakyReluAttrs& attrs = v.attributes<LeakyReluAttrs>();
                                 const Tensor& signs = attrs.negative_slope >= 0 ? v.output() : v.input();
                                 v.grad() = leaky_relu_backward(v.cotangent(), signs, attrs);
                               },
                           .reference = {.element = [](const Complex* x, const RefCall& call) {
                             return x[0].real() > 0 ? x[0] : x[0] * call.attributes<LeakyReluAttrs>().negative_slope;
                           }}};
OpSlot leaky_relu_slot{kLeakyRelu, "pointwise"};

constexpr OpDef kLeakyReluBackward{
    .name = "leaky_relu_backward",
    .inputs = 2,
    .dtypes = dtype_rules::promote,
    .domain = kFloatingDTypes,
    .attrs = attrs_type<LeakyReluAttrs>,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = leaky_relu_backward(v.cotangent(), v.input(1), v.attributes<LeakyReluAttrs>());
        },
    .reference = {.element = [](const Complex* x, const RefCall& call) {
      return x[1].real() > 0 ? x[0] : x[0] * call.attributes<LeakyReluAttrs>().negative_slope;
    }}};
OpSlot leaky_relu_backward_slot{kLeakyReluBackward, "pointwise"};

// --- elu: Clevert, Unterthiner & Hochreiter, "Fast and accurate deep network learning by ELUs" (2016)

// As with leaky_relu.
Saves elu_saves(const void* attrs, int, uint32_t, Saves) {
  return static_cast<const EluAttrs*>(attrs)->alpha >= 0 ? saves_output() : saves_input(0);
}

constexpr OpDef kElu{
    .name = "elu",
    .dtypes = dtype_rules::promote,
    .domain = kFloatingDTypes,
    .attrs = attrs_type<EluAttrs>,
    .saves = {saves_input(0) | saves_output()},
    .refine_saves = elu_saves,
    .vjp =
        [](Vjp& v) {
          const double alpha = v.attributes<EluAttrs>().alpha;
          v.grad() = elu_backward(v.cotangent(), alpha >= 0 ? v.output() : v.input(), {alpha, alpha >= 0});
        },
    .reference = {.element = [](const Complex* x, const RefCall& call) {
      return x[0].real() > 0 ? x[0] : call.attributes<EluAttrs>().alpha * std::expm1(x[0].real());
    }}};
OpSlot elu_slot{kElu, "pointwise"};

void elu_backward_vjp(Vjp& v) {
  const EluBackwardAttrs& attrs = v.attributes<EluBackwardAttrs>();
  const Tensor& saved = v.input(1);
  if (v.needs(0)) v.grad(0) = elu_backward(v.cotangent(), saved, attrs);
  if (!v.needs(1)) return;
  Tensor bend = mul(v.cotangent(), v.input(0));
  if (!attrs.is_result) bend = mul(bend, mul(exp(saved), attrs.alpha));
  v.grad(1) = where(saved > Scalar(0), wrap_number(0, bend), bend);
}

constexpr OpDef kEluBackward{.name = "elu_backward",
                             .inputs = 2,
                             .dtypes = dtype_rules::promote,
                             .domain = kFloatingDTypes,
                             .attrs = attrs_type<EluBackwardAttrs>,
                             .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                             .vjp = elu_backward_vjp,
                             .reference = {.element = [](const Complex* x, const RefCall& call) {
                               const auto [alpha, is_result] = call.attributes<EluBackwardAttrs>();
                               const double saved = x[1].real();
                               return saved > 0 ? x[0] : x[0] * (is_result ? saved + alpha : alpha * std::exp(saved));
                             }}};
OpSlot elu_backward_slot{kEluBackward, "pointwise"};

}  // namespace

Tensor relu(const Tensor& x) { return call(relu_slot, {&x}); }
Tensor relu_backward(const Tensor& grad, const Tensor& output) { return call(relu_backward_slot, {&grad, &output}); }
Tensor gelu(const Tensor& x, std::string_view approximate) {
  const GeluAttrs attrs = gelu_attrs(approximate);
  return call(gelu_slot, {&x}, &attrs);
}
Tensor gelu_backward(const Tensor& grad, const Tensor& x, const GeluAttrs& attrs) {
  return call(gelu_backward_slot, {&grad, &x}, &attrs);
}
Tensor silu(const Tensor& x) { return x.is_complex() ? mul(x, sigmoid(x)) : call(silu_slot, {&x}); }
Tensor silu_backward(const Tensor& grad, const Tensor& x) { return call(silu_backward_slot, {&grad, &x}); }
Tensor softplus(const Tensor& x, double beta, double threshold) {
  const SoftplusAttrs attrs{beta, threshold};
  return call(softplus_slot, {&x}, &attrs);
}
Tensor softplus_backward(const Tensor& grad, const Tensor& x, const SoftplusAttrs& attrs) {
  return call(softplus_backward_slot, {&grad, &x}, &attrs);
}
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  const LeakyReluAttrs attrs{negative_slope};
  return call(leaky_relu_slot, {&x}, &attrs);
}
Tensor leaky_relu_backward(const Tensor& grad, const Tensor& signs, const LeakyReluAttrs& attrs) {
  return call(leaky_relu_backward_slot, {&grad, &signs}, &attrs);
}
Tensor elu(const Tensor& x, double alpha) {
  const EluAttrs attrs{alpha};
  return call(elu_slot, {&x}, &attrs);
}
Tensor elu_backward(const Tensor& grad, const Tensor& saved, const EluBackwardAttrs& attrs) {
  return call(elu_backward_slot, {&grad, &saved}, &attrs);
}

// In place.
Tensor& relu_(Tensor& x) { return write_self(relu_slot, x); }
Tensor& silu_(Tensor& x) { return x.is_complex() ? x.mul_(sigmoid(x)) : write_self(silu_slot, x); }
Tensor& leaky_relu_(Tensor& x, double negative_slope) {
  const LeakyReluAttrs attrs{negative_slope};
  return write_self(leaky_relu_slot, x, &attrs);
}
Tensor& elu_(Tensor& x, double alpha) {
  const EluAttrs attrs{alpha};
  return write_self(elu_slot, x, &attrs);
}

Tensor& gelu_out(Tensor& out, const Tensor& x, std::string_view approximate) {
  const GeluAttrs attrs = gelu_attrs(approximate);
  return write_out(gelu_slot, out, {&x}, &attrs);
}
Tensor& silu_out(Tensor& out, const Tensor& x) {
  if (x.is_complex()) return internal::write_composed("silu", out, {&x}, [&] { return silu(x); });
  return write_out(silu_slot, out, {&x});
}
Tensor& softplus_out(Tensor& out, const Tensor& x, double beta, double threshold) {
  const SoftplusAttrs attrs{beta, threshold};
  return write_out(softplus_slot, out, {&x}, &attrs);
}
Tensor& leaky_relu_out(Tensor& out, const Tensor& x, double negative_slope) {
  const LeakyReluAttrs attrs{negative_slope};
  return write_out(leaky_relu_slot, out, {&x}, &attrs);
}
Tensor& elu_out(Tensor& out, const Tensor& x, double alpha) {
  const EluAttrs attrs{alpha};
  return write_out(elu_slot, out, {&x}, &attrs);
}

// --- Methods.

Tensor Tensor::relu() const { return vellum::relu(*this); }
Tensor& Tensor::relu_() { return write_self(relu_slot, *this); }

}  // namespace vellum
