#include <gtest/gtest.h>

#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using Values = std::vector<int64_t>;

// [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
Tensor matrix() { return arange(12).view({3, 4}); }

struct Case {
  const char* what;
  Tensor view;
  Dims shape, strides;
  int64_t offset;
  Values values;
};

class View : public ::testing::Test {
 protected:
  const Tensor m = matrix();
  const Tensor cube = arange(24).view({2, 3, 4});
};

TEST_F(View, HasShapeStridesOffsetAndValuesAndSharesMemory) {
  const Case cases[] = {
      {"select a row", m.select(0, 1), {4}, {1}, 4, {4, 5, 6, 7}},
      {"select a column from the end", m.select(-1, -1), {3}, {4}, 3, {3, 7, 11}},
      {"operator[]", m[2], {4}, {1}, 8, {8, 9, 10, 11}},
      {"slice rows", m.slice(0, 1), {2, 4}, {4, 1}, 4, {4, 5, 6, 7, 8, 9, 10, 11}},
      {"slice columns with a step", m.slice(1, 1, {}, 2), {3, 2}, {4, 2}, 1, {1, 3, 5, 7, 9, 11}},
      {"slice to a negative end", m.slice(1, 0, -2), {3, 2}, {4, 1}, 0, {0, 1, 4, 5, 8, 9}},
      {"slice from a negative start", m.slice(-1, -1), {3, 1}, {4, 1}, 3, {3, 7, 11}},
      {"slice beyond the end", m.slice(0, 2, 99), {1, 4}, {4, 1}, 8, {8, 9, 10, 11}},
      {"slice with start behind stop", m.slice(0, 2, 1), {0, 4}, {4, 1}, 8, {}},
      {"narrow", m.narrow(1, 2, 2), {3, 2}, {4, 1}, 2, {2, 3, 6, 7, 10, 11}},
      {"transpose", m.transpose(0, 1), {4, 3}, {1, 4}, 0, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
      {"t", m.t(), {4, 3}, {1, 4}, 0, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
      {"permute", cube.slice(2, 0, 1).permute({-1, 0, 1}), {1, 2, 3}, {1, 12, 4}, 0, {0, 4, 8, 12, 16, 20}},
      {"view", m.view({2, 6}), {2, 6}, {6, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"view with -1", m.view({-1, 2}), {6, 2}, {2, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"view that splits a strided dimension",
       m.slice(1, 0, {}, 2).view({3, 2, 1}),
       {3, 2, 1},
       {4, 2, 2},
       0,
       {0, 2, 4, 6, 8, 10}},
      {"reshape", m.reshape({4, 3}), {4, 3}, {3, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"flatten", m.flatten(), {12}, {1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"flatten the last dimensions",
       cube.select(0, 1).flatten(0, 1),
       {12},
       {1},
       12,
       {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
      {"expand", m.slice(1, 0, 1).expand({3, 2}), {3, 2}, {4, 0}, 0, {0, 0, 4, 4, 8, 8}},
      {"expand with -1 and a new dimension", m[0].expand({2, -1}), {2, 4}, {0, 1}, 0, {0, 1, 2, 3, 0, 1, 2, 3}},
      {"squeeze", m.view({1, 3, 1, 4}).squeeze(), {3, 4}, {4, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"squeeze one", m.view({1, 12, 1}).squeeze(-1), {1, 12}, {12, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"squeeze another size", m.squeeze(0), {3, 4}, {4, 1}, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"unsqueeze", m[0].unsqueeze(0), {1, 4}, {4, 1}, 0, {0, 1, 2, 3}},
      {"unsqueeze at the end", m[0].unsqueeze(-1), {4, 1}, {1, 1}, 0, {0, 1, 2, 3}},
      {"as_strided", m.as_strided({2, 2}, {5, 1}, 1), {2, 2}, {5, 1}, 1, {1, 2, 6, 7}},
      {"as_strided at its own offset", m[1].as_strided({2}, {2}), {2}, {2}, 4, {4, 6}},
      {"a view of a view", m.t().slice(0, 1, 3).select(1, 2), {2}, {1}, 9, {9, 10}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.view.shape(), c.shape) << c.what;
    EXPECT_EQ(c.view.strides(), c.strides) << c.what;
    EXPECT_EQ(c.view.storage_offset(), c.offset) << c.what;
    EXPECT_EQ(c.view.to_vector<int64_t>(), c.values) << c.what;
    EXPECT_TRUE(c.view.shares_storage_with(m) || c.view.shares_storage_with(cube)) << c.what;
  }
}

TEST_F(View, KnowsItsBaseWhichIsNeverAView) {
  const Tensor base = arange(12);
  const Tensor view = base.view({3, 4}).select(0, 1);
  EXPECT_TRUE(view.is_view());
  EXPECT_TRUE(view.base().is_same(base));
  EXPECT_FALSE(base.is_view());
  EXPECT_FALSE(base.base().defined());
}

TEST_F(View, SharesTheVersionCounter) {
  Tensor row = m[0];
  const uint32_t before = m.version();
  row.add_(Scalar(1));
  EXPECT_EQ(m.version(), before + 1);
  EXPECT_EQ(m[0].to_vector<int64_t>(), Values({1, 2, 3, 4}));
}

TEST_F(View, ReshapeCopiesWhereNoViewExists) {
  const Tensor copy = m.t().reshape({12});
  EXPECT_FALSE(copy.shares_storage_with(m));
  EXPECT_EQ(copy.to_vector<int64_t>(), Values({0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST_F(View, SplitGivesConsecutivePartsOfWhichTheLastMayBeSmaller) {
  const std::vector<Tensor> parts = arange(5).split(2);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].to_vector<int64_t>(), Values({2, 3}));
  EXPECT_EQ(parts[2].to_vector<int64_t>(), Values({4}));
  const std::vector<Tensor> sizes = m.split(std::vector<int64_t>{1, 3}, -1);
  EXPECT_EQ(sizes[1].shape(), Dims({3, 3}));
  EXPECT_EQ(sizes[1].storage_offset(), 1);
}

TEST_F(View, OfComplexNumbersAsPairs) {
  const Tensor z = tensor<complex64>({{1, 2}, {3, 4}});
  EXPECT_EQ(z.real().to_vector<float>(), std::vector<float>({1, 3}));
  EXPECT_EQ(z.imag().to_vector<float>(), std::vector<float>({2, 4}));
  EXPECT_EQ(z.imag().storage_offset(), 1);
  EXPECT_EQ(z.imag().strides(), Dims({2}));
  EXPECT_EQ(z.view_as_real().shape(), Dims({2, 2}));
  EXPECT_EQ(z.view_as_real().view_as_complex().to_vector<complex64>(), z.to_vector<complex64>());
  EXPECT_TRUE(z.view_as_real().shares_storage_with(z));
  const Tensor x = tensor({1.f});
  EXPECT_TRUE(x.real().is_same(x));
}

TEST_F(View, IndexTakesNumbersSlicesNewAxesAndAnEllipsis) {
  EXPECT_EQ(m.index({1, 2}).item<int64_t>(), 6);
  EXPECT_EQ(m.index({-1}).to_vector<int64_t>(), Values({8, 9, 10, 11}));
  EXPECT_EQ(m.index({Slice{}, 0}).to_vector<int64_t>(), Values({0, 4, 8}));
  EXPECT_EQ(m.index({Slice{1, 3}, Slice{0, {}, 3}}).to_vector<int64_t>(), Values({4, 7, 8, 11}));
  EXPECT_EQ(m.index({kNone, 0}).shape(), Dims({1, 4}));
  EXPECT_EQ(m.index({0, kNone}).shape(), Dims({1, 4}));
  EXPECT_EQ(cube.index({kEllipsis, 1}).shape(), Dims({2, 3}));
  EXPECT_EQ(cube.index({0, kEllipsis}).shape(), Dims({3, 4}));
  EXPECT_EQ(cube.index({1, kEllipsis, Slice{1, 3}}).to_vector<int64_t>(), Values({13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(cube.index({kNone, kEllipsis, kNone}).shape(), Dims({1, 2, 3, 4, 1}));
  EXPECT_EQ(cube.index({1, 2, kEllipsis, 3}).item<int64_t>(), 23);
}

TEST_F(View, RefusesWhatDoesNotFit) {
  EXPECT_THROW(m.select(0, 3), IndexError);
  EXPECT_THROW(m.select(0, -4), IndexError);
  EXPECT_THROW(m.select(2, 0), IndexError);
  EXPECT_THROW(m.slice(0, 0, 2, 0), InvalidArgumentError);
  EXPECT_THROW(m.transpose(0, 2), IndexError);
  EXPECT_THROW(cube.t(), ShapeError);
  EXPECT_THROW(m.permute({0}), IndexError);
  EXPECT_THROW(m.permute({0, 0}), IndexError);
  EXPECT_THROW(m.view({5, 2}), ShapeError);
  EXPECT_THROW(m.view({-1, -1}), ShapeError);
  EXPECT_THROW(m.view({-1, 5}), ShapeError);
  EXPECT_THROW(m.t().view({12}), ShapeError);
  EXPECT_THROW(m.expand({3, 5}), ShapeError);
  EXPECT_THROW(m.expand({4}), ShapeError);
  EXPECT_THROW(m.expand({-1, 3, 4}), ShapeError);
  EXPECT_THROW(m.unsqueeze(3), IndexError);
  EXPECT_THROW(m.as_strided({2}, {12}), ShapeError);
  EXPECT_THROW(m.as_strided({2}, {1, 1}), ShapeError);
  EXPECT_THROW(m.as_strided({2}, {-1}, 3), ShapeError);
  EXPECT_THROW(m.split(0), InvalidArgumentError);
  EXPECT_THROW(m.split(std::vector<int64_t>{1, 1}, 0), ShapeError);
  EXPECT_THROW(m.imag(), DTypeError);
  EXPECT_THROW(zeros({2, 3}).view_as_complex(), ShapeError);
  EXPECT_THROW(m.view_as_complex(), DTypeError);
  EXPECT_THROW(m.index({0, 0, 0}), IndexError);
  EXPECT_THROW(m.index({kEllipsis, kEllipsis}), IndexError);
  EXPECT_THROW(scalar_tensor(1)[0], IndexError);
  EXPECT_THROW(scalar_tensor(1).slice(0), IndexError);
}

}  // namespace
}  // namespace vellum
