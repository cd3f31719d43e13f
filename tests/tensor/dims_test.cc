#include "vellum/tensor/dims.h"

#include <gtest/gtest.h>

#include <sstream>

#include "vellum/device/error.h"

namespace vellum {
namespace {

TEST(Dims, HoldsUpToEightNumbers) {
  EXPECT_EQ(Dims({1, 2, 3, 4, 5, 6, 7, 8}).size(), 8);
  EXPECT_THROW(Dims({1, 2, 3, 4, 5, 6, 7, 8, 9}), ShapeError);
  Dims full = Dims::filled(8, 1);
  EXPECT_THROW(full.push_back(1), ShapeError);
  EXPECT_THROW(full.insert(0, 1), ShapeError);
  EXPECT_EQ(full, Dims::filled(8, 1));
}

TEST(Dims, InsertsAndErasesAtAPosition) {
  Dims d{2, 4};
  d.insert(1, 3);
  EXPECT_EQ(d, Dims({2, 3, 4}));
  d.insert(3, 5);
  EXPECT_EQ(d, Dims({2, 3, 4, 5}));
  d.erase(0);
  EXPECT_EQ(d, Dims({3, 4, 5}));
}

TEST(Dims, OfDifferentLengthsDiffer) { EXPECT_NE(Dims({1, 2}), Dims({1, 2, 3})); }

TEST(Dims, PrintsLikeAList) {
  std::ostringstream out;
  out << Dims{2, 3} << Dims{};
  EXPECT_EQ(out.str(), "[2, 3][]");
}

TEST(Numel, IsTheProductAndOneForAScalar) {
  EXPECT_EQ(numel_of({}), 1);
  EXPECT_EQ(numel_of({2, 3}), 6);
  EXPECT_EQ(numel_of({5, 0}), 0);
}

TEST(Numel, RejectsNegativeSizesAndOverflow) {
  EXPECT_THROW(numel_of({2, -1}), ShapeError);
  EXPECT_THROW(numel_of({int64_t{1} << 32, int64_t{1} << 32}), ShapeError);
}

TEST(ContiguousStrides, AreRowMajor) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), Dims({12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims());
  EXPECT_EQ(contiguous_strides({3, 0, 2}), Dims({2, 2, 1}));  // as PyTorch has them
}

TEST(WrapDim, CountsNegativeOnesFromTheEnd) {
  EXPECT_EQ(wrap_dim("f", -1, 3), 2);
  EXPECT_EQ(wrap_dim("f", -3, 3), 0);
  EXPECT_EQ(wrap_dim("f", 0, 0), 0);  // a scalar counts as rank 1
  EXPECT_EQ(wrap_dim("f", -1, 0), 0);
  EXPECT_THROW(wrap_dim("f", 3, 3), IndexError);
  EXPECT_THROW(wrap_dim("f", -4, 3), IndexError);
  EXPECT_THROW(wrap_dim("f", 1, 0), IndexError);
}

TEST(BroadcastShapes, StretchesSizesOfOneAndAddsLeadingOnes) {
  struct Case {
    Dims a, b, result;
  };
  const Case cases[] = {{{3, 4}, {4}, {3, 4}},          {{3, 1}, {1, 4}, {3, 4}}, {{}, {2, 3}, {2, 3}}, {{1}, {0}, {0}},
                        {{2, 1, 3}, {5, 1}, {2, 5, 3}}, {{3, 0}, {3, 1}, {3, 0}}, {{1, 1}, {1}, {1, 1}}};
  for (const Case& c : cases) {
    EXPECT_EQ(broadcast_shapes("f", c.a, c.b), c.result) << c.a << c.b;
    EXPECT_EQ(broadcast_shapes("f", c.b, c.a), c.result) << c.b << c.a;
  }
}

TEST(BroadcastShapes, RejectsOtherDifferencesNamingTheOperatorAndBothShapes) {
  try {
    broadcast_shapes("mul", {2, 3}, {4});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(
        e.what(),
        "mul: shapes [2, 3] and [4] do not broadcast: sizes 3 and 4 differ at dimension 1; make them equal or 1");
  }
  EXPECT_THROW(broadcast_shapes("f", {0}, {2}), ShapeError);
}

TEST(IsBroadcastableTo, DoesNotShrink) {
  EXPECT_TRUE(is_broadcastable_to({1, 3}, {2, 3}));
  EXPECT_TRUE(is_broadcastable_to({}, {2, 3}));
  EXPECT_FALSE(is_broadcastable_to({2, 3}, {3}));
  EXPECT_FALSE(is_broadcastable_to({2}, {1}));
}

}  // namespace
}  // namespace vellum
