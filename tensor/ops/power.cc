#include <cmath>
#include <optional>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::call_with_number;
using internal::kNumericDTypes;
using internal::write_out;
using internal::write_self;
using reference::Complex;

Complex pow_reference(const Complex* x, const RefCall& call) {
  if (is_complex(call.compute)) return x[1] == 0.0 ? Complex(1) : x[0] == 0.0 ? Complex(0) : std::pow(x[0], x[1]);
  const double base = x[0].real(), exponent = x[1].real();
  if (is_integral(call.compute) && exponent < 0)  // integer powers truncate
    return base == 1 ? 1.0 : base == -1 ? (std::fmod(exponent, 2.0) == 0 ? 1.0 : -1.0) : 0.0;
  return std::pow(base, exponent);
}

// The exponent, where it was given as a number. A tensor's value is not read: neither device nor dry run has it here.
std::optional<Scalar> constant_exponent(const Vjp& v) {
  const Tensor& exponent = v.input(1);
  if (!(exponent.impl().flags & internal::TensorImpl::kWrappedNumber)) return {};
  return exponent.item_scalar();
}

// On the host, which knows the value of a number also in a dry run.
Scalar less_one(const Scalar& s) {
  if (s.kind() == Scalar::Kind::kComplex) return s.value() - 1.0;
  if (s.kind() == Scalar::Kind::kReal) return s.real() - 1;
  return s.to<int64_t>() - 1;
}

Tensor base_gradient(const Vjp& v) {
  const Tensor& g = v.cotangent();
  const Tensor &base = v.input(0), &exponent = v.input(1);
  if (const std::optional<Scalar> constant = constant_exponent(v)) {
    if (constant->value() == 0.0) return zeros_like(g);
    if (constant->value() == 1.0) return g;
    const Tensor power = constant->value() == 2.0 ? base : pow(base, wrap_number(less_one(*constant), base));
    return mul(mul(g, conj(power)), internal::conjugate(*constant));
  }
  const Tensor slope = mul(exponent, pow(base, sub(exponent, 1)));
  // x^0 is constant, also at x = 0 where x^-1 is infinite.
  return mul(g, conj(where(exponent == Scalar(0), wrap_number(0, slope), slope)));
}

Tensor exponent_gradient(const Vjp& v) {
  const Tensor &base = v.input(0), &exponent = v.input(1);
  const Tensor slope = mul(v.output(), log(base.to(v.output_dtype())));
  // 0^e is constant for e >= 0, where log(0) is infinite.
  Tensor constant = base == Scalar(0);
  if (!exponent.is_complex()) constant = mul(constant, exponent >= Scalar(0));
  return mul(v.cotangent(), conj(where(constant, wrap_number(0, slope), slope)));
}

constexpr OpDef kPow{.name = "pow",
                     .inputs = 2,
                     .dtypes = dtype_rules::promote,
                     .domain = kNumericDTypes,
                     .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1) | saves_output()},
                     .vjp =
                         [](Vjp& v) {
                           if (v.needs(0)) v.grad(0) = base_gradient(v);
                           if (v.needs(1)) v.grad(1) = exponent_gradient(v);
                         },
                     .reference = {.element = pow_reference}};
OpSlot pow_slot{kPow, "pointwise"};

}  // namespace

Tensor pow(const Tensor& base, const Tensor& exponent) { return call(pow_slot, {&base, &exponent}); }
Tensor pow(const Tensor& base, const Scalar& exponent) { return call_with_number(pow_slot, base, exponent); }
Tensor pow(const Scalar& base, const Tensor& exponent) { return pow(wrap_number(base, exponent), exponent); }
Tensor& pow_out(Tensor& out, const Tensor& base, const Tensor& exponent) {
  return write_out(pow_slot, out, {&base, &exponent});
}
Tensor& pow_out(Tensor& out, const Tensor& base, const Scalar& exponent) {
  return write_out(pow_slot, out, base, exponent);
}
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent) {
  return pow_out(out, wrap_number(base, exponent), exponent);
}

// --- Methods.

Tensor Tensor::pow(const Tensor& exponent) const { return vellum::pow(*this, exponent); }
Tensor Tensor::pow(const Scalar& exponent) const { return vellum::pow(*this, exponent); }
Tensor& Tensor::pow_(const Tensor& exponent) { return write_self(pow_slot, *this, {this, &exponent}); }
Tensor& Tensor::pow_(const Scalar& exponent) { return write_self(pow_slot, *this, exponent); }

}  // namespace vellum
