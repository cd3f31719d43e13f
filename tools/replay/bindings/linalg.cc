#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

// beta * input + alpha * (first x second)
Function added_product(Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&),
                       std::string_view first, std::string_view second) {
  return [=](Args& a) {
    return f(a.tensor(0, "input"), a.tensor(1, first), a.tensor(2, second), a.scalar(kKeywordOnly, "beta", 1),
             a.scalar(kKeywordOnly, "alpha", 1));
  };
}

Function product(Tensor (*f)(const Tensor&, const Tensor&), std::string_view second) {
  return [=](Args& a) { return f(a.tensor(0, "input"), a.tensor(1, second)); };
}

// einsum(equation, operands), the latter one by one or as a list; in the database's own order the list comes first.
Results einstein_sum(Args& a) {
  if (a.is_list(0, "operands")) return einsum(a.text(1, "equation", ""), a.tensors(0, "operands"));
  const std::string equation = a.text(0, "equation", "");
  if (a.is_list(1, "operands")) return einsum(equation, a.tensors(1, "operands"));
  std::vector<Tensor> operands;
  for (size_t i = 1; i < a.source().args.size(); ++i) operands.push_back(a.tensor(static_cast<int>(i), ""));
  return einsum(equation, operands);
}

const Bindings kBindings{
    {"matmul", binary(matmul)},
    {"__rmatmul__", [](Args& a) { return matmul(a.tensor(1, "other"), a.tensor(0, "self")); }},
    {"mm", product(mm, "mat2")},
    {"bmm", product(bmm, "mat2")},
    {"mv", product(mv, "vec")},
    {"dot", product(dot, "other")},
    {"outer", product(outer, "vec2")},
    {"addmm", added_product(addmm, "mat1", "mat2")},
    {"baddbmm", added_product(baddbmm, "batch1", "batch2")},
    {"einsum", einstein_sum},
    {"nn.functional.linear",
     [](Args& a) { return linear(a.tensor(0, "input"), a.tensor(1, "weight"), a.optional_tensor(2, "bias")); }},
};

}  // namespace
}  // namespace vellum::replay
