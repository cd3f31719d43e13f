#include <cmath>
#include <string_view>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::call_with_number;
using internal::kNumericRealDTypes;
using internal::write_out;
using internal::write_self;

constexpr OpDef kDivTrunc{.name = "div_trunc",
                          .inputs = 2,
                          .dtypes = dtype_rules::promote,
                          .domain = kNumericRealDTypes,
                          .vjp = internal::zero_vjp,
                          .reference = reference::real([](double a, double b) { return std::trunc(a / b); })};
OpSlot div_trunc_slot{kDivTrunc, "pointwise"};

constexpr OpDef kDivFloor{.name = "div_floor",
                          .inputs = 2,
                          .dtypes = dtype_rules::promote,
                          .domain = kNumericRealDTypes,
                          .vjp = internal::zero_vjp,
                          .reference = reference::real([](double a, double b) { return std::floor(a / b); })};
OpSlot div_floor_slot{kDivFloor, "pointwise"};

// a less a whole number of b, which is constant almost everywhere.
constexpr OpDef kFmod{.name = "fmod",
                      .inputs = 2,
                      .dtypes = dtype_rules::promote,
                      .domain = kNumericRealDTypes,
                      .saves = {saves_nothing(), saves_input(0) | saves_input(1)},
                      .vjp =
                          [](Vjp& v) {
                            if (v.needs(0)) v.grad(0) = v.cotangent();
                            if (v.needs(1)) v.grad(1) = neg(mul(v.cotangent(), div(v.input(0), v.input(1), "trunc")));
                          },
                      .reference = reference::real([](double a, double b) { return std::fmod(a, b); })};
OpSlot fmod_slot{kFmod, "pointwise"};

constexpr OpDef kRemainder{.name = "remainder",
                           .inputs = 2,
                           .dtypes = dtype_rules::promote,
                           .domain = kNumericRealDTypes,
                           .saves = {saves_nothing(), saves_input(0) | saves_input(1)},
                           .vjp =
                               [](Vjp& v) {
                                 if (v.needs(0)) v.grad(0) = v.cotangent();
                                 if (v.needs(1))
                                   v.grad(1) = neg(mul(v.cotangent(), div(v.input(0), v.input(1), "floor")));
                               },
                           .reference = reference::real([](double a, double b) {
                             const double r = std::fmod(a, b);
                             return r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
                           })};
OpSlot remainder_slot{kRemainder, "pointwise"};

OpSlot& rounded_division(std::string_view mode) {
  if (mode == "trunc") return div_trunc_slot;
  if (mode == "floor") return div_floor_slot;
  throw_error<InvalidArgumentError>("div: rounding_mode must be \"trunc\" or \"floor\", it is \"", mode, "\"");
}

}  // namespace

Tensor div(const Tensor& a, const Tensor& b, std::string_view rounding_mode) {
  return call(rounded_division(rounding_mode), {&a, &b});
}
Tensor div(const Tensor& a, const Scalar& b, std::string_view rounding_mode) {
  return call_with_number(rounded_division(rounding_mode), a, b);
}
Tensor fmod(const Tensor& a, const Tensor& b) { return call(fmod_slot, {&a, &b}); }
Tensor fmod(const Tensor& a, const Scalar& b) { return call_with_number(fmod_slot, a, b); }
Tensor remainder(const Tensor& a, const Tensor& b) { return call(remainder_slot, {&a, &b}); }
Tensor remainder(const Tensor& a, const Scalar& b) { return call_with_number(remainder_slot, a, b); }
Tensor remainder(const Scalar& a, const Tensor& b) {
  const Tensor wrapped = wrap_number(a, b);
  return remainder(wrapped, b);
}

Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b, std::string_view rounding_mode) {
  return write_out(rounded_division(rounding_mode), out, {&a, &b});
}
Tensor& div_out(Tensor& out, const Tensor& a, const Scalar& b, std::string_view rounding_mode) {
  return write_out(rounded_division(rounding_mode), out, a, b);
}
Tensor& fmod_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(fmod_slot, out, {&a, &b}); }
Tensor& fmod_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(fmod_slot, out, a, b); }
Tensor& remainder_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return write_out(remainder_slot, out, {&a, &b});
}
Tensor& remainder_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(remainder_slot, out, a, b); }

// --- Methods.

Tensor Tensor::div(const Tensor& other, std::string_view rounding_mode) const {
  return vellum::div(*this, other, rounding_mode);
}
Tensor Tensor::div(const Scalar& other, std::string_view rounding_mode) const {
  return vellum::div(*this, other, rounding_mode);
}
Tensor Tensor::fmod(const Tensor& other) const { return vellum::fmod(*this, other); }
Tensor Tensor::fmod(const Scalar& other) const { return vellum::fmod(*this, other); }
Tensor Tensor::remainder(const Tensor& other) const { return vellum::remainder(*this, other); }
Tensor Tensor::remainder(const Scalar& other) const { return vellum::remainder(*this, other); }
Tensor& Tensor::div_(const Tensor& other, std::string_view rounding_mode) {
  return write_self(rounded_division(rounding_mode), *this, {this, &other});
}
Tensor& Tensor::div_(const Scalar& other, std::string_view rounding_mode) {
  return write_self(rounded_division(rounding_mode), *this, other);
}
Tensor& Tensor::fmod_(const Tensor& other) { return write_self(fmod_slot, *this, {this, &other}); }
Tensor& Tensor::fmod_(const Scalar& other) { return write_self(fmod_slot, *this, other); }
Tensor& Tensor::remainder_(const Tensor& other) { return write_self(remainder_slot, *this, {this, &other}); }
Tensor& Tensor::remainder_(const Scalar& other) { return write_self(remainder_slot, *this, other); }

}  // namespace vellum
