#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

template <typename Attrs>
Sample of(const Dims& shape, Attrs attrs, bool contiguous_only = false) {
  return {.operands = {{shape}}, .attrs = attributes(std::move(attrs)), .contiguous_only = contiguous_only};
}

std::vector<Sample> select_samples(Device) {
  return {of({3, 4}, SelectAttrs{0, 2}), of({3, 4}, SelectAttrs{1, 0}), of({2, 3, 5}, SelectAttrs{1, 1}),
          of({4}, SelectAttrs{0, 3}), of({3, 0}, SelectAttrs{0, 1})};
}

std::vector<Sample> slice_samples(Device) {
  return {of({5, 4}, SliceAttrs{0, 1, 4, 1}), of({5, 4}, SliceAttrs{0, 1, 5, 2}), of({3, 7}, SliceAttrs{1, 0, 7, 3}),
          of({6}, SliceAttrs{0, 2, 2, 1}), of({0}, SliceAttrs{0, 0, 0, 2})};
}

std::vector<Sample> permute_samples(Device) {
  return {of({3, 4}, PermuteAttrs{{1, 0}}), of({2, 3, 5}, PermuteAttrs{{2, 0, 1}}),
          of({2, 3, 5}, PermuteAttrs{{0, 2, 1}}), of({}, PermuteAttrs{{}}), of({3, 0}, PermuteAttrs{{1, 0}})};
}

std::vector<Sample> view_samples(Device) {
  return {of({3, 4}, ShapeAttrs{{12}}, true),
          of({3, 4}, ShapeAttrs{{2, 3, 2}}, true),
          of({3, 4}, ShapeAttrs{{3, 1, 4}}),
          of({1, 3, 1, 4}, ShapeAttrs{{3, 4}}),
          of({}, ShapeAttrs{{1}}),
          of({1}, ShapeAttrs{{}}),
          of({3, 0}, ShapeAttrs{{0, 5}}, true)};
}

std::vector<Sample> expand_samples(Device) {
  return {of({3, 1}, ShapeAttrs{{3, 4}}), of({4}, ShapeAttrs{{2, 3, 4}}), of({}, ShapeAttrs{{2, 3}}),
          of({3, 4}, ShapeAttrs{{3, 4}}), of({1, 3}, ShapeAttrs{{0, 3}})};
}

std::vector<Sample> split_samples(Device) {
  return {of({5, 4}, SplitAttrs{0, {2, 2, 1}}), of({3, 4}, SplitAttrs{1, {1, 3}}), of({4}, SplitAttrs{0, {0, 4}}),
          of({3, 4}, SplitAttrs{1, {4}})};
}

// Input 0 is row-major at offset 0, as the attributes say.
std::vector<Sample> as_strided_samples(Device) {
  return {of({3, 4}, AsStridedAttrs{{2, 3}, {4, 1}, 1, {4, 1}, 0}, true),
          of({3, 4}, AsStridedAttrs{{3, 3}, {2, 1}, 0, {4, 1}, 0}, true),  // elements that several positions share
          of({6}, AsStridedAttrs{{}, {}, 5, {1}, 0}, true), of({6}, AsStridedAttrs{{2, 2}, {0, 3}, 0, {1}, 0}, true)};
}

std::vector<Sample> unbind_samples(Device) {
  return {of({3, 4}, DimAttrs{0, false}), of({3, 4}, DimAttrs{1, false}), of({2, 3, 4}, DimAttrs{1, false}),
          of({1}, DimAttrs{0, false}), of({2, 0}, DimAttrs{0, false})};
}

std::vector<Sample> diagonal_samples(Device) {
  return {of({3, 4}, DiagonalAttrs{0, 0, 1}),    of({3, 4}, DiagonalAttrs{1, 0, 1}),
          of({3, 4}, DiagonalAttrs{-2, 0, 1}),   of({3, 4}, DiagonalAttrs{7, 0, 1}),
          of({2, 3, 4}, DiagonalAttrs{1, 2, 0}), of({0, 3}, DiagonalAttrs{0, 0, 1})};
}

std::vector<Sample> triangle_samples(Device) {
  return {of({3, 4}, TriangleAttrs{0}),     of({4, 3}, TriangleAttrs{1}), of({4, 4}, TriangleAttrs{-2}),
          of({2, 3, 3}, TriangleAttrs{-1}), of({3, 3}, TriangleAttrs{9}), of({3, 3}, TriangleAttrs{-9}),
          of({0, 3}, TriangleAttrs{0}),     of({3, 0}, TriangleAttrs{0})};
}

std::vector<Sample> constant_pad_samples(Device) {
  return {of({3, 4}, ConstantPadAttrs{{0, 1}, {0, 2}, 0}), of({3, 4}, ConstantPadAttrs{{2, 0}, {1, 0}, 1}),
          of({5}, ConstantPadAttrs{{0}, {0}, 0}), of({2, 0}, ConstantPadAttrs{{1, 1}, {0, 2}, 1}),
          of({}, ConstantPadAttrs{{}, {}, 0})};
}

const RegisterSamples kRegistered{
    {"unbind", unbind_samples},
    {"diagonal", diagonal_samples},
    {"tril", triangle_samples},
    {"triu", triangle_samples},
    {"constant_pad", constant_pad_samples},
    {"select", select_samples},
    {"slice", slice_samples},
    {"permute", permute_samples},
    {"view", view_samples},
    {"expand", expand_samples},
    {"split", split_samples},
    {"as_strided", as_strided_samples},
};

}  // namespace
}  // namespace vellum::conformance
