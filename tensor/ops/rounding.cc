#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::kNumericDTypes;
using internal::kNumericRealDTypes;
using internal::write_out;
using internal::write_self;
using internal::zero_vjp;
using reference::Complex;
using reference::real;

DTypes abs_dtypes(const OpCall& call) {
  const DType compute = dtype_rules::promote(call).compute;
  return {compute, to_real(compute)};
}

constexpr OpDef kAbs{
    .name = "abs",
    .dtypes = abs_dtypes,
    .domain = kNumericDTypes,
    .saves = {saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), sgn(v.input())); },
    .reference = {.element = [](const Complex* x, const RefCall&) { return Complex(std::abs(x[0])); }}};
OpSlot abs_slot{kAbs, "pointwise"};

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }  // of NaN it is 0

constexpr OpDef kSign{.name = "sign",
                      .dtypes = dtype_rules::promote,
                      .domain = kRealDTypes,
                      .vjp = zero_vjp,
                      .reference = real([](double x) { return sign_of(x); })};
OpSlot sign_slot{kSign, "pointwise"};

// Of complex numbers z / |z|, which changes with the direction of z alone.
void sgn_vjp(Vjp& v) {
  const Tensor& z = v.input();
  if (!z.is_complex()) return zero_vjp(v);
  const Tensor s = sgn(z);
  const Tensor along = mul(s, mul(v.cotangent(), conj(s)).real());
  const Tensor across = div(sub(v.cotangent(), along), abs(z));
  v.grad() = where(z == Scalar(0), wrap_number(0, across), across);
}

constexpr OpDef kSgn{.name = "sgn",
                     .dtypes = dtype_rules::promote,
                     .saves = {saves_input(0)},
                     .vjp = sgn_vjp,
                     .reference = {.element = [](const Complex* x, const RefCall& call) {
                       if (!is_complex(call.compute)) return Complex(sign_of(x[0].real()));
                       return x[0] == 0.0 ? x[0] : x[0] / std::abs(x[0]);
                     }}};
OpSlot sgn_slot{kSgn, "pointwise"};

constexpr OpDef kFloor{.name = "floor",
                       .dtypes = dtype_rules::promote,
                       .domain = kNumericRealDTypes,
                       .vjp = zero_vjp,
                       .reference = real([](double x) { return std::floor(x); })};
OpSlot floor_slot{kFloor, "pointwise"};

constexpr OpDef kCeil{.name = "ceil",
                      .dtypes = dtype_rules::promote,
                      .domain = kNumericRealDTypes,
                      .vjp = zero_vjp,
                      .reference = real([](double x) { return std::ceil(x); })};
OpSlot ceil_slot{kCeil, "pointwise"};

constexpr OpDef kTrunc{.name = "trunc",
                       .dtypes = dtype_rules::promote,
                       .domain = kNumericRealDTypes,
                       .vjp = zero_vjp,
                       .reference = real([](double x) { return std::trunc(x); })};
OpSlot trunc_slot{kTrunc, "pointwise"};

// Half to even.
double rounded(double x) {
  const double below = std::floor(x), fraction = x - below;
  if (fraction != 0.5) return fraction < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

DTypes round_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote(call);
  if (is_integral(types.compute) && call.attributes<RoundAttrs>().decimals != 0)
    throw_error<DTypeError>("round: decimals of integers (", types.compute,
                            ") are not defined; convert with to(dtype)");
  return types;
}

constexpr OpDef kRound{.name = "round",
                       .dtypes = round_dtypes,
                       .domain = kNumericRealDTypes,
                       .attrs = attrs_type<RoundAttrs>,
                       .vjp = zero_vjp,
                       .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
                         const double scale = std::pow(10.0, double(call.attributes<RoundAttrs>().decimals));
                         return std::isfinite(x[0].real()) ? rounded(x[0].real() * scale) / scale : x[0].real();
                       }}};
OpSlot round_slot{kRound, "pointwise"};

}  // namespace

Tensor abs(const Tensor& x) { return call(abs_slot, {&x}); }
Tensor sign(const Tensor& x) { return call(sign_slot, {&x}); }
Tensor sgn(const Tensor& x) { return call(sgn_slot, {&x}); }
Tensor floor(const Tensor& x) { return call(floor_slot, {&x}); }
Tensor ceil(const Tensor& x) { return call(ceil_slot, {&x}); }
Tensor trunc(const Tensor& x) { return call(trunc_slot, {&x}); }

Tensor& abs_out(Tensor& out, const Tensor& x) { return write_out(abs_slot, out, {&x}); }
Tensor& sign_out(Tensor& out, const Tensor& x) { return write_out(sign_slot, out, {&x}); }
Tensor& sgn_out(Tensor& out, const Tensor& x) { return write_out(sgn_slot, out, {&x}); }
Tensor& floor_out(Tensor& out, const Tensor& x) { return write_out(floor_slot, out, {&x}); }
Tensor& ceil_out(Tensor& out, const Tensor& x) { return write_out(ceil_slot, out, {&x}); }
Tensor& trunc_out(Tensor& out, const Tensor& x) { return write_out(trunc_slot, out, {&x}); }

Tensor round(const Tensor& x, int64_t decimals) {
  const RoundAttrs attrs{decimals};
  return call(round_slot, {&x}, &attrs);
}
Tensor& round_out(Tensor& out, const Tensor& x, int64_t decimals) {
  const RoundAttrs attrs{decimals};
  return write_out(round_slot, out, {&x}, &attrs);
}

// --- Methods.

Tensor Tensor::abs() const { return vellum::abs(*this); }
Tensor Tensor::sign() const { return vellum::sign(*this); }
Tensor Tensor::sgn() const { return vellum::sgn(*this); }
Tensor Tensor::floor() const { return vellum::floor(*this); }
Tensor Tensor::ceil() const { return vellum::ceil(*this); }
Tensor Tensor::trunc() const { return vellum::trunc(*this); }
Tensor& Tensor::abs_() {
  if (is_complex()) throw_error<DTypeError>("abs_: the magnitude of ", dtype(), " is real; use abs");
  return write_self(abs_slot, *this);
}
Tensor& Tensor::sign_() { return write_self(sign_slot, *this); }
Tensor& Tensor::sgn_() { return write_self(sgn_slot, *this); }
Tensor& Tensor::floor_() { return write_self(floor_slot, *this); }
Tensor& Tensor::ceil_() { return write_self(ceil_slot, *this); }
Tensor& Tensor::trunc_() { return write_self(trunc_slot, *this); }
Tensor Tensor::round(int64_t decimals) const { return vellum::round(*this, decimals); }
Tensor& Tensor::round_(int64_t decimals) {
  const RoundAttrs attrs{decimals};
  return write_self(round_slot, *this, &attrs);
}

}  // namespace vellum
