#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

// input + alpha * other; `other` may be a number where alpha is 1.
Function with_alpha(Tensor (*f)(const Tensor&, const Tensor&, const Scalar&),
                    Tensor (*with_number)(const Tensor&, const Scalar&)) {
  return [=](Args& a) {
    const Tensor input = a.tensor(0, "input");
    if (!a.is_tensor(1, "other")) return with_number(input, a.scalar(1, "other"));
    return f(input, a.tensor(1, "other"), a.scalar(kKeywordOnly, "alpha", 1));
  };
}

// OP(other, input): the operators of Python that a number on the left calls.
Function reflected(Tensor (*f)(const Tensor&, const Tensor&), Tensor (*with_number)(const Scalar&, const Tensor&)) {
  return [=](Args& a) {
    const Tensor input = a.tensor(0, "self");
    return a.is_tensor(1, "other") ? f(a.tensor(1, "other"), input) : with_number(a.scalar(1, "other"), input);
  };
}

Results power(Args& a) {
  if (!a.is_tensor(0, "self")) return pow(a.scalar(0, "self"), a.tensor(1, "exponent"));
  const Tensor base = a.tensor(0, "input");
  return a.is_tensor(1, "exponent") ? pow(base, a.tensor(1, "exponent")) : pow(base, a.scalar(1, "exponent"));
}

// torch.where(condition, input, other). The database's own order, (input, condition, other), is told by the dtypes.
Results choose(Args& a) {
  const Tensor first = a.tensor(0, "condition"), second = a.tensor(1, "input"), other = a.tensor(2, "other");
  const bool swapped = first.dtype() != kBool && second.dtype() == kBool;
  return swapped ? where(second, first, other) : where(first, second, other);
}

Results divide(Args& a) {
  const Tensor input = a.tensor(0, "input");
  if (!a.has(kKeywordOnly, "rounding_mode")) return binary(div, div)(a);
  const std::string mode = a.text(kKeywordOnly, "rounding_mode", "");
  return a.is_tensor(1, "other") ? div(input, a.tensor(1, "other"), mode) : div(input, a.scalar(1, "other"), mode);
}

std::optional<Scalar> optional_scalar(Args& a, int position, std::string_view name) {
  if (!a.has(position, name)) return {};
  return a.scalar(position, name);
}

Results clamp_between(Args& a) {
  const Tensor input = a.tensor(0, "input");
  if (a.is_tensor(1, "min") || a.is_tensor(2, "max"))
    return clamp(input, a.optional_tensor(1, "min"), a.optional_tensor(2, "max"));
  const std::optional<Scalar> min = optional_scalar(a, 1, "min"), max = optional_scalar(a, 2, "max");
  return clamp(input, min, max);
}

Results interpolate(Args& a) {
  const Tensor start = a.tensor(0, "input"), end = a.tensor(1, "end");
  return a.is_tensor(2, "weight") ? lerp(start, end, a.tensor(2, "weight")) : lerp(start, end, a.scalar(2, "weight"));
}

Function fused(Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const Scalar&)) {
  return [f](Args& a) {
    return f(a.tensor(0, "input"), a.tensor(1, "tensor1"), a.tensor(2, "tensor2"), a.scalar(kKeywordOnly, "value", 1));
  };
}

const Bindings kBindings{
    {"add", with_alpha(add, add)},
    {"sub", with_alpha(sub, sub)},
    {"mul", binary(mul, mul)},
    {"div", divide},
    {"fmod", binary(fmod, fmod)},
    {"remainder", binary(remainder, remainder)},
    {"__rmod__", reflected([](const Tensor& x, const Tensor& y) { return remainder(x, y); },
                           [](const Scalar& x, const Tensor& y) { return remainder(x, y); })},
    {"abs", unary(abs)},
    {"sign", unary(sign)},
    {"sgn", unary(sgn)},
    {"square", unary(square)},
    {"reciprocal", unary(reciprocal)},
    {"rsqrt", unary(rsqrt)},
    {"expm1", unary(expm1)},
    {"log1p", unary(log1p)},
    {"log2", unary(log2)},
    {"sin", unary(sin)},
    {"cos", unary(cos)},
    {"tanh", unary(tanh)},
    {"sigmoid", unary(sigmoid)},
    {"erf", unary(erf)},
    {"floor", unary(floor)},
    {"ceil", unary(ceil)},
    {"trunc", unary(trunc)},
    {"round", [](Args& a) { return round(a.tensor(0, "input"), a.integer(kKeywordOnly, "decimals", 0)); }},
    {"maximum", binary(maximum)},
    {"minimum", binary(minimum)},
    {"clamp", clamp_between},
    {"clamp_min",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       return a.is_tensor(1, "min") ? clamp(input, a.tensor(1, "min")) : clamp(input, a.scalar(1, "min"));
     }},
    {"clamp_max",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       return a.is_tensor(1, "max") ? clamp(input, Tensor(), a.tensor(1, "max"))
                                    : clamp(input, std::optional<Scalar>(), a.scalar(1, "max"));
     }},
    {"lerp", interpolate},
    {"addcmul", fused(addcmul)},
    {"addcdiv", fused(addcdiv)},
    {"logical_and", binary(logical_and)},
    {"logical_or", binary(logical_or)},
    {"logical_xor", binary(logical_xor)},
    {"logical_not", unary(logical_not)},
    {"isnan", unary(isnan)},
    {"isinf", unary(isinf)},
    {"isfinite", unary(isfinite)},
    {"nn.functional.gelu",
     [](Args& a) { return gelu(a.tensor(0, "input"), a.text(kKeywordOnly, "approximate", "none")); }},
    {"nn.functional.softplus",
     [](Args& a) { return softplus(a.tensor(0, "input"), a.real(1, "beta", 1), a.real(2, "threshold", 20)); }},
    {"nn.functional.silu",
     [](Args& a) {
       Tensor written = a.tensor(0, "input");
       if (!a.boolean(1, "inplace", false)) return silu(written);
       written = written.clone();
       return silu_(written);
     }},
    {"nn.functional.leaky_relu",
     [](Args& a) {
       Tensor written = a.tensor(0, "input");
       const double slope = a.real(1, "negative_slope", 0.01);
       if (!a.boolean(2, "inplace", false)) return leaky_relu(written, slope);
       written = written.clone();
       return leaky_relu_(written, slope);
     }},
    {"nn.functional.elu",
     [](Args& a) {
       Tensor written = a.tensor(0, "input");
       const double alpha = a.real(1, "alpha", 1);
       if (!a.boolean(2, "inplace", false)) return elu(written, alpha);
       written = written.clone();
       return elu_(written, alpha);
     }},
    {"true_divide", binary(div, div)},
    {"rsub",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       if (!a.is_tensor(1, "other")) return a.scalar(1, "other") - input;
       return sub(a.tensor(1, "other"), input, a.scalar(kKeywordOnly, "alpha", 1));
     }},
    {"__radd__", reflected([](const Tensor& x, const Tensor& y) { return add(x, y); }, operator+)},
    {"__rsub__", reflected([](const Tensor& x, const Tensor& y) { return sub(x, y); }, operator-)},
    {"__rmul__", reflected(mul, operator*)},
    {"__rdiv__", reflected(div, operator/)},
    {"__rpow__", reflected(pow, pow)},
    {"pow", power},
    {"neg", unary(neg)},
    {"exp", unary(exp)},
    {"log", unary(log)},
    {"sqrt", unary(sqrt)},
    {"nn.functional.relu",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       if (!a.boolean(1, "inplace", false)) return relu(input);
       Tensor written = input.clone();
       return written.relu_();
     }},
    {"where", choose},
    {"eq", binary(eq, eq)},
    {"ne", binary(ne, ne)},
    {"lt", binary(lt, lt)},
    {"le", binary(le, le)},
    {"gt", binary(gt, gt)},
    {"ge", binary(ge, ge)},
};

}  // namespace
}  // namespace vellum::replay
