#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

Operand index(const Dims& shape, int64_t bound) { return {shape, Values::kIndex, kInt64, bound}; }

std::vector<Sample> cat_samples(Device) {
  const auto along = [](int dim) { return attributes(DimAttrs{dim, false}); };
  return {{.operands = {{{2, 3}}, {{4, 3}}}, .attrs = along(0)},
          {.operands = {{{2, 3}}, {{2, 1}}, {{2, 2}}}, .attrs = along(1)},
          {.operands = {{{2, 3}}, {{2, 3}}}, .attrs = along(0)},
          {.operands = {{{5}}}, .attrs = along(0)},
          {.operands = {{{0}}, {{2, 3}}, {{2, 2}}}, .attrs = along(1)},  // PyTorch's empty placeholder
          {.operands = {{{2, 2, 3}}, {{2, 1, 3}}}, .attrs = along(1)},
          {.operands = {{{2, 0}}, {{2, 2}}}, .attrs = along(1)}};
}

std::vector<Sample> gather_samples(Device) {
  const auto along = [](int dim) { return attributes(DimAttrs{dim, false}); };
  return {{.operands = {{{3, 4}}, index({2, 4}, 3)}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({3, 6}, 4)}, .attrs = along(1)},
          {.operands = {{{2, 3, 4}}, index({2, 5, 3}, 3)}, .attrs = along(1)},
          {.operands = {{{5}}, index({7}, 5)}, .attrs = along(0)},
          {.operands = {{{}}, index({}, 1)}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({0, 4}, 3)}, .attrs = along(0)}};
}

std::vector<Sample> gather_backward_samples(Device) {
  const auto into = [](int dim, const Dims& shape) { return attributes(GatherBackwardAttrs{dim, shape}); };
  return {{.operands = {{{2, 4}}, index({2, 4}, 3)}, .attrs = into(0, {3, 4})},
          {.operands = {{{3, 6}}, index({3, 6}, 4)}, .attrs = into(1, {3, 4})},  // several into one
          {.operands = {{{2, 5, 3}}, index({2, 5, 3}, 3)}, .attrs = into(1, {2, 3, 4})},
          {.operands = {{{7}}, index({7}, 5)}, .attrs = into(0, {5})},
          {.operands = {{{}}, index({}, 1)}, .attrs = into(0, {})},
          {.operands = {{{0, 4}}, index({0, 4}, 3)}, .attrs = into(0, {3, 4})}};
}

std::vector<Sample> as_strided_backward_samples(Device) {
  const auto into = [](AsStridedBackwardAttrs a) { return attributes(std::move(a)); };
  return {{.operands = {{{2, 3}}}, .attrs = into({{3, 4}, {2, 3}, {4, 1}, 1})},
          {.operands = {{{3, 3}}}, .attrs = into({{3, 4}, {3, 3}, {2, 1}, 0})},
          {.operands = {{{2, 2}}}, .attrs = into({{6}, {2, 2}, {0, 3}, 1})},
          {.operands = {{{}}}, .attrs = into({{6}, {}, {}, 5})},
          {.operands = {{{0, 3}}}, .attrs = into({{4}, {0, 3}, {3, 1}, 0})}};
}

const RegisterSamples kRegistered{
    {"cat", cat_samples},
    {"gather", gather_samples},
    {"gather_backward", gather_backward_samples},
    {"as_strided_backward", as_strided_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
