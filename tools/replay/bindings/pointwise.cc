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

const Bindings kBindings{
    {"add", with_alpha(add, add)},
    {"sub", with_alpha(sub, sub)},
    {"mul", binary(mul, mul)},
    {"div", binary(div, div)},
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
    {"eq", binary(eq, operator==)},
    {"ne", binary(ne, operator!=)},
    {"lt", binary(lt, operator<)},
    {"le", binary(le, operator<=)},
    {"gt", binary(gt, operator>)},
    {"ge", binary(ge, operator>=)},
};

}  // namespace
}  // namespace vellum::replay
