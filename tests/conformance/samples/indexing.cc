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

Operand fixed_index(const Dims& shape, std::vector<double> values) {
  return {shape, Values::kFixed, kInt64, 0, std::move(values)};
}

std::vector<Sample> index_select_samples(Device) {
  const auto from = [](int dim) { return attributes(IndexSelectAttrs{dim}); };
  return {{.operands = {{{5, 4}}, index({3}, 5)}, .attrs = from(0)},
          {.operands = {{{3, 4}}, index({6}, 4)}, .attrs = from(1)},
          {.operands = {{{2, 3, 4}}, index({5}, 3)}, .attrs = from(1)},
          {.operands = {{{2, 3, 4}}, index({}, 3)}, .attrs = from(1)},
          {.operands = {{{5}}, index({7}, 5)}, .attrs = from(0)},
          {.operands = {{{}}, index({1}, 1)}, .attrs = from(0)},
          {.operands = {{{3, 4}}, index({0}, 3)}, .attrs = from(0)},
          {.operands = {{{4, 3}}, fixed_index({4}, {3, 1, 1, 0})}, .attrs = attributes(IndexSelectAttrs{0})}};
}

std::vector<Sample> index_select_backward_samples(Device) {
  const auto into = [](int dim, const Dims& shape, int64_t without = -1) {
    return attributes(IndexSelectBackwardAttrs{dim, shape, without});
  };
  return {{.operands = {{{6, 4}}, index({6}, 3)}, .attrs = into(0, {3, 4})},
          {.operands = {{{3, 7}}, index({7}, 4)}, .attrs = into(1, {3, 4})},
          {.operands = {{{2, 5, 4}}, index({5}, 3)}, .attrs = into(1, {2, 3, 4})},
          {.operands = {{{7}}, index({7}, 5)}, .attrs = into(0, {5})},
          {.operands = {{{}}, index({1}, 1)}, .attrs = into(0, {})},
          {.operands = {{{0, 4}}, index({0}, 3)}, .attrs = into(0, {3, 4})},
          {.operands = {{{0, 5, 2}}, index({5}, 3)}, .attrs = into(1, {0, 3, 2})},
          {.operands = {{{4, 3}}, fixed_index({4}, {2, 0, 2, 1})}, .attrs = into(0, {3, 3}, 2)}};
}

std::vector<Sample> index_add_samples(Device) {
  const auto along = [](int dim, Scalar alpha = 1) { return attributes(IndexWriteAttrs{dim, alpha}); };
  return {{.operands = {{{3, 4}}, index({6}, 3), {{6, 4}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({2}, 4), {{3, 2}}}, .attrs = along(1, 2)},
          {.operands = {{{2, 3, 4}}, index({5}, 3), {{2, 5, 4}}}, .attrs = along(1, 3)},
          {.operands = {{{5}}, index({7}, 5), {{7}}}, .attrs = along(0)},
          {.operands = {{{}}, index({1}, 1), {{}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({0}, 3), {{0, 4}}}, .attrs = along(0)},
          {.operands = {{{0, 3, 2}}, index({5}, 3), {{0, 5, 2}}}, .attrs = along(1)}};
}

// No entry repeats: the gradient of a slice that is written over again is PyTorch's, not the slope.
std::vector<Sample> index_copy_samples(Device) {
  const auto along = [](int dim) { return attributes(IndexWriteAttrs{dim}); };
  return {{.operands = {{{3, 4}}, fixed_index({2}, {2, 0}), {{2, 4}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, fixed_index({3}, {1, 3, 0}), {{3, 3}}}, .attrs = along(1)},
          {.operands = {{{2, 3, 4}}, fixed_index({1}, {1}), {{2, 1, 4}}}, .attrs = along(1)},
          {.operands = {{{}}, fixed_index({1}, {0}), {{}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, fixed_index({0}, {}), {{0, 4}}}, .attrs = along(0)},
          {.operands = {{{0, 3, 2}}, fixed_index({2}, {2, 0}), {{0, 2, 2}}}, .attrs = along(1)}};
}

std::vector<Sample> scatter_add_samples(Device) {
  const auto along = [](int dim) { return attributes(DimAttrs{dim, false}); };
  return {{.operands = {{{3, 4}}, index({5, 4}, 3), {{5, 4}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({2, 6}, 4), {{2, 6}}}, .attrs = along(1)},
          {.operands = {{{2, 3, 4}}, index({2, 5, 3}, 3), {{2, 5, 3}}}, .attrs = along(1)},
          {.operands = {{{5}}, index({7}, 5), {{7}}}, .attrs = along(0)},
          {.operands = {{{}}, index({}, 1), {{}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, index({0, 4}, 3), {{0, 4}}}, .attrs = along(0)}};
}

// Up to three factors meet, so that bytes and halves hold the product.
std::vector<Sample> scatter_multiply_samples(Device) {
  const auto along = [](int dim) { return attributes(DimAttrs{dim, false}); };
  return {{.operands = {{{3, 2}}, fixed_index({3, 2}, {2, 0, 1, 1, 1, 0}), {{3, 2}}}, .attrs = along(0)},
          {.operands = {{{2, 4}}, fixed_index({2, 3}, {3, 0, 3, 2, 1, 0}), {{2, 3}}}, .attrs = along(1)},
          {.operands = {{{2, 3, 2}}, fixed_index({1, 2, 2}, {2, 0, 2, 1}), {{1, 2, 2}}}, .attrs = along(1)},
          {.operands = {{{}}, fixed_index({}, {0}), {{}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, fixed_index({0, 4}, {}), {{0, 4}}}, .attrs = along(0)}};
}

std::vector<Sample> scatter_samples(Device) {
  const auto along = [](int dim) { return attributes(DimAttrs{dim, false}); };
  return {{.operands = {{{3, 2}}, fixed_index({2, 2}, {2, 0, 1, 1}), {{2, 2}}}, .attrs = along(0)},
          {.operands = {{{2, 4}}, fixed_index({2, 3}, {3, 0, 1, 2, 1, 0}), {{2, 3}}}, .attrs = along(1)},
          {.operands = {{{2, 3, 2}}, fixed_index({1, 2, 2}, {2, 0, 1, 1}), {{1, 2, 2}}}, .attrs = along(1)},
          {.operands = {{{}}, fixed_index({}, {0}), {{}}}, .attrs = along(0)},
          {.operands = {{{3, 4}}, fixed_index({0, 4}, {}), {{0, 4}}}, .attrs = along(0)}};
}

std::vector<Sample> flatten_index_samples(Device) {
  return {{.operands = {fixed_index({4}, {0, -1, 2, -3})}, .attrs = attributes(ShapeAttrs{{3}})},
          {.operands = {fixed_index({2, 2}, {0, 1, -2, -1}), fixed_index({2, 2}, {3, -1, 0, -4})},
           .attrs = attributes(ShapeAttrs{{2, 4}})},
          {.operands = {fixed_index({}, {1}), fixed_index({}, {-1}), fixed_index({}, {2})},
           .attrs = attributes(ShapeAttrs{{2, 3, 4}})},
          {.operands = {fixed_index({0}, {})}, .attrs = attributes(ShapeAttrs{{0}})}};
}

std::vector<Sample> nonzero_samples(Device) {
  const auto counted = [](int64_t count) { return attributes(NonzeroAttrs{count}); };
  const auto mask = [](const Dims& shape, std::vector<double> values) {
    return Operand{shape, Values::kFixed, kBool, 0, std::move(values)};
  };
  return {{.operands = {mask({2, 3}, {0, 1, 1, 0, 0, 1})}, .attrs = counted(3)},
          {.operands = {mask({4}, {0, 0, 0, 0})}, .attrs = counted(0)},
          {.operands = {mask({2, 1, 2}, {1, 1, 1, 1})}, .attrs = counted(4)},
          {.operands = {mask({}, {1})}, .attrs = counted(1)},
          {.operands = {mask({0, 3}, {})}, .attrs = counted(0)}};
}

const RegisterSamples kRegistered{
    {"index_select", index_select_samples},
    {"index_select_backward", index_select_backward_samples},
    {"index_add", index_add_samples},
    {"index_copy", index_copy_samples},
    {"scatter", scatter_samples},
    {"scatter_add", scatter_add_samples},
    {"scatter_multiply", scatter_multiply_samples},
    {"flatten_index", flatten_index_samples},
    {"nonzero", nonzero_samples},
    {"cat", cat_samples},
    {"gather", gather_samples},
    {"gather_backward", gather_backward_samples},
    {"as_strided_backward", as_strided_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
