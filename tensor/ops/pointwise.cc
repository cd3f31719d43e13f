#include <complex>

#include "vellum/device/error.h"
#include "vellum/tensor/half.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using reference::Complex;
using reference::real_or_complex;

using internal::call_with_number;
using internal::kNumericDTypes;
using internal::write_out;
using internal::write_self;

const AlphaAttrs kAlphaOne;

DTypes alpha_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote(call);
  internal::check_factor(call, "alpha", call.attributes<AlphaAttrs>().alpha, types.compute);
  return types;
}

constexpr OpDef kAdd{.name = "add",
                     .inputs = 2,
                     .dtypes = alpha_dtypes,
                     .attrs = attrs_type<AlphaAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           if (v.needs(0)) v.grad(0) = v.cotangent();
                           if (v.needs(1))
                             v.grad(1) = internal::times_conjugate(v.cotangent(), v.attributes<AlphaAttrs>().alpha);
                         },
                     .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                       const Complex sum = x[0] + call.attributes<AlphaAttrs>().alpha.value() * x[1];
                       return call.compute == kBool ? Complex(sum != 0.0) : sum;
                     }}};
OpSlot add_slot{kAdd, "pointwise"};

constexpr OpDef kSub{.name = "sub",
                     .inputs = 2,
                     .dtypes = alpha_dtypes,
                     .domain = kNumericDTypes,
                     .attrs = attrs_type<AlphaAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           if (v.needs(0)) v.grad(0) = v.cotangent();
                           if (v.needs(1))
                             v.grad(1) =
                                 neg(internal::times_conjugate(v.cotangent(), v.attributes<AlphaAttrs>().alpha));
                         },
                     .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                       return x[0] - call.attributes<AlphaAttrs>().alpha.value() * x[1];
                     }}};
OpSlot sub_slot{kSub, "pointwise"};

constexpr OpDef kMul{.name = "mul",
                     .inputs = 2,
                     .dtypes = dtype_rules::promote,
                     .saves = {saves_input(1), saves_input(0)},
                     .vjp =
                         [](Vjp& v) {
                           if (v.needs(0)) v.grad(0) = mul(v.cotangent(), conj(v.input(1)));
                           if (v.needs(1)) v.grad(1) = mul(v.cotangent(), conj(v.input(0)));
                         },
                     .reference = real_or_complex([](auto a, auto b) { return a * b; })};
OpSlot mul_slot{kMul, "pointwise"};

// The divisor's gradient reads the quotient rather than the dividend, so that div_ needs no copy of self.
constexpr OpDef kDiv{.name = "div",
                     .inputs = 2,
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_input(1), saves_input(1) | saves_output()},
                     .vjp =
                         [](Vjp& v) {
                           const Tensor quotient = div(v.cotangent(), conj(v.input(1)));
                           if (v.needs(0)) v.grad(0) = quotient;
                           if (v.needs(1)) v.grad(1) = neg(mul(quotient, conj(v.output())));
                         },
                     .reference = real_or_complex([](auto a, auto b) { return a / b; })};
OpSlot div_slot{kDiv, "pointwise"};

constexpr OpDef kNeg{.name = "neg",
                     .dtypes = dtype_rules::promote,
                     .domain = kNumericDTypes,
                     .vjp = [](Vjp& v) { v.grad() = neg(v.cotangent()); },
                     .reference = real_or_complex([](auto x) { return -x; })};
OpSlot neg_slot{kNeg, "pointwise"};

constexpr OpDef kConj{.name = "conj",
                      .dtypes = dtype_rules::promote,
                      .domain = kComplexDTypes,
                      .vjp = [](Vjp& v) { v.grad() = conj(v.cotangent()); },
                      .reference = {.element = [](const Complex* x, const RefCall&) { return std::conj(x[0]); }}};
OpSlot conj_slot{kConj, "pointwise"};

DTypes complex_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote_integers_to_float(call);
  return {types.compute, to_complex(types.compute)};
}

// Saves nothing: neither gradient reads a plane.
constexpr OpDef kComplex{
    .name = "complex",
    .inputs = 2,
    .dtypes = complex_dtypes,
    .domain = DTypeSet(kFloat32) | DTypeSet(kFloat64),
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = v.cotangent().real();
          if (v.needs(1)) v.grad(1) = v.cotangent().imag();
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return Complex(x[0].real(), x[1].real()); }}};
OpSlot complex_slot{kComplex, "pointwise"};

DTypes where_dtypes(const OpCall& call) {
  if (call.input(0).dtype() != kBool)
    throw_error<DTypeError>("where: the condition must be bool, it is ", call.input(0).dtype(), "; compare it first");
  return dtype_rules::promote(call);
}

constexpr OpDef kWhere{
    .name = "where",
    .inputs = 3,
    .cast_inputs = 0b110,
    .dtypes = where_dtypes,
    .saves = {saves_nothing(), saves_input(0), saves_input(0)},
    .vjp =
        [](Vjp& v) {
          const Tensor zero = wrap_number(0, v.cotangent());
          if (v.needs(1)) v.grad(1) = where(v.input(0), v.cotangent(), zero);
          if (v.needs(2)) v.grad(2) = where(v.input(0), zero, v.cotangent());
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return x[0] != 0.0 ? x[1] : x[2]; }}};
OpSlot where_slot{kWhere, "pointwise"};

}  // namespace

namespace {

bool changes_in(const Scalar& number, DType half) {
  const double value = number.real();
  return half == kFloat16    ? double(float(float16(float(value)))) != value
         : half == kBFloat16 ? double(float(bfloat16(float(value)))) != value
                             : false;
}

// A number that a half dtype would round is taken in float32, as PyTorch does: x * 0.999 is not x.
bool is_rounded(const Scalar& number, const Tensor& x) {
  return number.kind() != Scalar::Kind::kComplex && changes_in(number, x.dtype());
}

Tensor with_number(OpSlot& slot, const Tensor& x, const Scalar& number, const void* attrs = nullptr) {
  if (!is_rounded(number, x)) return call_with_number(slot, x, number, attrs);
  return call_with_number(slot, x.to(kFloat32), number, attrs).to(x.dtype());
}

Tensor& write_number(OpSlot& slot, Tensor& self, const Scalar& number, const void* attrs = nullptr) {
  if (!is_rounded(number, self)) return write_self(slot, self, number, attrs);
  return self.copy_(call_with_number(slot, self.to(kFloat32), number, attrs));
}

Tensor& write_out_with_number(OpSlot& slot, Tensor& out, const Tensor& x, const Scalar& number,
                              const void* attrs = nullptr) {
  if (!is_rounded(number, x)) return write_out(slot, out, x, number, attrs);
  return internal::write_composed(slot.def().name.data(), out, {&x},
                                  [&] { return with_number(slot, x, number, attrs); });
}

// The half dtype that a sum whose alpha it would round is brought back to; undefined where alpha stays what it is.
DType half_sum(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (alpha.kind() == Scalar::Kind::kComplex || alpha.real() == 1) return DType::kUndefined;
  const Tensor* operands[] = {&a, &b};
  const DType type = a.dtype() == b.dtype() ? a.dtype() : result_type(operands);
  return changes_in(alpha, type) ? type : DType::kUndefined;
}

Tensor wide_sum(OpSlot& slot, const Tensor& a, const Tensor& b, const Scalar& alpha, DType half) {
  const AlphaAttrs attrs{alpha};
  const Tensor left = a.to(kFloat32), right = b.to(kFloat32);
  return call(slot, {&left, &right}, &attrs).to(half);
}

Tensor scaled_sum(OpSlot& slot, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (const DType half = half_sum(a, b, alpha); half != DType::kUndefined) return wide_sum(slot, a, b, alpha, half);
  const AlphaAttrs attrs{alpha};
  return call(slot, {&a, &b}, &attrs);
}

Tensor& add_scaled(OpSlot& slot, Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (const DType half = half_sum(self, other, alpha); half != DType::kUndefined)
    return self.copy_(wide_sum(slot, self, other, alpha, half));
  const AlphaAttrs attrs{alpha};
  return write_self(slot, self, {&self, &other}, &attrs);
}

Tensor& write_scaled_sum(OpSlot& slot, Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (const DType half = half_sum(a, b, alpha); half != DType::kUndefined)
    return internal::write_composed(slot.def().name.data(), out, {&a, &b},
                                    [&] { return wide_sum(slot, a, b, alpha, half); });
  const AlphaAttrs attrs{alpha};
  return write_out(slot, out, {&a, &b}, &attrs);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) { return scaled_sum(add_slot, a, b, alpha); }
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha) { return scaled_sum(sub_slot, a, b, alpha); }
Tensor mul(const Tensor& a, const Tensor& b) { return call(mul_slot, {&a, &b}); }
Tensor div(const Tensor& a, const Tensor& b) { return call(div_slot, {&a, &b}); }
Tensor add(const Tensor& a, const Scalar& b) { return with_number(add_slot, a, b, &kAlphaOne); }
Tensor sub(const Tensor& a, const Scalar& b) { return with_number(sub_slot, a, b, &kAlphaOne); }
Tensor mul(const Tensor& a, const Scalar& b) { return with_number(mul_slot, a, b); }
Tensor div(const Tensor& a, const Scalar& b) { return with_number(div_slot, a, b); }
Tensor neg(const Tensor& x) { return call(neg_slot, {&x}); }
Tensor conj(const Tensor& x) { return x.is_complex() ? call(conj_slot, {&x}) : x; }
Tensor complex(const Tensor& real, const Tensor& imag) { return call(complex_slot, {&real, &imag}); }
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return call(where_slot, {&condition, &a, &b});
}

Tensor operator-(const Scalar& a, const Tensor& b) {
  return is_rounded(a, b) ? (a - b.to(kFloat32)).to(b.dtype()) : sub(wrap_number(a, b), b);
}
Tensor operator/(const Scalar& a, const Tensor& b) {
  return is_rounded(a, b) ? (a / b.to(kFloat32)).to(b.dtype()) : div(wrap_number(a, b), b);
}

Tensor& neg_out(Tensor& out, const Tensor& x) { return write_out(neg_slot, out, {&x}); }
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return write_scaled_sum(add_slot, out, a, b, alpha);
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return write_scaled_sum(sub_slot, out, a, b, alpha);
}
Tensor& complex_out(Tensor& out, const Tensor& real, const Tensor& imag) {
  return write_out(complex_slot, out, {&real, &imag});
}
Tensor& where_out(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  return write_out(where_slot, out, {&condition, &a, &b});
}
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(mul_slot, out, {&a, &b}); }
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(div_slot, out, {&a, &b}); }
Tensor& add_out(Tensor& out, const Tensor& a, const Scalar& b) {
  return write_out_with_number(add_slot, out, a, b, &kAlphaOne);
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Scalar& b) {
  return write_out_with_number(sub_slot, out, a, b, &kAlphaOne);
}
Tensor& mul_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out_with_number(mul_slot, out, a, b); }
Tensor& div_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out_with_number(div_slot, out, a, b); }

// --- Methods.

Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return vellum::add(*this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const { return vellum::sub(*this, other, alpha); }
Tensor Tensor::mul(const Tensor& other) const { return vellum::mul(*this, other); }
Tensor Tensor::div(const Tensor& other) const { return vellum::div(*this, other); }
Tensor Tensor::add(const Scalar& other) const { return vellum::add(*this, other); }
Tensor Tensor::sub(const Scalar& other) const { return vellum::sub(*this, other); }
Tensor Tensor::mul(const Scalar& other) const { return vellum::mul(*this, other); }
Tensor Tensor::div(const Scalar& other) const { return vellum::div(*this, other); }
Tensor Tensor::neg() const { return vellum::neg(*this); }
Tensor Tensor::conj() const { return vellum::conj(*this); }

Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) { return add_scaled(add_slot, *this, other, alpha); }
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) { return add_scaled(sub_slot, *this, other, alpha); }
Tensor& Tensor::neg_() { return write_self(neg_slot, *this); }
Tensor& Tensor::mul_(const Tensor& other) { return write_self(mul_slot, *this, {this, &other}); }
Tensor& Tensor::div_(const Tensor& other) { return write_self(div_slot, *this, {this, &other}); }
Tensor& Tensor::add_(const Scalar& other) { return write_number(add_slot, *this, other, &kAlphaOne); }
Tensor& Tensor::sub_(const Scalar& other) { return write_number(sub_slot, *this, other, &kAlphaOne); }
Tensor& Tensor::mul_(const Scalar& other) { return write_number(mul_slot, *this, other); }
Tensor& Tensor::div_(const Scalar& other) { return write_number(div_slot, *this, other); }

}  // namespace vellum
