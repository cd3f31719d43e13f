#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

// OP(input, a, b, beta, alpha).
Function with_input(Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&),
                    std::string_view a_name, std::string_view b_name) {
  return [=](Args& a) {
    return f(a.tensor(0, "input"), a.tensor(1, a_name), a.tensor(2, b_name), a.scalar(kKeywordOnly, "beta", 1),
             a.scalar(kKeywordOnly, "alpha", 1));
  };
}

const Bindings kBindings{
    {"bmm", [](Args& a) { return bmm(a.tensor(0, "input"), a.tensor(1, "mat2")); }},
    {"mv", [](Args& a) { return mv(a.tensor(0, "input"), a.tensor(1, "vec")); }},
    {"dot", [](Args& a) { return dot(a.tensor(0, "input"), a.tensor(1, "other")); }},
    {"outer", [](Args& a) { return outer(a.tensor(0, "input"), a.tensor(1, "vec2")); }},
    {"ger", [](Args& a) { return outer(a.tensor(0, "input"), a.tensor(1, "vec2")); }},
    {"addmm", with_input(addmm, "mat1", "mat2")},
    {"baddbmm", with_input(baddbmm, "batch1", "batch2")},
    {"einsum",
     [](Args& a) {
       const std::string equation = a.text(0, "equation", "");
       return einsum(equation, a.tensors(1, "operands"));
     }},
    {"matmul", binary(matmul)},
    {"__rmatmul__", [](Args& a) { return matmul(a.tensor(1, "other"), a.tensor(0, "self")); }},
    {"mm", [](Args& a) { return a.tensor(0, "input").mm(a.tensor(1, "mat2")); }},
    {"nn.functional.linear",
     [](Args& a) { return linear(a.tensor(0, "input"), a.tensor(1, "weight"), a.optional_tensor(2, "bias")); }},
};

}  // namespace
}  // namespace vellum::replay
