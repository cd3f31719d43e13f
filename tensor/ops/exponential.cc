#include <cmath>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::write_out;
using internal::write_self;
using reference::Complex;
using reference::real_or_complex;

constexpr OpDef kExp{.name = "exp",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_output()},
                     .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), conj(v.output())); },
                     .reference = real_or_complex([](auto x) { return std::exp(x); })};
OpSlot exp_slot{kExp, "pointwise"};

// Complex expm1 and log1p as their names say: their arguments in tests keep away from 0, where this would cancel.
constexpr OpDef kExpm1{.name = "expm1",
                       .dtypes = dtype_rules::promote_integers_to_float,
                       .domain = kDifferentiableDTypes,
                       .saves = {saves_output()},
                       .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), add(conj(v.output()), 1)); },
                       .reference = {.element = [](const Complex* x, const RefCall& call) {
                         return is_complex(call.compute) ? std::exp(x[0]) - 1.0 : Complex(std::expm1(x[0].real()));
                       }}};
OpSlot expm1_slot{kExpm1, "pointwise"};

constexpr OpDef kLog{.name = "log",
                     .dtypes = dtype_rules::promote_integers_to_float,
                     .domain = kDifferentiableDTypes,
                     .saves = {saves_input(0)},
                     .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), conj(v.input())); },
                     .reference = real_or_complex([](auto x) { return std::log(x); })};
OpSlot log_slot{kLog, "pointwise"};

constexpr OpDef kLog1p{.name = "log1p",
                       .dtypes = dtype_rules::promote_integers_to_float,
                       .domain = kDifferentiableDTypes,
                       .saves = {saves_input(0)},
                       .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), add(conj(v.input()), 1)); },
                       .reference = {.element = [](const Complex* x, const RefCall& call) {
                         return is_complex(call.compute) ? std::log(1.0 + x[0]) : Complex(std::log1p(x[0].real()));
                       }}};
OpSlot log1p_slot{kLog1p, "pointwise"};

constexpr double kLn2 = 0.69314718055994531;

constexpr OpDef kLog2{.name = "log2",
                      .dtypes = dtype_rules::promote_integers_to_float,
                      .domain = kDifferentiableDTypes,
                      .saves = {saves_input(0)},
                      .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), mul(conj(v.input()), kLn2)); },
                      .reference = {.element = [](const Complex* x, const RefCall& call) {
                        return is_complex(call.compute) ? std::log(x[0]) / std::log(2.0)
                                                        : Complex(std::log2(x[0].real()));
                      }}};
OpSlot log2_slot{kLog2, "pointwise"};

constexpr OpDef kSqrt{.name = "sqrt",
                      .dtypes = dtype_rules::promote_integers_to_float,
                      .domain = kDifferentiableDTypes,
                      .saves = {saves_output()},
                      .vjp = [](Vjp& v) { v.grad() = div(v.cotangent(), mul(conj(v.output()), 2)); },
                      .reference = real_or_complex([](auto x) { return std::sqrt(x); })};
OpSlot sqrt_slot{kSqrt, "pointwise"};

constexpr OpDef kRsqrt{.name = "rsqrt",
                       .dtypes = dtype_rules::promote_integers_to_float,
                       .domain = kDifferentiableDTypes,
                       .saves = {saves_output()},
                       .vjp = [](Vjp& v) { v.grad() = mul(mul(v.cotangent(), conj(pow(v.output(), 3))), -0.5); },
                       .reference = real_or_complex([](auto x) { return 1.0 / std::sqrt(x); })};
OpSlot rsqrt_slot{kRsqrt, "pointwise"};

constexpr OpDef kReciprocal{.name = "reciprocal",
                            .dtypes = dtype_rules::promote_integers_to_float,
                            .domain = kDifferentiableDTypes,
                            .saves = {saves_output()},
                            .vjp = [](Vjp& v) { v.grad() = neg(mul(v.cotangent(), conj(square(v.output())))); },
                            .reference = real_or_complex([](auto x) { return 1.0 / x; })};
OpSlot reciprocal_slot{kReciprocal, "pointwise"};

// As pow(x, 2): a bool becomes an int64.
DTypes square_dtypes(const OpCall& call) {
  if (call.input(0).dtype() == kBool) return {kInt64, kInt64};
  return dtype_rules::promote(call);
}

constexpr OpDef kSquare{.name = "square",
                        .dtypes = square_dtypes,
                        .domain = internal::kNumericDTypes,
                        .saves = {saves_input(0)},
                        .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), mul(conj(v.input()), 2)); },
                        .reference = real_or_complex([](auto x) { return x * x; })};
OpSlot square_slot{kSquare, "pointwise"};

}  // namespace

Tensor exp(const Tensor& x) { return call(exp_slot, {&x}); }
Tensor expm1(const Tensor& x) { return call(expm1_slot, {&x}); }
Tensor log(const Tensor& x) { return call(log_slot, {&x}); }
Tensor log1p(const Tensor& x) { return call(log1p_slot, {&x}); }
Tensor log2(const Tensor& x) { return call(log2_slot, {&x}); }
Tensor sqrt(const Tensor& x) { return call(sqrt_slot, {&x}); }
Tensor rsqrt(const Tensor& x) { return call(rsqrt_slot, {&x}); }
Tensor reciprocal(const Tensor& x) { return call(reciprocal_slot, {&x}); }
Tensor square(const Tensor& x) { return call(square_slot, {&x}); }

Tensor& exp_out(Tensor& out, const Tensor& x) { return write_out(exp_slot, out, {&x}); }
Tensor& expm1_out(Tensor& out, const Tensor& x) { return write_out(expm1_slot, out, {&x}); }
Tensor& log_out(Tensor& out, const Tensor& x) { return write_out(log_slot, out, {&x}); }
Tensor& log1p_out(Tensor& out, const Tensor& x) { return write_out(log1p_slot, out, {&x}); }
Tensor& log2_out(Tensor& out, const Tensor& x) { return write_out(log2_slot, out, {&x}); }
Tensor& sqrt_out(Tensor& out, const Tensor& x) { return write_out(sqrt_slot, out, {&x}); }
Tensor& rsqrt_out(Tensor& out, const Tensor& x) { return write_out(rsqrt_slot, out, {&x}); }
Tensor& reciprocal_out(Tensor& out, const Tensor& x) { return write_out(reciprocal_slot, out, {&x}); }
Tensor& square_out(Tensor& out, const Tensor& x) { return write_out(square_slot, out, {&x}); }

// --- Methods.

Tensor Tensor::exp() const { return vellum::exp(*this); }
Tensor Tensor::expm1() const { return vellum::expm1(*this); }
Tensor Tensor::log() const { return vellum::log(*this); }
Tensor Tensor::log1p() const { return vellum::log1p(*this); }
Tensor Tensor::log2() const { return vellum::log2(*this); }
Tensor Tensor::sqrt() const { return vellum::sqrt(*this); }
Tensor Tensor::rsqrt() const { return vellum::rsqrt(*this); }
Tensor Tensor::reciprocal() const { return vellum::reciprocal(*this); }
Tensor Tensor::square() const { return vellum::square(*this); }
Tensor& Tensor::exp_() { return write_self(exp_slot, *this); }
Tensor& Tensor::expm1_() { return write_self(expm1_slot, *this); }
Tensor& Tensor::log_() { return write_self(log_slot, *this); }
Tensor& Tensor::log1p_() { return write_self(log1p_slot, *this); }
Tensor& Tensor::log2_() { return write_self(log2_slot, *this); }
Tensor& Tensor::sqrt_() { return write_self(sqrt_slot, *this); }
Tensor& Tensor::rsqrt_() { return write_self(rsqrt_slot, *this); }
Tensor& Tensor::reciprocal_() { return write_self(reciprocal_slot, *this); }
Tensor& Tensor::square_() { return write_self(square_slot, *this); }

}  // namespace vellum
