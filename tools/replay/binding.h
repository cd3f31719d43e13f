#ifndef VELLUM_TOOLS_REPLAY_BINDING_H_
#define VELLUM_TOOLS_REPLAY_BINDING_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/tools/replay/args.h"

namespace vellum::replay {

// What an operator returns.
struct Results {
  std::vector<Tensor> tensors;

  Results(Tensor t) : tensors{std::move(t)} {}
  Results(std::vector<Tensor> list) : tensors(std::move(list)) {}
  Results(std::pair<Tensor, Tensor> pair) : tensors{std::move(pair.first), std::move(pair.second)} {}
};

using Function = std::function<Results(Args&)>;

// The library's function for an operator of PyTorch's database: {"exp", unary(exp)}, or
// {"add", [](Args& a) { return add(a.tensor(0, "input"), a.tensor(1, "other"), a.scalar(kKeywordOnly, "alpha", 1)); }}.
struct Binding {
  std::string_view op;
  Function run;
};

// A family's bindings; they join the list of all when it is constructed, so it has static storage duration and stands
// in a target with alwayslink. Ends the program when an operator is bound twice.
class Bindings {
 public:
  Bindings(std::initializer_list<Binding> bindings);
};

// By name, or null.
const Function* find_binding(std::string_view op);
std::vector<std::string> bound_operators();

// --- Functions of the usual signatures.

// OP(input)
inline Function unary(Tensor (*f)(const Tensor&)) {
  return [f](Args& a) { return f(a.tensor(0, "input")); };
}
// OP(input, other) with tensors.
inline Function binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](Args& a) { return f(a.tensor(0, "input"), a.tensor(1, "other")); };
}
// OP(input, other) where `other` may be a number.
inline Function binary(Tensor (*f)(const Tensor&, const Tensor&), Tensor (*with_number)(const Tensor&, const Scalar&)) {
  return [=](Args& a) {
    const Tensor input = a.tensor(0, "input");
    return a.is_tensor(1, "other") ? f(input, a.tensor(1, "other")) : with_number(input, a.scalar(1, "other"));
  };
}
// A method without arguments: method([](const Tensor& x) { return x.t(); }).
template <typename F>
Function method(F f) {
  return unary(+f);
}

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_BINDING_H_
