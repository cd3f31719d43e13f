#include "vellum/tensor/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

// Known answers of Random123 (kat_vectors, philox4x32 with 10 rounds): counter and key zero.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(philox(0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Generator, ReservesWholeGroupsOfFour) {
  Generator g(7);
  EXPECT_EQ(g.reserve(1).offset, 0u);
  EXPECT_EQ(g.reserve(5).offset, 4u);
  EXPECT_EQ(g.reserve(4).offset, 12u);
  EXPECT_EQ(g.state().offset, 16u);
  EXPECT_EQ(g.state().seed, 7u);
}

TEST(ManualSeed, MakesNumbersRepeatOnEveryDevice) {
  for (const char* device : {"cpu", "sim"}) {
    const Device d(device);
    manual_seed(3);
    const std::vector<float> first = rand({10}, d).to_vector<float>(), more = rand({10}, d).to_vector<float>();
    manual_seed(3);
    EXPECT_EQ(rand({10}, d).to_vector<float>(), first);
    EXPECT_EQ(rand({10}, d).to_vector<float>(), more);
    EXPECT_NE(first, more);
    manual_seed(4);
    EXPECT_NE(rand({10}, d).to_vector<float>(), first);
  }
}

TEST(ManualSeed, GivesTheSameNumbersOnEveryDevice) {
  manual_seed(5);
  const std::vector<float> here = randn({11}).to_vector<float>();
  manual_seed(5);
  EXPECT_EQ(randn({11}, Device("sim")).to_vector<float>(), here);
}

TEST(State, CanBeTakenAndSetAgain) {
  const RandomState state = default_generator().state();
  const std::vector<float> first = rand({3}).to_vector<float>();
  default_generator().set_state(state);
  EXPECT_EQ(rand({3}).to_vector<float>(), first);
}

TEST(Rand, LiesInItsRange) {
  manual_seed(1);
  for (const float x : rand({1000}).to_vector<float>()) {
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
  }
  for (const double x : empty({1000}, kFloat64).uniform_(-2, 3).to_vector<double>()) {
    EXPECT_GE(x, -2);
    EXPECT_LT(x, 3);
  }
}

// Mean and standard deviation of 100,000 numbers lie within five standard errors.
TEST(Randn, HasMeanZeroAndVarianceOne) {
  manual_seed(1);
  for (const DType dtype : {kFloat32, kFloat64, kComplex64}) {
    const std::vector<complex128> z = randn({100000}, dtype).to_vector<complex128>();
    complex128 sum = 0;
    double squares = 0;
    for (const complex128& x : z) sum += x, squares += std::norm(x);
    EXPECT_LT(std::abs(sum) / 1e5, 0.016) << dtype;
    EXPECT_NEAR(squares / 1e5, 1, 0.023) << dtype;
  }
}

TEST(Randperm, IsAPermutation) {
  manual_seed(1);
  std::vector<int64_t> order = randperm(100).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_THROW(randperm(-1), InvalidArgumentError);
}

TEST(RandomFills, RefuseWhatMakesNoSense) {
  Tensor x = zeros({2});
  EXPECT_THROW(x.uniform_(1, 0), InvalidArgumentError);
  EXPECT_THROW(x.normal_(0, -1), InvalidArgumentError);
  EXPECT_THROW(rand({2}, kInt64), DTypeError);
  EXPECT_THROW(dropout(x, 1.5), InvalidArgumentError);
  EXPECT_EQ(x.version(), 0u);
}

TEST(Dropout, DropsAndScales) {
  manual_seed(2);
  const std::vector<float> y = dropout(ones({1000}), 0.25).to_vector<float>();
  const auto dropped = std::count(y.begin(), y.end(), 0.f);
  EXPECT_NEAR(dropped, 250, 70);
  EXPECT_EQ(std::count(y.begin(), y.end(), 1 / 0.75f), 1000 - dropped);
  const Tensor x = ones({3});
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_EQ(dropout(x, 1).to_vector<float>(), std::vector<float>({0, 0, 0}));
}

}  // namespace
}  // namespace vellum
