#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {

void internal::check_factor(std::string_view op, const char* name, const Scalar& factor, DType compute) {
  const bool falls = (factor.kind() == Scalar::Kind::kComplex && !is_complex(compute)) ||
                     (factor.kind() == Scalar::Kind::kReal && is_integral(compute));
  if (falls)
    throw_error<DTypeError>(op, ": ", name, " is ", factor.kind() == Scalar::Kind::kComplex ? "complex" : "real",
                            ", but the operands are ", compute, "; convert them with to(dtype)");
  check_fits(op, factor, compute);
}

namespace {

using internal::check_factor;
using internal::times_conjugate;
using internal::write_out;
using internal::write_self;
using reference::Complex;

// --- lerp

DTypes lerp_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote(call);
  check_factor(call, "weight", call.attributes<LerpAttrs>().weight, types.compute);
  return types;
}

Scalar one_minus(const Scalar& weight) {
  return weight.kind() == Scalar::Kind::kComplex ? Scalar(1.0 - weight.value()) : Scalar(1.0 - weight.real());
}

constexpr OpDef kLerp{.name = "lerp",
                      .inputs = 2,
                      .dtypes = lerp_dtypes,
                      .domain = kDifferentiableDTypes,
                      .attrs = attrs_type<LerpAttrs>,
                      .vjp =
                          [](Vjp& v) {
                            const Scalar& weight = v.attributes<LerpAttrs>().weight;
                            if (v.needs(0)) v.grad(0) = times_conjugate(v.cotangent(), one_minus(weight));
                            if (v.needs(1)) v.grad(1) = times_conjugate(v.cotangent(), weight);
                          },
                      .reference = {.element = [](const Complex* x, const RefCall& call) {
                        const Complex weight = call.attributes<LerpAttrs>().weight.value();
                        return (1.0 - weight) * x[0] + weight * x[1];
                      }}};
OpSlot lerp_slot{kLerp, "pointwise"};

constexpr OpDef kLerpTensor{
    .name = "lerp_tensor",
    .inputs = 3,
    .dtypes = dtype_rules::promote,
    .domain = kDifferentiableDTypes,
    .saves = {saves_input(2), saves_input(2), saves_input(0) | saves_input(1)},
    .vjp =
        [](Vjp& v) {
          const Tensor& g = v.cotangent();
          if (v.needs(0)) v.grad(0) = mul(g, conj(Scalar(1) - v.input(2)));
          if (v.needs(1)) v.grad(1) = mul(g, conj(v.input(2)));
          if (v.needs(2)) v.grad(2) = mul(g, conj(sub(v.input(1), v.input(0))));
        },
    .reference = {.element = [](const Complex* x, const RefCall&) { return (1.0 - x[2]) * x[0] + x[2] * x[1]; }}};
OpSlot lerp_tensor_slot{kLerpTensor, "pointwise"};

// --- addcmul, addcdiv

DTypes factor_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::promote(call);
  check_factor(call, "value", call.attributes<FactorAttrs>().value, types.compute);
  return types;
}

constexpr OpDef kAddcmul{.name = "addcmul",
                         .inputs = 3,
                         .dtypes = factor_dtypes,
                         .domain = internal::kNumericDTypes,
                         .attrs = attrs_type<FactorAttrs>,
                         .saves = {saves_nothing(), saves_input(2), saves_input(1)},
                         .vjp =
                             [](Vjp& v) {
                               const Tensor& g = v.cotangent();
                               const Scalar& value = v.attributes<FactorAttrs>().value;
                               if (v.needs(0)) v.grad(0) = g;
                               if (v.needs(1)) v.grad(1) = times_conjugate(mul(g, conj(v.input(2))), value);
                               if (v.needs(2)) v.grad(2) = times_conjugate(mul(g, conj(v.input(1))), value);
                             },
                         .reference = {.element = [](const Complex* x, const RefCall& call) {
                           return x[0] + call.attributes<FactorAttrs>().value.value() * x[1] * x[2];
                         }}};
OpSlot addcmul_slot{kAddcmul, "pointwise"};

constexpr OpDef kAddcdiv{.name = "addcdiv",
                         .inputs = 3,
                         .dtypes = factor_dtypes,
                         .domain = kDifferentiableDTypes,
                         .attrs = attrs_type<FactorAttrs>,
                         .saves = {saves_nothing(), saves_input(2), saves_input(1) | saves_input(2)},
                         .vjp =
                             [](Vjp& v) {
                               const Scalar& value = v.attributes<FactorAttrs>().value;
                               if (v.needs(0)) v.grad(0) = v.cotangent();
                               if (!v.needs(1) && !v.needs(2)) return;
                               const Tensor quotient = times_conjugate(div(v.cotangent(), conj(v.input(2))), value);
                               if (v.needs(1)) v.grad(1) = quotient;
                               if (v.needs(2)) v.grad(2) = neg(mul(quotient, conj(div(v.input(1), v.input(2)))));
                             },
                         .reference = {.element = [](const Complex* x, const RefCall& call) {
                           return x[0] + call.attributes<FactorAttrs>().value.value() * x[1] / x[2];
                         }}};
OpSlot addcdiv_slot{kAddcdiv, "pointwise"};

}  // namespace

Tensor lerp(const Tensor& start, const Tensor& end, const Scalar& weight) {
  const LerpAttrs attrs{weight};
  return call(lerp_slot, {&start, &end}, &attrs);
}
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  return call(lerp_tensor_slot, {&start, &end, &weight});
}
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return call(addcmul_slot, {&x, &a, &b}, &attrs);
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return call(addcdiv_slot, {&x, &a, &b}, &attrs);
}

Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Scalar& weight) {
  const LerpAttrs attrs{weight};
  return write_out(lerp_slot, out, {&start, &end}, &attrs);
}
Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Tensor& weight) {
  return write_out(lerp_tensor_slot, out, {&start, &end, &weight});
}
Tensor& addcmul_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return write_out(addcmul_slot, out, {&x, &a, &b}, &attrs);
}
Tensor& addcdiv_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return write_out(addcdiv_slot, out, {&x, &a, &b}, &attrs);
}

// --- Methods.

Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const { return vellum::lerp(*this, end, weight); }
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const { return vellum::lerp(*this, end, weight); }
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return vellum::addcmul(*this, a, b, value);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return vellum::addcdiv(*this, a, b, value);
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) {
  const LerpAttrs attrs{weight};
  return write_self(lerp_slot, *this, {this, &end}, &attrs);
}
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) {
  return write_self(lerp_tensor_slot, *this, {this, &end, &weight});
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return write_self(addcmul_slot, *this, {this, &a, &b}, &attrs);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) {
  const FactorAttrs attrs{value};
  return write_self(addcdiv_slot, *this, {this, &a, &b}, &attrs);
}

}  // namespace vellum
