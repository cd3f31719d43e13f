#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

// OP(input, dim, keepdim), where no `dim`, or an empty one, means all.
Function over_dims(Tensor (*f)(const Tensor&, const Dims&, bool)) {
  return [f](Args& a) { return f(a.tensor(0, "input"), a.dims(1, "dim", Dims()), a.boolean(2, "keepdim", false)); };
}

const Bindings kBindings{
    {"sum", over_dims([](const Tensor& x, const Dims& dims, bool keepdim) { return sum(x, dims, keepdim); })},
    {"mean", over_dims([](const Tensor& x, const Dims& dims, bool keepdim) { return mean(x, dims, keepdim); })},
    {"amax", over_dims([](const Tensor& x, const Dims& dims, bool keepdim) { return amax(x, dims, keepdim); })},
    {"max",
     [](Args& a) -> Results {
       const Tensor input = a.tensor(0, "input");
       if (!a.has(1, "dim")) return max(input);
       return max(input, a.integer(1, "dim"), a.boolean(2, "keepdim", false));
     }},
    {"argmax",
     [](Args& a) {
       if (!a.has(1, "dim")) throw Unsupported("argmax over all elements");
       return argmax(a.tensor(0, "input"), a.integer(1, "dim"), a.boolean(2, "keepdim", false));
     }},
    {"sum_to_size", [](Args& a) { return sum_to(a.tensor(0, "input"), a.shape(1, "size")); }},
    {"log_softmax", [](Args& a) { return log_softmax(a.tensor(0, "input"), a.integer(1, "dim")); }},
};

}  // namespace
}  // namespace vellum::replay
