// Gradients of pointwise operators where they are delicate (ties, bounds, zeros, branch cuts) against PyTorch's;
// goldens/pointwise.py holds the same programs in its words.

#include <cmath>
#include <functional>
#include <limits>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;
using ::testing::NanSensitiveDoubleNear;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The gradients of sum of k f_k, for k = 1, 2, ...
void backward(const Tensor& y) {
  const Tensor weights = (arange(y.numel(), kFloat64) + 1).view(y.shape());
  const Tensor weighted = y * weights;
  (weighted.is_complex() ? weighted.real() : weighted).sum().backward();
}

void expect_grad(const Tensor& x, const std::vector<double>& expected) {
  ASSERT_TRUE(x.grad().defined());
  EXPECT_THAT(values(x.grad()), Pointwise(NanSensitiveDoubleNear(1e-13), expected));
}

void expect_complex_grad(const Tensor& x, const std::vector<complex128>& expected) {
  ASSERT_TRUE(x.grad().defined());
  const std::vector<complex128> actual = complex_values(x.grad());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_LE(std::abs(actual[i] - expected[i]), 1e-13) << i;
}

TEST(PointwiseGolden, EqualOperandsShareTheGradientOfAnExtremum) {
  Tensor a = leaf({1, 2, 3, kNaN}), b = leaf({2, 2, 1, 1});
  backward(maximum(a, b));
  expect_grad(a, {0, 1, 3, 4});
  expect_grad(b, {1, 1, 0, 4});
  Tensor c = leaf({1, 2, 3, kNaN}), d = leaf({2, 2, 1, 1});
  backward(minimum(c, d));
  expect_grad(c, {1, 1, 0, 4});
  expect_grad(d, {0, 1, 3, 4});
}

TEST(PointwiseGolden, OnABoundTheGradientOfClampPasses) {
  Tensor x = leaf({-2, -1, 0, 2, 3, kNaN});
  backward(clamp(x, -1, 2));
  expect_grad(x, {0, 2, 3, 4, 0, 0});
}

TEST(PointwiseGolden, BoundsOfClampTakeTheGradientBeyondThem) {
  Tensor x = leaf({-2, -1, 0, 2, 3, 0}), low = leaf({-1, -1, -1, -1, -1, 2}), high = leaf({2, 2, 2, 2, 2, 1});
  backward(clamp(x, low, high));
  expect_grad(x, {0, 2, 3, 4, 0, 0});
  expect_grad(low, {1, 0, 0, 0, 0, 0});
  expect_grad(high, {0, 0, 0, 0, 5, 6});
}

TEST(PointwiseGolden, OneSidedClamp) {
  Tensor x = leaf({-2, -1, 0}), low = leaf({-1, -1, -1});
  backward(clamp(x, low));
  expect_grad(x, {0, 2, 3});
  expect_grad(low, {1, 0, 0});
  Tensor y = leaf({2, -1, 0}), high = leaf({-1, -1, 0.5});
  backward(clamp(y, Tensor(), high));
  expect_grad(y, {0, 2, 3});
  expect_grad(high, {1, 0, 0});
}

TEST(PointwiseGolden, PowOfTensors) {
  Tensor base = leaf({0, 0, 0, 2, -2, 3}), exponent = leaf({0, 1, 2, 0, 3, -1});
  backward(pow(base, exponent));
  expect_grad(base, {0, 2, 0, 0, 60, -0.6666666666666666});
  expect_grad(exponent, {0, 0, 0, 2.772588722239781, kNaN, 2.197224577336219});
}

TEST(PointwiseGolden, PowByANumber) {
  const std::pair<double, std::vector<double>> expected[] = {
      {0, {0, 0, 0}}, {1, {1, 2, 3}}, {2, {0, 4, 24}}, {0.5, {kInf, 1, 0.75}}, {-1, {-kInf, -2, -0.1875}}};
  for (const auto& [exponent, gradient] : expected) {
    Tensor x = leaf({0, 1, 4});
    backward(pow(x, exponent));
    expect_grad(x, gradient);
  }
}

TEST(PointwiseGolden, PowOfANumber) {
  Tensor e = leaf({0, 1, 2});
  backward(pow(0, e));
  expect_grad(e, {0, 0, 0});
  Tensor f = leaf({0, 1, -2});
  backward(pow(3, f));
  expect_grad(f, {1.0986122886681098, 6.591673732008658, 0.3662040962227032});
}

// PyTorch takes the logarithm of the base in float32.
TEST(PointwiseGolden, PowOfIntegers) {
  Tensor e = leaf({0, 1, 2});
  backward(pow(tensor({int64_t{2}, int64_t{3}, int64_t{0}}), e));
  EXPECT_THAT(values(e.grad()), Pointwise(DoubleNear(1e-6), {0.6931471824645996, 6.591673851013184, 0.0}));
}

TEST(PointwiseGolden, MagnitudeAndDirection) {
  Tensor x = leaf({-2, 0, 3});
  backward(abs(x));
  expect_grad(x, {-1, 0, 3});
  Tensor z = complex_leaf({{3, 4}, 0});
  backward(abs(z));
  expect_complex_grad(z, {{0.6, 0.8}, 0});
  Tensor w = complex_leaf({{3, 4}, 0, -1});
  backward(sgn(w));
  expect_complex_grad(w, {{0.128, -0.096}, 0, 0});
  Tensor u = complex_leaf({{3, 4}, 0, -1});
  backward(angle(u));
  expect_complex_grad(u, {{-0.16, 0.12}, 0, {0, -3}});
}

TEST(PointwiseGolden, StepsHaveAGradientOfZeros) {
  Tensor (*const steps[])(const Tensor&) = {floor, ceil, trunc, sign, sgn, angle};
  for (const auto& step : steps) {
    Tensor x = leaf({-2, 0, 3});
    backward(step(x));
    expect_grad(x, {0, 0, 0});
  }
  Tensor x = leaf({-2, 0.5, 3});
  backward(round(x));
  expect_grad(x, {0, 0, 0});
  Tensor a = leaf({7, -7}), b = leaf({2, 2});
  backward(div(a, b, "floor"));
  expect_grad(a, {0, 0});
  expect_grad(b, {0, 0});
}

TEST(PointwiseGolden, Remainders) {
  Tensor a = leaf({7, -7, 7.5}), b = leaf({2, 2, -2});
  backward(remainder(a, b));
  expect_grad(a, {1, 2, 3});
  expect_grad(b, {-3, 8, 12});
  Tensor c = leaf({7, -7, 7.5}), d = leaf({2, 2, -2});
  backward(fmod(c, d));
  expect_grad(c, {1, 2, 3});
  expect_grad(d, {-3, 6, 9});
}

TEST(PointwiseGolden, ActivationsAtTheirKinks) {
  const std::tuple<std::function<Tensor(const Tensor&)>, std::vector<double>, std::vector<double>> expected[] = {
      {[](const Tensor& x) { return relu(x); }, {-1, 0, 2}, {0, 0, 3}},
      {[](const Tensor& x) { return leaky_relu(x, 0.1); }, {-1, 0, 2}, {0.1, 0.2, 3}},
      {[](const Tensor& x) { return leaky_relu(x, -0.5); }, {-1, 0, 2}, {-0.5, -1, 3}},
      {[](const Tensor& x) { return elu(x, 1.5); }, {-1, 0, 2}, {0.5518191617571635, 3, 3}},
      {[](const Tensor& x) { return softplus(x, 2, 3); }, {-1, 1.5, 2}, {0.11920292202211755, 1.9051482536448665, 3}},
      {[](const Tensor& x) { return gelu(x); }, {-1, 0, 2}, {-0.08331547058768635, 1, 3.255695403234591}},
      {[](const Tensor& x) { return gelu(x, "tanh"); }, {-1, 0, 2}, {-0.08296408384578252, 1, 3.258297769870855}}};
  for (const auto& [f, at, gradient] : expected) {
    Tensor x = tensor(at, kFloat64).requires_grad_();
    backward(f(x));
    expect_grad(x, gradient);
  }
}

TEST(PointwiseGolden, MaskedFillSumsTheGradientOfItsValue) {
  Tensor x = leaf({1, 2, 3}), value = scalar_tensor(5, kFloat64).requires_grad_();
  backward(x.masked_fill(tensor({true, false, true}), value));
  expect_grad(x, {0, 2, 0});
  expect_grad(value, {4});
}

TEST(PointwiseGolden, Polar) {
  Tensor magnitude = leaf({1, 2}), angle = leaf({0.5, -1});
  backward(polar(magnitude, angle));
  expect_grad(magnitude, {0.8775825618903728, 1.0806046117362795});
  expect_grad(angle, {-0.479425538604203, 3.365883939231586});
}

TEST(PointwiseGolden, ComplexLerp) {
  Tensor start = complex_leaf({{1, 2}, -1}), end = complex_leaf({{0, 2}, 3});
  backward(lerp(start, end, complex128(0.25, 0.5)));
  expect_complex_grad(start, {{0.75, 0.5}, {1.5, 1}});
  expect_complex_grad(end, {{0.25, -0.5}, {0.5, -1}});
}

}  // namespace
}  // namespace vellum
