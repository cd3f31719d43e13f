#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using reference::Complex;
using reference::real_or_complex;

constexpr DTypeSet kNumericDTypes{uint16_t(kAllDTypes.bits & ~DTypeSet(kBool).bits)};
constexpr DTypeSet kNumericRealDTypes{uint16_t(kRealDTypes.bits & ~DTypeSet(kBool).bits)};

const AlphaAttrs kAlphaOne;

bool is_one(const Scalar& alpha) { return alpha.value() == 1.0; }

Tensor scaled(const Tensor& g, const Scalar& alpha) {
  if (is_one(alpha)) return g;
  return alpha.kind() == Scalar::Kind::kComplex ? mul(g, Scalar(std::conj(alpha.value()))) : mul(g, alpha);
}

DTypes alpha_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote(call);
  const Scalar& alpha = call.attributes<AlphaAttrs>().alpha;
  const bool falls = (alpha.kind() == Scalar::Kind::kComplex && !is_complex(types.compute)) ||
                     (alpha.kind() == Scalar::Kind::kReal && is_integral(types.compute));
  if (falls)
    throw_error<DTypeError>(call.op.name, ": alpha ", alpha, " does not fit operands of ", types.compute,
                            "; give one of their category, or convert an operand");
  return types;
}

constexpr OpDef kAdd{.name = "add",
                     .inputs = 2,
                     .dtypes = alpha_dtypes,
                     .attrs = attrs_type<AlphaAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           if (v.needs(0)) v.grad(0) = v.cotangent();
                           if (v.needs(1)) v.grad(1) = scaled(v.cotangent(), v.attributes<AlphaAttrs>().alpha);
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
                           if (v.needs(1)) v.grad(1) = neg(scaled(v.cotangent(), v.attributes<AlphaAttrs>().alpha));
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

Complex pow_reference(const Complex* x, const RefCall& call) {
  if (is_complex(call.compute)) return x[1] == 0.0 ? Complex(1) : x[0] == 0.0 ? Complex(0) : std::pow(x[0], x[1]);
  const double base = x[0].real(), exponent = x[1].real();
  if (is_integral(call.compute) && exponent < 0)  // integer powers truncate
    return base == 1 ? 1.0 : base == -1 ? (std::fmod(exponent, 2.0) == 0 ? 1.0 : -1.0) : 0.0;
  return std::pow(base, exponent);
}

void pow_vjp(Vjp& v) {
  const Tensor& g = v.cotangent();
  const Tensor &base = v.input(0), &exponent = v.input(1);
  if (v.needs(0)) {
    const Tensor slope = mul(exponent, pow(base, sub(exponent, 1)));
    // x^0 is constant, also at x = 0 where x^-1 is infinite.
    v.grad(0) = mul(g, conj(where(exponent == Scalar(0), wrap_number(0, slope), slope)));
  }
  if (v.needs(1)) {
    const Tensor slope = mul(v.output(), log(base.to(v.output_dtype())));
    // 0^e is constant for e >= 0, where log(0) is infinite.
    Tensor constant = base == Scalar(0);
    if (!exponent.is_complex()) constant = mul(constant, exponent >= Scalar(0));
    v.grad(1) = mul(g, conj(where(constant, wrap_number(0, slope), slope)));
  }
}

constexpr OpDef kPow{.name = "pow",
                     .inputs = 2,
                     .dtypes = dtype_rules::promote,
                     .domain = kNumericDTypes,
                     .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1) | saves_output()},
                     .vjp = pow_vjp,
                     .reference = {.element = pow_reference}};
OpSlot pow_slot{kPow, "pointwise"};

constexpr OpDef kNeg{.name = "neg",
                     .dtypes = dtype_rules::promote,
                     .domain = kNumericDTypes,
                     .vjp = [](Vjp& v) { v.grad() = neg(v.cotangent()); },
                     .reference = real_or_complex([](auto x) { return -x; })};
OpSlot neg_slot{kNeg, "pointwise"};

constexpr OpDef kExp{.name = "exp",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_output()},
                     .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), conj(v.output())); },
                     .reference = real_or_complex([](auto x) { return std::exp(x); })};
OpSlot exp_slot{kExp, "pointwise"};

constexpr OpDef kLog{.name = "log",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_input(0)},
                     .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), conj(v.input())); },
                     .reference = real_or_complex([](auto x) { return std::log(x); })};
OpSlot log_slot{kLog, "pointwise"};

constexpr OpDef kSqrt{.name = "sqrt",
                      .dtypes = dtype_rules::promote_integers_to_float,
                      .domain = kDifferentiableDTypes,
                      .saves = {saves_output()},
                      .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), mul(conj(v.output()), 2)); },
                      .reference = real_or_complex([](auto x) { return std::sqrt(x); })};
OpSlot sqrt_slot{kSqrt, "pointwise"};

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

template <typename F>
constexpr OpDef comparison(std::string_view name, F compare, DTypeSet domain) {
  return {.name = name,
          .inputs = 2,
          .dtypes = dtype_rules::compare,
          .domain = domain,
          .reference = reference::real(compare)};
}

constexpr OpDef kEq{.name = "eq",
                    .inputs = 2,
                    .dtypes = dtype_rules::compare,
                    .reference = {.element = [](const Complex* x, const RefCall&) { return Complex(x[0] == x[1]); }}};
constexpr OpDef kNe{.name = "ne",
                    .inputs = 2,
                    .dtypes = dtype_rules::compare,
                    .reference = {.element = [](const Complex* x, const RefCall&) { return Complex(x[0] != x[1]); }}};
constexpr OpDef kLt = comparison(
    "lt", [](double a, double b) { return double(a < b); }, kRealDTypes);
constexpr OpDef kLe = comparison(
    "le", [](double a, double b) { return double(a <= b); }, kRealDTypes);
constexpr OpDef kGt = comparison(
    "gt", [](double a, double b) { return double(a > b); }, kRealDTypes);
constexpr OpDef kGe = comparison(
    "ge", [](double a, double b) { return double(a >= b); }, kRealDTypes);
OpSlot eq_slot{kEq, "pointwise"}, ne_slot{kNe, "pointwise"}, lt_slot{kLt, "pointwise"}, le_slot{kLe, "pointwise"},
    gt_slot{kGt, "pointwise"}, ge_slot{kGe, "pointwise"};

// A number beside a tensor: it promotes by category and is a 0-dimensional operand.
Tensor with_number(OpSlot& slot, const Tensor& x, const Scalar& number, const void* attrs = nullptr) {
  const Tensor wrapped = wrap_number(number, x);
  return call(slot, {&x, &wrapped}, attrs);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return call(add_slot, {&a, &b}, &attrs);
}
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return call(sub_slot, {&a, &b}, &attrs);
}
Tensor mul(const Tensor& a, const Tensor& b) { return call(mul_slot, {&a, &b}); }
Tensor div(const Tensor& a, const Tensor& b) { return call(div_slot, {&a, &b}); }
Tensor add(const Tensor& a, const Scalar& b) { return with_number(add_slot, a, b, &kAlphaOne); }
Tensor sub(const Tensor& a, const Scalar& b) { return with_number(sub_slot, a, b, &kAlphaOne); }
Tensor mul(const Tensor& a, const Scalar& b) { return with_number(mul_slot, a, b); }
Tensor div(const Tensor& a, const Scalar& b) { return with_number(div_slot, a, b); }
Tensor pow(const Tensor& base, const Tensor& exponent) { return call(pow_slot, {&base, &exponent}); }
Tensor pow(const Tensor& base, const Scalar& exponent) { return with_number(pow_slot, base, exponent); }
Tensor pow(const Scalar& base, const Tensor& exponent) { return pow(wrap_number(base, exponent), exponent); }
Tensor neg(const Tensor& x) { return call(neg_slot, {&x}); }
Tensor exp(const Tensor& x) { return call(exp_slot, {&x}); }
Tensor log(const Tensor& x) { return call(log_slot, {&x}); }
Tensor sqrt(const Tensor& x) { return call(sqrt_slot, {&x}); }
Tensor relu(const Tensor& x) { return call(relu_slot, {&x}); }
Tensor relu_backward(const Tensor& grad, const Tensor& output) { return call(relu_backward_slot, {&grad, &output}); }
Tensor conj(const Tensor& x) { return x.is_complex() ? call(conj_slot, {&x}) : x; }
Tensor complex(const Tensor& real, const Tensor& imag) { return call(complex_slot, {&real, &imag}); }
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return call(where_slot, {&condition, &a, &b});
}
Tensor eq(const Tensor& a, const Tensor& b) { return call(eq_slot, {&a, &b}); }
Tensor ne(const Tensor& a, const Tensor& b) { return call(ne_slot, {&a, &b}); }
Tensor lt(const Tensor& a, const Tensor& b) { return call(lt_slot, {&a, &b}); }
Tensor le(const Tensor& a, const Tensor& b) { return call(le_slot, {&a, &b}); }
Tensor gt(const Tensor& a, const Tensor& b) { return call(gt_slot, {&a, &b}); }
Tensor ge(const Tensor& a, const Tensor& b) { return call(ge_slot, {&a, &b}); }

Tensor operator-(const Scalar& a, const Tensor& b) { return sub(wrap_number(a, b), b); }
Tensor operator/(const Scalar& a, const Tensor& b) { return div(wrap_number(a, b), b); }
Tensor operator<(const Tensor& a, const Scalar& b) { return with_number(lt_slot, a, b); }
Tensor operator<=(const Tensor& a, const Scalar& b) { return with_number(le_slot, a, b); }
Tensor operator>(const Tensor& a, const Scalar& b) { return with_number(gt_slot, a, b); }
Tensor operator>=(const Tensor& a, const Scalar& b) { return with_number(ge_slot, a, b); }
Tensor operator==(const Tensor& a, const Scalar& b) { return with_number(eq_slot, a, b); }
Tensor operator!=(const Tensor& a, const Scalar& b) { return with_number(ne_slot, a, b); }

namespace {

Tensor& binary_out(OpSlot& slot, Tensor& out, const Tensor& a, const Tensor& b, const void* attrs = nullptr) {
  const Tensor* inputs[] = {&a, &b};
  call_out(slot, out, inputs, attrs);
  return out;
}

Tensor& unary_out(OpSlot& slot, Tensor& out, const Tensor& x) {
  const Tensor* inputs[] = {&x};
  call_out(slot, out, inputs);
  return out;
}

}  // namespace

Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return binary_out(add_slot, out, a, b, &attrs);
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return binary_out(sub_slot, out, a, b, &attrs);
}
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) { return binary_out(mul_slot, out, a, b); }
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b) { return binary_out(div_slot, out, a, b); }
Tensor& exp_out(Tensor& out, const Tensor& x) { return unary_out(exp_slot, out, x); }
Tensor& sqrt_out(Tensor& out, const Tensor& x) { return unary_out(sqrt_slot, out, x); }

// --- Methods.

Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return vellum::add(*this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const { return vellum::sub(*this, other, alpha); }
Tensor Tensor::mul(const Tensor& other) const { return vellum::mul(*this, other); }
Tensor Tensor::div(const Tensor& other) const { return vellum::div(*this, other); }
Tensor Tensor::add(const Scalar& other) const { return vellum::add(*this, other); }
Tensor Tensor::sub(const Scalar& other) const { return vellum::sub(*this, other); }
Tensor Tensor::mul(const Scalar& other) const { return vellum::mul(*this, other); }
Tensor Tensor::div(const Scalar& other) const { return vellum::div(*this, other); }
Tensor Tensor::pow(const Tensor& exponent) const { return vellum::pow(*this, exponent); }
Tensor Tensor::pow(const Scalar& exponent) const { return vellum::pow(*this, exponent); }
Tensor Tensor::neg() const { return vellum::neg(*this); }
Tensor Tensor::exp() const { return vellum::exp(*this); }
Tensor Tensor::log() const { return vellum::log(*this); }
Tensor Tensor::sqrt() const { return vellum::sqrt(*this); }
Tensor Tensor::relu() const { return vellum::relu(*this); }
Tensor Tensor::conj() const { return vellum::conj(*this); }
Tensor Tensor::eq(const Tensor& other) const { return vellum::eq(*this, other); }

namespace {

Tensor& in_place(OpSlot& slot, Tensor& self, const Tensor& other, const void* attrs = nullptr) {
  const Tensor* inputs[] = {&self, &other};
  call_in_place(slot, self, inputs, attrs);
  return self;
}

Tensor& in_place(OpSlot& slot, Tensor& self) {
  const Tensor* inputs[] = {&self};
  call_in_place(slot, self, inputs);
  return self;
}

}  // namespace

Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return in_place(add_slot, *this, other, &attrs);
}
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  return in_place(sub_slot, *this, other, &attrs);
}
Tensor& Tensor::mul_(const Tensor& other) { return in_place(mul_slot, *this, other); }
Tensor& Tensor::div_(const Tensor& other) { return in_place(div_slot, *this, other); }
Tensor& Tensor::add_(const Scalar& other) { return in_place(add_slot, *this, wrap_number(other, *this), &kAlphaOne); }
Tensor& Tensor::sub_(const Scalar& other) { return in_place(sub_slot, *this, wrap_number(other, *this), &kAlphaOne); }
Tensor& Tensor::mul_(const Scalar& other) { return in_place(mul_slot, *this, wrap_number(other, *this)); }
Tensor& Tensor::div_(const Scalar& other) { return in_place(div_slot, *this, wrap_number(other, *this)); }
Tensor& Tensor::relu_() { return in_place(relu_slot, *this); }
Tensor& Tensor::exp_() { return in_place(exp_slot, *this); }
Tensor& Tensor::sqrt_() { return in_place(sqrt_slot, *this); }

}  // namespace vellum
