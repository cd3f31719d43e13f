#include <algorithm>
#include <cmath>
#include <limits>

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

// NaN wins.
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }

// --- minimum, maximum. Equal operands share the gradient.

constexpr OpDef kMaximumBackward{.name = "maximum_backward",
                                 .inputs = 3,
                                 .dtypes = dtype_rules::promote,
                                 .domain = kFloatingDTypes,
                                 .saves = {saves_input(1) | saves_input(2)},
                                 .vjp =
                                     [](Vjp& v) {
                                       if (v.needs(0))
                                         v.grad(0) = maximum_backward(v.cotangent(), v.input(1), v.input(2));
                                     },
                                 .reference = {.element = [](const Complex* x, const RefCall&) {
                                   const double a = x[1].real(), b = x[2].real();
                                   return a == b ? x[0] / 2.0 : a < b ? Complex(0) : x[0];
                                 }}};
OpSlot maximum_backward_slot{kMaximumBackward, "pointwise"};

constexpr OpDef kMaximum{.name = "maximum",
                         .inputs = 2,
                         .dtypes = dtype_rules::promote,
                         .domain = kRealDTypes,
                         .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1)},
                         .vjp =
                             [](Vjp& v) {
                               if (v.needs(0)) v.grad(0) = maximum_backward(v.cotangent(), v.input(0), v.input(1));
                               if (v.needs(1)) v.grad(1) = maximum_backward(v.cotangent(), v.input(1), v.input(0));
                             },
                         .reference = reference::real([](double a, double b) { return larger(a, b); })};
OpSlot maximum_slot{kMaximum, "pointwise"};

// What is the smaller to one operand is the larger to the other.
constexpr OpDef kMinimum{.name = "minimum",
                         .inputs = 2,
                         .dtypes = dtype_rules::promote,
                         .domain = kRealDTypes,
                         .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1)},
                         .vjp =
                             [](Vjp& v) {
                               if (v.needs(0)) v.grad(0) = maximum_backward(v.cotangent(), v.input(1), v.input(0));
                               if (v.needs(1)) v.grad(1) = maximum_backward(v.cotangent(), v.input(0), v.input(1));
                             },
                         .reference = reference::real([](double a, double b) { return smaller(a, b); })};
OpSlot minimum_slot{kMinimum, "pointwise"};

// --- clamp between numbers. On a bound the gradient passes.

// Bounds promote as operands do.
DTypes clamp_dtypes(const OpCall& call) {
  const ClampAttrs& attrs = call.attributes<ClampAttrs>();
  DType type = call.input(0).dtype();
  for (const std::optional<Scalar>& bound : {attrs.min, attrs.max}) {
    if (!bound) continue;
    if (bound->kind() == Scalar::Kind::kComplex)
      throw_error<DTypeError>(call.op.name, ": a complex bound has no order; clamp the parts");
    if (is_integral(type) && bound->kind() == Scalar::Kind::kReal) type = kFloat32;
    if (type == kBool && bound->kind() == Scalar::Kind::kInteger) type = kInt64;
  }
  if (!call.op.domain.contains(type))
    throw_error<DTypeError>(call.op.name, ": not defined for dtype ", type, "; convert with to(dtype)");
  return {type, type};
}

double low(const ClampAttrs& attrs) { return attrs.min ? attrs.min->real() : -std::numeric_limits<double>::infinity(); }
double high(const ClampAttrs& attrs) { return attrs.max ? attrs.max->real() : std::numeric_limits<double>::infinity(); }

constexpr OpDef kClamp{
    .name = "clamp",
    .dtypes = clamp_dtypes,
    .domain = kNumericRealDTypes,
    .attrs = attrs_type<ClampAttrs>,
    .saves = {saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = clamp_backward(v.cotangent(), v.input(), v.attributes<ClampAttrs>()); },
    .reference = {.element = [](const Complex* x, const RefCall& call) -> Complex {
      const ClampAttrs& attrs = call.attributes<ClampAttrs>();
      return smaller(larger(x[0].real(), low(attrs)), high(attrs));
    }}};
OpSlot clamp_slot{kClamp, "pointwise"};

constexpr OpDef kClampBackward{.name = "clamp_backward",
                               .inputs = 2,
                               .dtypes = dtype_rules::promote,
                               .domain = kFloatingDTypes,
                               .attrs = attrs_type<ClampAttrs>,
                               .saves = {saves_input(1)},
                               .vjp =
                                   [](Vjp& v) {
                                     if (v.needs(0))
                                       v.grad(0) =
                                           clamp_backward(v.cotangent(), v.input(1), v.attributes<ClampAttrs>());
                                   },
                               .reference = {.element = [](const Complex* x, const RefCall& call) {
                                 const ClampAttrs& attrs = call.attributes<ClampAttrs>();
                                 return x[1].real() >= low(attrs) && x[1].real() <= high(attrs) ? x[0] : Complex(0);
                               }}};
OpSlot clamp_backward_slot{kClampBackward, "pointwise"};

ClampAttrs clamp_attrs(const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  if (!min && !max) throw_error<InvalidArgumentError>("clamp: at least one of min and max must be given");
  return {min, max};
}

// --- clamp between tensors. A bound takes the gradient where it is beyond x; the upper one wins over the lower.

Tensor kept(const Tensor& where_true, const Tensor& g) { return where(where_true, g, wrap_number(0, g)); }

constexpr OpDef kClampTensor{
    .name = "clamp_tensor",
    .inputs = 3,
    .dtypes = dtype_rules::promote,
    .domain = kNumericRealDTypes,
    .saves = {saves_input(0) | saves_input(1) | saves_input(2), saves_input(0) | saves_input(1) | saves_input(2),
              saves_input(0) | saves_input(1) | saves_input(2)},
    .vjp =
        [](Vjp& v) {
          const Tensor &g = v.cotangent(), &x = v.input(0), &min = v.input(1), &max = v.input(2);
          if (v.needs(0)) v.grad(0) = kept(logical_and(x >= min, x <= max), g);
          if (v.needs(1)) v.grad(1) = kept(logical_and(min < max, x < min), g);
          if (v.needs(2)) v.grad(2) = kept(logical_or(x > max, max < min), g);
        },
    .reference = {.element = [](const Complex* x, const RefCall&) -> Complex {
      return smaller(larger(x[0].real(), x[1].real()), x[2].real());
    }}};
OpSlot clamp_tensor_slot{kClampTensor, "pointwise"};

constexpr OpDef kClampMin{.name = "clamp_min",
                          .inputs = 2,
                          .kernel = "maximum",
                          .dtypes = dtype_rules::promote,
                          .domain = kNumericRealDTypes,
                          .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1)},
                          .vjp =
                              [](Vjp& v) {
                                const Tensor &g = v.cotangent(), &x = v.input(0), &min = v.input(1);
                                if (v.needs(0)) v.grad(0) = kept(x >= min, g);
                                if (v.needs(1)) v.grad(1) = kept(x < min, g);
                              },
                          .reference = reference::real([](double a, double b) { return larger(a, b); })};
OpSlot clamp_min_slot{kClampMin, "pointwise"};

constexpr OpDef kClampMax{.name = "clamp_max",
                          .inputs = 2,
                          .kernel = "minimum",
                          .dtypes = dtype_rules::promote,
                          .domain = kNumericRealDTypes,
                          .saves = {saves_input(0) | saves_input(1), saves_input(0) | saves_input(1)},
                          .vjp =
                              [](Vjp& v) {
                                const Tensor &g = v.cotangent(), &x = v.input(0), &max = v.input(1);
                                if (v.needs(0)) v.grad(0) = kept(x <= max, g);
                                if (v.needs(1)) v.grad(1) = kept(x > max, g);
                              },
                          .reference = reference::real([](double a, double b) { return smaller(a, b); })};
OpSlot clamp_max_slot{kClampMax, "pointwise"};

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return call(maximum_slot, {&a, &b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return call(minimum_slot, {&a, &b}); }
Tensor maximum_backward(const Tensor& grad, const Tensor& a, const Tensor& b) {
  return call(maximum_backward_slot, {&grad, &a, &b});
}
Tensor clamp(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  const ClampAttrs attrs = clamp_attrs(min, max);
  return call(clamp_slot, {&x}, &attrs);
}
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  if (!min.defined()) return call(clamp_max_slot, {&x, &max});
  if (!max.defined()) return call(clamp_min_slot, {&x, &min});
  return call(clamp_tensor_slot, {&x, &min, &max});
}
Tensor clamp_backward(const Tensor& grad, const Tensor& x, const ClampAttrs& attrs) {
  return call(clamp_backward_slot, {&grad, &x}, &attrs);
}

Tensor& maximum_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(maximum_slot, out, {&a, &b}); }
Tensor& minimum_out(Tensor& out, const Tensor& a, const Tensor& b) { return write_out(minimum_slot, out, {&a, &b}); }
Tensor& clamp_out(Tensor& out, const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  const ClampAttrs attrs = clamp_attrs(min, max);
  return write_out(clamp_slot, out, {&x}, &attrs);
}
Tensor& clamp_out(Tensor& out, const Tensor& x, const Tensor& min, const Tensor& max) {
  if (!min.defined()) return write_out(clamp_max_slot, out, {&x, &max});
  if (!max.defined()) return write_out(clamp_min_slot, out, {&x, &min});
  return write_out(clamp_tensor_slot, out, {&x, &min, &max});
}

// --- Methods.

Tensor Tensor::maximum(const Tensor& other) const { return vellum::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return vellum::minimum(*this, other); }
Tensor Tensor::clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return vellum::clamp(*this, min, max);
}
Tensor Tensor::clamp(const Tensor& min) const { return vellum::clamp(*this, min); }
Tensor Tensor::clamp(const Tensor& min, const Tensor& max) const { return vellum::clamp(*this, min, max); }
Tensor& Tensor::clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  const ClampAttrs attrs = clamp_attrs(min, max);
  return write_self(clamp_slot, *this, &attrs);
}
Tensor& Tensor::clamp_(const Tensor& min) { return clamp_(min, Tensor()); }
Tensor& Tensor::clamp_(const Tensor& min, const Tensor& max) {
  if (!min.defined()) return write_self(clamp_max_slot, *this, {this, &max});
  if (!max.defined()) return write_self(clamp_min_slot, *this, {this, &min});
  return write_self(clamp_tensor_slot, *this, {this, &min, &max});
}

}  // namespace vellum
