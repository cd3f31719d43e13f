#include <cmath>

#include "vellum/nn/activation.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/init.h"
#include "vellum/nn/linear.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/nn/testing.h"

namespace vellum::nn {
namespace {

using namespace vellum::testing;

struct Moments {
  double mean = 0, std = 0, low = 0, high = 0;
};

Moments moments_of(const Tensor& t) {
  const std::vector<double> v = values(t);
  Moments m{.low = v[0], .high = v[0]};
  for (const double x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  for (const double x : v) m.std += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.std = std::sqrt(m.std);
  return m;
}

// U(-bound, bound), seen through some ten thousand draws.
void expect_uniform(const Tensor& t, double bound) {
  const Moments m = moments_of(t);
  EXPECT_NEAR(m.mean, 0, 0.03 * bound);
  EXPECT_NEAR(m.std, bound / std::sqrt(3), 0.02 * bound);
  EXPECT_GE(m.low, -bound);
  EXPECT_LE(m.low, -0.99 * bound);
  EXPECT_LE(m.high, bound);
  EXPECT_GE(m.high, 0.99 * bound);
}

void expect_normal(const Tensor& t, double std) {
  const Moments m = moments_of(t);
  EXPECT_NEAR(m.mean, 0, 0.04 * std);
  EXPECT_NEAR(m.std, std, 0.03 * std);
  EXPECT_GT(m.high, 3 * std);
}

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  Linear linear(3, 2, {.dtype = kFloat64});
  linear.weight().detach().copy_(tensor({1., 2., 3., 4., 5., 6.}, kFloat64).view({2, 3}));
  linear.bias().detach().copy_(tensor({10., 20.}, kFloat64));
  EXPECT_THAT(values(linear(tensor({1., 0., -1.}, kFloat64))), ElementsAre(8, 18));
  EXPECT_EQ(linear(ones({4, 5, 3}, kFloat64)).shape(), (Dims{4, 5, 2}));
}

TEST(Linear, HasTheSizesDtypeAndParametersThatWereAskedFor) {
  const Linear linear(3, 2, {.bias = false, .dtype = kFloat64});
  EXPECT_EQ(linear.in_features(), 3);
  EXPECT_EQ(linear.out_features(), 2);
  EXPECT_EQ(linear.weight().shape(), (Dims{2, 3}));
  EXPECT_EQ(linear.weight().dtype(), kFloat64);
  EXPECT_FALSE(linear.bias().defined());
  EXPECT_EQ(linear.parameters().size(), 1);
}

TEST(Linear, StartsUniformlyWithinOneOverTheRootOfItsInputs) {
  manual_seed(1);
  const Linear linear(100, 4000);
  expect_uniform(linear.weight(), 0.1);
  expect_uniform(linear.bias(), 0.1);
}

TEST(Linear, IsDrawnFromTheSeed) {
  manual_seed(7);
  const Linear first(3, 4);
  manual_seed(7);
  const Linear second(3, 4);
  EXPECT_EQ(values(first.weight()), values(second.weight()));
  EXPECT_EQ(values(first.bias()), values(second.bias()));
}

TEST(Linear, IsMadeOnTheDeviceThatWasAskedFor) {
  const Device sim("sim");
  EXPECT_EQ(Linear(2, 3, {.device = sim}).weight().device(), sim);
}

TEST(Linear, GivesComplexWeightsTheVarianceOfRealOnes) {
  manual_seed(2);
  const Linear linear(100, 400, {.dtype = kComplex128});
  double square = 0;
  for (const complex128 w : complex_values(linear.weight())) square += std::norm(w) / 40000;
  EXPECT_NEAR(square, 0.01 / 3, 0.0001);
}

TEST(Linear, RejectsSizesThatAreNotPositive) {
  EXPECT_THAT(message_of<InvalidArgumentError>([] { Linear(0, 3); }), HasSubstr("0 and 3"));
  EXPECT_THROW(Linear(3, -1), InvalidArgumentError);
}

TEST(ReLU, CutsNegativeNumbers) { EXPECT_THAT(values(ReLU()(tensor({-1.f, 0.f, 2.f}))), ElementsAre(0, 0, 2)); }

TEST(Dropout, ZeroesAboutAShareOfPAndScalesTheRest) {
  manual_seed(3);
  Dropout layer(0.25);
  const std::vector<double> y = values(layer(ones({20000}, kFloat64)));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(y, 0)) / 20000, 0.25, 0.01);
  for (const double v : y) EXPECT_TRUE(v == 0 || std::abs(v - 4. / 3) < 1e-12) << v;
}

TEST(Dropout, GivesTheGradientTheSameMask) {
  Dropout layer(0.5);
  Tensor x = ones({100}, kFloat64).requires_grad_();
  const Tensor y = layer(x);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), values(y));
}

TEST(Dropout, IsTheIdentityOutsideTraining) {
  Dropout layer(0.5);
  layer.eval();
  const Tensor x = ones({10});
  EXPECT_TRUE(layer(x).is_same(x));
}

TEST(Dropout, OfOneGivesZeros) {
  Dropout layer(1);
  EXPECT_THAT(values(layer(ones({3}))), ElementsAre(0, 0, 0));
}

TEST(Dropout, RejectsWhatIsNoProbability) {
  EXPECT_THROW(Dropout(-0.1), InvalidArgumentError);
  EXPECT_THROW(Dropout(1.1), InvalidArgumentError);
  EXPECT_THROW(Dropout(std::nan("")), InvalidArgumentError);
}

TEST(Init, FillsWithConstants) {
  EXPECT_THAT(values(init::constant_(empty({2}), 3.5)), ElementsAre(3.5, 3.5));
  EXPECT_THAT(values(init::zeros_(ones({2}))), ElementsAre(0, 0));
  EXPECT_THAT(values(init::ones_(empty({2}))), ElementsAre(1, 1));
}

TEST(Init, FillsInPlaceWithoutRecording) {
  Tensor w = leaf({1, 2});
  EXPECT_TRUE(init::uniform_(w, 5, 6).is_same(w));
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
  for (const double v : values(w)) EXPECT_TRUE(v >= 5 && v < 6);
}

TEST(Init, CountsFansWithTheWindow) {
  const init::Fans fans = init::fans_of(empty({8, 3, 5, 7}));
  EXPECT_EQ(fans.in, 3 * 35);
  EXPECT_EQ(fans.out, 8 * 35);
  EXPECT_THROW(init::fans_of(empty({8})), ShapeError);
  EXPECT_THROW(init::kaiming_normal_(empty({8})), ShapeError);
}

// From goldens/losses.py.
TEST(Init, KnowsTheGainsOfNonlinearities) {
  using enum init::Nonlinearity;
  EXPECT_EQ(init::calculate_gain(kLinear), 1);
  EXPECT_EQ(init::calculate_gain(kSigmoid), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kTanh), 1.6666666666666667);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kRelu), 1.4142135623730951);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kLeakyRelu, 0.3), 1.3545709229571927);
  EXPECT_EQ(init::calculate_gain(kSelu), 0.75);
}

TEST(Init, DrawsFromTheDistributionsOfGlorotAndHe) {
  manual_seed(4);
  const auto weight = [] { return empty({64, 200}, kFloat64); };
  expect_normal(init::normal_(weight(), 0, 2), 2);
  expect_uniform(init::xavier_uniform_(weight()), std::sqrt(6. / 264));
  expect_uniform(init::xavier_uniform_(weight(), 2), 2 * std::sqrt(6. / 264));
  expect_normal(init::xavier_normal_(weight()), std::sqrt(2. / 264));
  expect_uniform(init::kaiming_uniform_(weight()), std::sqrt(6. / 200));
  expect_uniform(init::kaiming_uniform_(weight(), {.a = std::sqrt(5), .mode = init::FanMode::kFanOut}),
                 std::sqrt(1. / 64));
  expect_normal(init::kaiming_normal_(weight(), {.nonlinearity = init::Nonlinearity::kTanh}), 5. / 3 / std::sqrt(200));
}

TEST(Init, LeavesEmptyTensorsAlone) {
  EXPECT_EQ(init::kaiming_uniform_(empty({0, 3})).numel(), 0);
  EXPECT_EQ(init::xavier_normal_(empty({3, 0})).numel(), 0);
}

}  // namespace
}  // namespace vellum::nn
