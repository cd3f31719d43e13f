#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/recorder.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::call_with_number;
using internal::write_out;
using internal::write_self;
using reference::Complex;

// --- Comparisons

template <typename F>
constexpr OpDef comparison(std::string_view name, F compare) {
  return {.name = name,
          .inputs = 2,
          .dtypes = dtype_rules::compare,
          .domain = kRealDTypes,
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
constexpr OpDef kLt = comparison("lt", [](double a, double b) { return double(a < b); });
constexpr OpDef kLe = comparison("le", [](double a, double b) { return double(a <= b); });
constexpr OpDef kGt = comparison("gt", [](double a, double b) { return double(a > b); });
constexpr OpDef kGe = comparison("ge", [](double a, double b) { return double(a >= b); });
OpSlot eq_slot{kEq, "pointwise"}, ne_slot{kNe, "pointwise"}, lt_slot{kLt, "pointwise"}, le_slot{kLe, "pointwise"},
    gt_slot{kGt, "pointwise"}, ge_slot{kGe, "pointwise"};

// --- Logic: whatever is not 0 is true, NaN too.

constexpr OpDef logical(std::string_view name, int8_t inputs,
                        std::complex<double> (*element)(const Complex*, const RefCall&)) {
  return {.name = name, .inputs = inputs, .dtypes = dtype_rules::compare, .reference = {.element = element}};
}

constexpr OpDef kLogicalAnd =
    logical("logical_and", 2, [](const Complex* x, const RefCall&) { return Complex(x[0] != 0.0 && x[1] != 0.0); });
constexpr OpDef kLogicalOr =
    logical("logical_or", 2, [](const Complex* x, const RefCall&) { return Complex(x[0] != 0.0 || x[1] != 0.0); });
constexpr OpDef kLogicalXor =
    logical("logical_xor", 2, [](const Complex* x, const RefCall&) { return Complex((x[0] != 0.0) != (x[1] != 0.0)); });
constexpr OpDef kLogicalNot =
    logical("logical_not", 1, [](const Complex* x, const RefCall&) { return Complex(x[0] == 0.0); });
OpSlot logical_and_slot{kLogicalAnd, "pointwise"}, logical_or_slot{kLogicalOr, "pointwise"},
    logical_xor_slot{kLogicalXor, "pointwise"}, logical_not_slot{kLogicalNot, "pointwise"};

// --- Kinds of numbers. A complex one is NaN or infinite if a part is.

constexpr OpDef kIsNan = logical("isnan", 1, [](const Complex* x, const RefCall&) {
  return Complex(std::isnan(x[0].real()) || std::isnan(x[0].imag()));
});
constexpr OpDef kIsInf = logical("isinf", 1, [](const Complex* x, const RefCall&) {
  return Complex(std::isinf(x[0].real()) || std::isinf(x[0].imag()));
});
constexpr OpDef kIsFinite = logical("isfinite", 1, [](const Complex* x, const RefCall&) {
  return Complex(std::isfinite(x[0].real()) && std::isfinite(x[0].imag()));
});
OpSlot isnan_slot{kIsNan, "pointwise"}, isinf_slot{kIsInf, "pointwise"}, isfinite_slot{kIsFinite, "pointwise"};

// --- masked_fill

// The value is of self's category or a lower one; the mask keeps its dtype.
DTypes masked_fill_dtypes(const OpCall& call) {
  const Tensor &self = call.input(0), &mask = call.input(1), &value = call.input(2);
  if (mask.dtype() != kBool)
    throw_error<DTypeError>("masked_fill: the mask must be bool, it is ", mask.dtype(), "; compare it first");
  if (value.dim() > 0)
    throw_error<ShapeError>("masked_fill: the value must be a number or of rank 0, it has shape ", value.shape(),
                            "; use where");
  const DType own = self.dtype();
  if (is_complex(value.dtype()) > is_complex(own) || (is_floating(value.dtype()) && is_integral(own)) ||
      (value.dtype() != kBool && own == kBool))
    throw_error<DTypeError>("masked_fill: a value of ", value.dtype(), " does not fit into ", own,
                            "; convert one of them with to(dtype)");
  return {own, own};
}

constexpr OpDef kMaskedFill{
    .name = "masked_fill",
    .inputs = 3,
    .cast_inputs = 0b101,
    .dtypes = masked_fill_dtypes,
    .saves = {saves_input(1), saves_nothing(), saves_input(1)},
    .vjp =
        [](Vjp& v) {
          const Tensor& mask = v.input(1);
          if (v.needs(0)) v.grad(0) = masked_fill(v.cotangent(), mask, 0);
          if (v.needs(2)) v.grad(2) = where(mask, v.cotangent(), wrap_number(0, v.cotangent()));
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return x[1] != 0.0 ? x[2] : x[0]; }}};
OpSlot masked_fill_slot{kMaskedFill, "pointwise"};

// Truth values in self's own dtype. They have no gradient, so that a history of self ends here; a write of fresh values
// says that.
Tensor& write_truth(OpSlot& slot, Tensor& self, std::initializer_list<const Tensor*> inputs) {
  const bool has_history = self.requires_grad() || (self.is_view() && self.base().requires_grad());
  if (!(thread_state().mode & kModeGrad) || !has_history) return write_self(slot, self, inputs);
  recorder().check_in_place(slot.def(), self, true);
  const Tensor truth = call(slot, inputs);
  if (truth.shape() != self.shape())
    throw_error<ShapeError>(slot.def().name, "_: the result has shape ", truth.shape(),
                            ", which does not fit self of shape ", self.shape(), "; use the form that is not in place");
  return self.copy_(truth);
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return call(eq_slot, {&a, &b}); }
Tensor ne(const Tensor& a, const Tensor& b) { return call(ne_slot, {&a, &b}); }
Tensor lt(const Tensor& a, const Tensor& b) { return call(lt_slot, {&a, &b}); }
Tensor le(const Tensor& a, const Tensor& b) { return call(le_slot, {&a, &b}); }
Tensor gt(const Tensor& a, const Tensor& b) { return call(gt_slot, {&a, &b}); }
Tensor ge(const Tensor& a, const Tensor& b) { return call(ge_slot, {&a, &b}); }
Tensor eq(const Tensor& a, const Scalar& b) { return call_with_number(eq_slot, a, b); }
Tensor ne(const Tensor& a, const Scalar& b) { return call_with_number(ne_slot, a, b); }
Tensor lt(const Tensor& a, const Scalar& b) { return call_with_number(lt_slot, a, b); }
Tensor le(const Tensor& a, const Scalar& b) { return call_with_number(le_slot, a, b); }
Tensor gt(const Tensor& a, const Scalar& b) { return call_with_number(gt_slot, a, b); }
Tensor ge(const Tensor& a, const Scalar& b) { return call_with_number(ge_slot, a, b); }
Tensor operator<(const Tensor& a, const Scalar& b) { return lt(a, b); }
Tensor operator<=(const Tensor& a, const Scalar& b) { return le(a, b); }
Tensor operator>(const Tensor& a, const Scalar& b) { return gt(a, b); }
Tensor operator>=(const Tensor& a, const Scalar& b) { return ge(a, b); }
Tensor operator==(const Tensor& a, const Scalar& b) { return eq(a, b); }
Tensor operator!=(const Tensor& a, const Scalar& b) { return ne(a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return call(logical_and_slot, {&a, &b}); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return call(logical_or_slot, {&a, &b}); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return call(logical_xor_slot, {&a, &b}); }
Tensor logical_not(const Tensor& x) { return call(logical_not_slot, {&x}); }
Tensor isnan(const Tensor& x) { return call(isnan_slot, {&x}); }
Tensor isinf(const Tensor& x) { return call(isinf_slot, {&x}); }
Tensor isfinite(const Tensor& x) { return call(isfinite_slot, {&x}); }
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return call(masked_fill_slot, {&x, &mask, &value});
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return masked_fill(x, mask, wrap_number(value, x));
}

Tensor& eq_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(eq_slot, out, {&a, &b}); }
Tensor& ne_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(ne_slot, out, {&a, &b}); }
Tensor& lt_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(lt_slot, out, {&a, &b}); }
Tensor& le_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(le_slot, out, {&a, &b}); }
Tensor& gt_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(gt_slot, out, {&a, &b}); }
Tensor& ge_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(ge_slot, out, {&a, &b}); }
Tensor& eq_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(eq_slot, out, a, b); }
Tensor& ne_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(ne_slot, out, a, b); }
Tensor& lt_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(lt_slot, out, a, b); }
Tensor& le_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(le_slot, out, a, b); }
Tensor& gt_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(gt_slot, out, a, b); }
Tensor& ge_out(Tensor& out, const Tensor& a, const Scalar& b) { return write_out(ge_slot, out, a, b); }
Tensor& logical_and_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return write_out(logical_and_slot, out, {&a, &b});
}
Tensor& logical_or_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return write_out(logical_or_slot, out, {&a, &b});
}
Tensor& logical_xor_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return write_out(logical_xor_slot, out, {&a, &b});
}
Tensor& logical_not_out(Tensor& out, const Tensor& x) { return write_out(logical_not_slot, out, {&x}); }

// --- Methods.

Tensor Tensor::eq(const Tensor& other) const { return vellum::eq(*this, other); }
Tensor Tensor::ne(const Tensor& other) const { return vellum::ne(*this, other); }
Tensor Tensor::lt(const Tensor& other) const { return vellum::lt(*this, other); }
Tensor Tensor::le(const Tensor& other) const { return vellum::le(*this, other); }
Tensor Tensor::gt(const Tensor& other) const { return vellum::gt(*this, other); }
Tensor Tensor::ge(const Tensor& other) const { return vellum::ge(*this, other); }
Tensor Tensor::eq(const Scalar& other) const { return vellum::eq(*this, other); }
Tensor Tensor::ne(const Scalar& other) const { return vellum::ne(*this, other); }
Tensor Tensor::lt(const Scalar& other) const { return vellum::lt(*this, other); }
Tensor Tensor::le(const Scalar& other) const { return vellum::le(*this, other); }
Tensor Tensor::gt(const Scalar& other) const { return vellum::gt(*this, other); }
Tensor Tensor::ge(const Scalar& other) const { return vellum::ge(*this, other); }
Tensor Tensor::logical_and(const Tensor& other) const { return vellum::logical_and(*this, other); }
Tensor Tensor::logical_or(const Tensor& other) const { return vellum::logical_or(*this, other); }
Tensor Tensor::logical_xor(const Tensor& other) const { return vellum::logical_xor(*this, other); }
Tensor Tensor::logical_not() const { return vellum::logical_not(*this); }
Tensor Tensor::isnan() const { return vellum::isnan(*this); }
Tensor Tensor::isinf() const { return vellum::isinf(*this); }
Tensor Tensor::isfinite() const { return vellum::isfinite(*this); }
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return vellum::masked_fill(*this, mask, value);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return vellum::masked_fill(*this, mask, value);
}

Tensor& Tensor::eq_(const Tensor& other) { return write_truth(eq_slot, *this, {this, &other}); }
Tensor& Tensor::ne_(const Tensor& other) { return write_truth(ne_slot, *this, {this, &other}); }
Tensor& Tensor::lt_(const Tensor& other) { return write_truth(lt_slot, *this, {this, &other}); }
Tensor& Tensor::le_(const Tensor& other) { return write_truth(le_slot, *this, {this, &other}); }
Tensor& Tensor::gt_(const Tensor& other) { return write_truth(gt_slot, *this, {this, &other}); }
Tensor& Tensor::ge_(const Tensor& other) { return write_truth(ge_slot, *this, {this, &other}); }
Tensor& Tensor::eq_(const Scalar& other) { return eq_(wrap_number(other, *this)); }
Tensor& Tensor::ne_(const Scalar& other) { return ne_(wrap_number(other, *this)); }
Tensor& Tensor::lt_(const Scalar& other) { return lt_(wrap_number(other, *this)); }
Tensor& Tensor::le_(const Scalar& other) { return le_(wrap_number(other, *this)); }
Tensor& Tensor::gt_(const Scalar& other) { return gt_(wrap_number(other, *this)); }
Tensor& Tensor::ge_(const Scalar& other) { return ge_(wrap_number(other, *this)); }
Tensor& Tensor::logical_and_(const Tensor& other) { return write_truth(logical_and_slot, *this, {this, &other}); }
Tensor& Tensor::logical_or_(const Tensor& other) { return write_truth(logical_or_slot, *this, {this, &other}); }
Tensor& Tensor::logical_xor_(const Tensor& other) { return write_truth(logical_xor_slot, *this, {this, &other}); }
Tensor& Tensor::logical_not_() { return write_truth(logical_not_slot, *this, {this}); }
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) {
  return write_self(masked_fill_slot, *this, {this, &mask, &value});
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) {
  return masked_fill_(mask, wrap_number(value, *this));
}

}  // namespace vellum
