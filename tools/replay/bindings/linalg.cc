#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

const Bindings kBindings{
    {"matmul", binary(matmul)},
    {"__rmatmul__", [](Args& a) { return matmul(a.tensor(1, "other"), a.tensor(0, "self")); }},
    {"mm", [](Args& a) { return a.tensor(0, "input").mm(a.tensor(1, "mat2")); }},
    {"nn.functional.linear",
     [](Args& a) { return linear(a.tensor(0, "input"), a.tensor(1, "weight"), a.optional_tensor(2, "bias")); }},
};

}  // namespace
}  // namespace vellum::replay
