#include <cmath>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::write_out;
using internal::write_self;
using internal::zero_vjp;
using reference::Complex;
using reference::real;
using reference::real_or_complex;

constexpr OpDef kSin{.name = "sin",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_input(0)},
                     .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), conj(cos(v.input()))); },
                     .reference = real_or_complex([](auto x) { return std::sin(x); })};
OpSlot sin_slot{kSin, "pointwise"};

constexpr OpDef kCos{.name = "cos",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_input(0)},
                     .vjp = [](Vjp& v) { v.grad() = neg(mul(v.cotangent(), conj(sin(v.input())))); },
                     .reference = real_or_complex([](auto x) { return std::cos(x); })};
OpSlot cos_slot{kCos, "pointwise"};

constexpr OpDef kTanh{.name = "tanh",
                      .dtypes = dtype_rules::promote_integers_to_float,
                      .domain = kDifferentiableDTypes,
                      .saves = {saves_output()},
                      .vjp = [](Vjp& v) { v.grad() = tanh_backward(v.cotangent(), v.output()); },
                      .reference = real_or_complex([](auto x) { return std::tanh(x); })};
OpSlot tanh_slot{kTanh, "pointwise"};

// g conj(1 - y^2). As a function of y it is antiholomorphic, hence the conjugated cotangent.
constexpr OpDef kTanhBackward{
    .name = "tanh_backward",
    .inputs = 2,
    .dtypes = dtype_rules::promote,
    .domain = kDifferentiableDTypes,
    .saves = {saves_input(1), saves_input(0) | saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = tanh_backward(v.cotangent(), conj(v.input(1)));
          if (v.needs(1)) v.grad(1) = mul(mul(conj(v.cotangent()), v.input(0)), mul(conj(v.input(1)), -2));
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return x[0] * std::conj(1.0 - x[1] * x[1]); }}};
OpSlot tanh_backward_slot{kTanhBackward, "pointwise"};

constexpr OpDef kSigmoid{.name = "sigmoid",
                         .dtypes = dtype_rules::promote_integers_to_float,
                         .domain = kDifferentiableDTypes,
                         .saves = {saves_output()},
                         .vjp = [](Vjp& v) { v.grad() = sigmoid_backward(v.cotangent(), v.output()); },
                         .reference = real_or_complex([](auto x) { return 1.0 / (1.0 + std::exp(-x)); })};
OpSlot sigmoid_slot{kSigmoid, "pointwise"};

// g conj(y (1 - y))
constexpr OpDef kSigmoidBackward{
    .name = "sigmoid_backward",
    .inputs = 2,
    .dtypes = dtype_rules::promote,
    .domain = kDifferentiableDTypes,
    .saves = {saves_input(1), saves_input(0) | saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = sigmoid_backward(v.cotangent(), conj(v.input(1)));
          if (v.needs(1)) v.grad(1) = mul(mul(conj(v.cotangent()), v.input(0)), Scalar(1) - mul(conj(v.input(1)), 2));
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return x[0] * std::conj(x[1] * (1.0 - x[1])); }}};
OpSlot sigmoid_backward_slot{kSigmoidBackward, "pointwise"};

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

constexpr OpDef kErf{
    .name = "erf",
    .dtypes = dtype_rules::promote_integers_to_float,
    .domain = kFloatingDTypes,
    .saves = {saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = mul(mul(v.cotangent(), exp(neg(square(v.input())))), kTwoOverSqrtPi); },
    .reference = real([](double x) { return std::erf(x); })};
OpSlot erf_slot{kErf, "pointwise"};

DTypes angle_dtypes(const OpCall& call) {
  const DType compute = dtype_rules::promote_integers_to_float(call).compute;
  return {compute, to_real(compute)};
}

// i z / |z|^2 turns z; 0 has no direction. Real numbers turn only where they vanish.
void angle_vjp(Vjp& v) {
  const Tensor& z = v.input();
  if (!z.is_complex()) return zero_vjp(v);
  const Tensor turn = div(mul(z, complex64(0, 1)), square(abs(z)));
  v.grad() = mul(v.cotangent(), where(z == Scalar(0), wrap_number(0, turn), turn));
}

constexpr OpDef kAngle{.name = "angle",
                       .dtypes = angle_dtypes,
                       .domain = kDifferentiableDTypes,
                       .saves = {saves_input(0)},
                       .vjp = angle_vjp,
                       .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                         if (is_complex(call.compute)) return std::arg(x[0]);
                         return std::isnan(x[0].real()) ? x[0].real() : x[0].real() < 0 ? std::acos(-1.0) : 0.0;
                       }}};
OpSlot angle_slot{kAngle, "pointwise"};

DTypes polar_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote_integers_to_float(call);
  return {types.compute, to_complex(types.compute)};
}

// With the true slope cos + i sin by the magnitude also where that is 0 or negative.
void polar_vjp(Vjp& v) {
  const Tensor g = conj(v.cotangent());
  if (v.needs(0)) v.grad(0) = mul(g, polar(ones_like(v.input(1)), v.input(1))).real();
  if (v.needs(1)) v.grad(1) = mul(mul(g, v.output()), complex64(0, 1)).real();
}

constexpr OpDef kPolar{.name = "polar",
                       .inputs = 2,
                       .dtypes = polar_dtypes,
                       .domain = DTypeSet(kFloat32) | DTypeSet(kFloat64),
                       .saves = {saves_input(1), saves_output()},
                       .vjp = polar_vjp,
                       .reference = {.element = [](const Complex* x, const RefCall&) {
                         return x[0].real() * std::exp(Complex(0, x[1].real()));
                       }}};
OpSlot polar_slot{kPolar, "pointwise"};

}  // namespace

Tensor sin(const Tensor& x) { return call(sin_slot, {&x}); }
Tensor cos(const Tensor& x) { return call(cos_slot, {&x}); }
Tensor tanh(const Tensor& x) { return call(tanh_slot, {&x}); }
Tensor sigmoid(const Tensor& x) { return call(sigmoid_slot, {&x}); }
Tensor erf(const Tensor& x) { return call(erf_slot, {&x}); }

Tensor& sin_out(Tensor& out, const Tensor& x) { return write_out(sin_slot, out, {&x}); }
Tensor& cos_out(Tensor& out, const Tensor& x) { return write_out(cos_slot, out, {&x}); }
Tensor& tanh_out(Tensor& out, const Tensor& x) { return write_out(tanh_slot, out, {&x}); }
Tensor& sigmoid_out(Tensor& out, const Tensor& x) { return write_out(sigmoid_slot, out, {&x}); }
Tensor& erf_out(Tensor& out, const Tensor& x) { return write_out(erf_slot, out, {&x}); }

Tensor tanh_backward(const Tensor& grad, const Tensor& output) { return call(tanh_backward_slot, {&grad, &output}); }
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output) {
  return call(sigmoid_backward_slot, {&grad, &output});
}
Tensor angle(const Tensor& x) { return call(angle_slot, {&x}); }
Tensor polar(const Tensor& abs, const Tensor& angle) { return call(polar_slot, {&abs, &angle}); }
Tensor& angle_out(Tensor& out, const Tensor& x) { return write_out(angle_slot, out, {&x}); }
Tensor& polar_out(Tensor& out, const Tensor& abs, const Tensor& angle) {
  return write_out(polar_slot, out, {&abs, &angle});
}

// --- Methods.

Tensor Tensor::sin() const { return vellum::sin(*this); }
Tensor Tensor::cos() const { return vellum::cos(*this); }
Tensor Tensor::tanh() const { return vellum::tanh(*this); }
Tensor Tensor::sigmoid() const { return vellum::sigmoid(*this); }
Tensor Tensor::erf() const { return vellum::erf(*this); }
Tensor& Tensor::sin_() { return write_self(sin_slot, *this); }
Tensor& Tensor::cos_() { return write_self(cos_slot, *this); }
Tensor& Tensor::tanh_() { return write_self(tanh_slot, *this); }
Tensor& Tensor::sigmoid_() { return write_self(sigmoid_slot, *this); }
Tensor& Tensor::erf_() { return write_self(erf_slot, *this); }
Tensor Tensor::angle() const { return vellum::angle(*this); }

}  // namespace vellum
