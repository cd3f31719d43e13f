// Gradients of small programs against PyTorch's; goldens/in_place_and_views.py holds the same programs in its words.

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

void expect_grad(const Tensor& x, std::vector<double> expected) {
  EXPECT_THAT(values(x.grad()), Pointwise(DoubleEq(), expected));
}

void expect_complex_grad(const Tensor& x, const std::vector<complex128>& expected) {
  const std::vector<complex128> actual = complex_values(x.grad());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_LE(std::abs(actual[i] - expected[i]), 1e-13 * (1 + std::abs(expected[i])))
        << actual[i] << " " << expected[i];
}

Tensor squared_magnitude(const Tensor& z) { return (z * z.conj()).real().sum(); }

TEST(Golden, InPlaceOnARow) {
  Tensor x = leaf({1, 2, 3, 4}), w = leaf({5, 6});
  Tensor b = (x * x).reshape({2, 2});
  b[0].mul_(w);
  (b * b).sum().backward();
  expect_grad(x, {100, 1152, 108, 256});
  expect_grad(w, {10, 192});
}

TEST(Golden, CopyIntoAColumn) {
  Tensor x = leaf({1, 2, 3, 4}), w = leaf({5, 6});
  Tensor b = (x * 2).view({2, 2});
  b.select(1, 1).copy_(w * w);
  (b * constant({1, 2, 3, 4}).view({2, 2})).sum().backward();
  expect_grad(x, {2, 0, 6, 0});
  expect_grad(w, {20, 48});
}

TEST(Golden, ViewOfAView) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  Tensor b = (x * x).view({2, 3});
  Tensor v = b.t().slice(0, 1);
  v[0].mul_(3);
  v.add_(1);
  (b * b * b).sum().backward();
  expect_grad(x, {6, 6084, 1800, 6144, 519840, 49284});
}

TEST(Golden, TransposedBaseInsideAStorage) {
  Tensor u = leaf({2, 3}), w = leaf({5, 7});
  Tensor b = arange(9, kFloat64).slice(0, 1).view({4, 2}).slice(0, 1, 3).t().detach();
  b.mul_(u);
  b[0].mul_(w);
  (b * b).sum().backward();
  expect_grad(u, {964, 7566});
  expect_grad(w, {360, 3150});
}

TEST(Golden, OlderViewSeesTheWrite) {
  Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  Tensor b = x * 1;
  Tensor first = b.slice(0, 0, 2);
  b.mul_(w);
  (first * first).sum().backward();
  expect_grad(x, {32, 100, 0});
  expect_grad(w, {8, 40, 0});
}

TEST(Golden, ViewOfAConstantGetsAHistory) {
  Tensor w = leaf({4, 5, 6});
  Tensor b = ones({3}, kFloat64);
  Tensor first = b.slice(0, 0, 2);
  b.mul_(w);
  EXPECT_TRUE(first.requires_grad());
  EXPECT_FALSE(first.is_leaf());
  (first * first).sum().backward();
  expect_grad(w, {8, 10, 0});
}

TEST(Golden, OverlappingOperand) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor b = x * 1;
  Tensor upper = b.slice(0, 1, 4);
  b.slice(0, 0, 3).add_(upper);
  (upper * upper).sum().backward();
  expect_grad(x, {0, 10, 24, 22});
}

TEST(Golden, RealPartOfABase) {
  Tensor z = complex_leaf({{1, 2}, {3, -1}}), w = leaf({2, 5});
  Tensor b = z * 1;
  b.real().mul_(w);
  squared_magnitude(b).backward();
  expect_complex_grad(z, {{8, 4}, {150, -2}});
  expect_grad(w, {4, 90});
}

TEST(Golden, ImaginaryPartOfABase) {
  Tensor z = complex_leaf({{1, 2}, {3, -1}}), w = leaf({2, 5});
  Tensor b = z * z;
  b.imag().copy_(w * w);
  (b * b).real().sum().backward();
  expect_complex_grad(z, {{-12, 24}, {96, 32}});
  expect_grad(w, {-32, -500});
}

TEST(Golden, PairsOfABase) {
  Tensor z = complex_leaf({{1, 2}, {3, -1}});
  Tensor b = z * z;
  b.view_as_real()[1].mul_(3);
  squared_magnitude(b).backward();
  expect_complex_grad(z, {{20, 40}, {1080, -360}});
}

TEST(Golden, ComplexProduct) {
  Tensor a = complex_leaf({{1, 2}, {3, -1}}), b = complex_leaf({{2, -1}, {0.5, 1}});
  (a * b / (a + 2)).imag().sum().backward();
  expect_complex_grad(a, {{-0.34319526627218944, -0.023668639053254392}, {0.08579881656804736, 0.005917159763313612}});
  expect_complex_grad(b, {{0.3076923076923077, 0.5384615384615385}, {-0.07692307692307693, 0.6153846153846154}});
}

TEST(Golden, ComplexTimesReal) {
  Tensor z = complex_leaf({{1, 2}, {3, -1}}), x = leaf({2, 3});
  Tensor y = z * x;
  (y.exp() * y.conj()).real().sum().backward();
  expect_complex_grad(z, {{-73.71530504874417, -27.454362878873116}, {-230368.203206176, 99642.10504867093}});
  EXPECT_THAT(values(x.grad()),
              ElementsAre(DoubleNear(-64.3120154032452, 1e-10), DoubleNear(-263582.2382223996, 1e-6)));
}

TEST(Golden, ExponentOfAnIntegerBase) {  // 2^1.5 ln 2, 3^2 ln 3
  const Tensor base = tensor<int64_t>({2, 3});
  Tensor exponent = leaf({1.5, 2});
  pow(base, exponent).sum().backward();
  EXPECT_THAT(values(exponent.grad()),
              ElementsAre(DoubleNear(1.9605162869370945, 1e-14), DoubleNear(9.887510598012987, 1e-14)));
}

TEST(Golden, ComplexPower) {
  Tensor z = complex_leaf({{1, 2}, {3, -1}});
  z.pow(3).real().sum().backward();
  expect_complex_grad(z, {{-9, -12}, {24, 18}});
}

TEST(Golden, Broadcast) {
  Tensor a = leaf({1, 2, 3}), b = leaf({4, 5});
  (a / b.view({2, 1})).pow(2).sum().backward();
  EXPECT_THAT(values(a.grad()),
              ElementsAre(DoubleNear(0.205, 1e-15), DoubleNear(0.41, 1e-15), DoubleNear(0.615, 1e-15)));
  EXPECT_THAT(values(b.grad()), ElementsAre(DoubleNear(-0.4375, 1e-15), DoubleNear(-0.224, 1e-15)));
}

TEST(Golden, InPlaceWithBroadcastOperand) {
  Tensor a = leaf({1, 2, 3, 4}), b = leaf({5});
  Tensor y = (a * 1).view({2, 2});
  y.mul_(b);
  y.div_(a.slice(0, 0, 2));
  (y * y).sum().backward();
  expect_grad(a, {-450, -100, 150, 50});
  expect_grad(b, {150});
}

TEST(Golden, SecondDerivativeThroughAView) {
  Tensor x = leaf({2, 3}), w = leaf({5});
  Tensor b = x * x;
  b.slice(0, 0, 1).mul_(w * w);
  const Tensor g = grad({(b * b).sum()}, {x}, {}, {.create_graph = true})[0];
  (g * g).sum().backward();
  expect_grad(x, {1200000000, 23328});
  expect_grad(w, {640000000});
}

TEST(Golden, ReluAndTies) {
  Tensor x = leaf({-1, 0, 2, 2});
  (x.relu() * 3 + x.max()).sum().backward();
  expect_grad(x, {0, 0, 5, 5});
}

}  // namespace
}  // namespace vellum
