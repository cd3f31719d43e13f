// Gradients of reductions and of what orders elements, by the values that goldens/reductions.py printed with PyTorch.

#include <limits>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using testing::complex_leaf;
using testing::complex_values;
using testing::constant;
using testing::leaf;
using testing::values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor first_order(const Tensor& y, const Tensor& x) { return grad({y}, {x}, {}, {.create_graph = true})[0]; }

void expect_values(const Tensor& t, const std::vector<double>& expected) {
  EXPECT_THAT(values(t), ::testing::Pointwise(::testing::DoubleNear(1e-12), expected));
}

void expect_complex(const Tensor& t, const std::vector<complex128>& expected) {
  const std::vector<complex128> actual = complex_values(t);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_LT(std::abs(actual[i] - expected[i]), 1e-12) << i;
}

struct Product {
  std::initializer_list<double> x;
  std::vector<double> first, second;  // of the product, and of the first derivatives weighted by 1, 2, ...
};

TEST(ProdGradient, IsRightBesideZerosAtBothOrders) {
  for (const Product& p : {Product{{2, 3, 4}, {12, 8, 6}, {17, 10, 7}}, Product{{2, 0, 4}, {0, 8, 0}, {8, 10, 4}},
                           Product{{0, 3, 0, 2}, {0, 0, 0, 0}, {18, 0, 6, 0}}}) {
    const Tensor x = leaf(p.x);
    const Tensor first = first_order(prod(x), x);
    expect_values(first, p.first);
    const Tensor weights = arange(x.numel(), kFloat64) + Scalar(1.0);
    expect_values(grad({sum(mul(first, weights))}, {x})[0], p.second);
  }
}

TEST(ProdGradient, OfComplexNumbersIsConjugated) {
  const Tensor z = complex_leaf({{1, 2}, {3, -1}, {0, 2}});
  const Tensor product = prod(z);
  expect_complex(first_order(mul(product, conj(product)).real(), z), {{80, 160}, {120, -40}, {0, 200}});
}

TEST(NormGradient, IsPyTorchsForEveryOrderAndZeroAtZero) {
  const std::pair<double, std::vector<double>> cases[] = {
      {0.5, {0.0, 3.3094010767585034, -2.8660254037844384, 2.8660254037844384}},
      {1, {0.0, 1.0, -1.0, 1.0}},
      {1.5, {0.0, 0.6258567627452247, -0.7226771408902065, 0.7226771408902065}},
      {2, {0.0, 0.4685212856658182, -0.6246950475544243, 0.6246950475544243}},
      {3, {0.0, 0.3119043109322806, -0.5544965527684989, 0.5544965527684989}},
      {kInfinity, {0.0, 0.0, -0.5, 0.5}},
      {-kInfinity, {0.0, 0.0, 0.0, 0.0}}};
  for (const auto& [p, expected] : cases) {
    const Tensor x = leaf({0, 3, -4, 4}), zero = leaf({0, 0});
    expect_values(first_order(norm(x, p), x), expected);
    expect_values(first_order(norm(zero, p), zero), {0, 0});
  }
}

TEST(NormGradient, OfComplexNumbersIsPyTorchs) {
  const std::pair<double, std::vector<complex128>> cases[] = {
      {1, {{0.6, 0.8}, {0, -1}, {0.8944271909999157, -0.44721359549995787}}},
      {1.5,
       {{0.5378171599759983, 0.7170895466346645},
        {0, -0.4008652430574038},
        {0.5361494897933113, -0.26807474489665567}}},
      {2,
       {{0.5388159060803247, 0.7184212081070996}, {0, -0.1796053020267749}, {0.3592106040535498, -0.1796053020267749}}},
      {3,
       {{0.5639362464627061, 0.7519149952836082},
        {0, -0.03759574976418041},
        {0.16813330427555817, -0.08406665213777909}}},
      {kInfinity, {{0.6, 0.8}, {0, 0}, {0, 0}}}};
  for (const auto& [p, expected] : cases) {
    const Tensor z = complex_leaf({{3, 4}, {0, -1}, {2, -1}});
    expect_complex(first_order(norm(z, p), z), expected);
  }
}

TEST(StdGradient, IsPyTorchsAtBothOrdersAndZeroForEqualElements) {
  const Tensor x = leaf({1, 2, 4, 8}), equal = leaf({3, 3, 3});
  const Tensor first = first_order(std(x), x);
  expect_values(first, {-0.296110046131991, -0.1884336657203579, 0.026919095102908273, 0.45762461674944066});
  expect_values(grad({first[0]}, {x})[0],
                {0.0524337156787083, -0.04494318486746424, -0.024344225136543135, 0.016853694325299085});
  expect_values(first_order(std(equal), equal), {0, 0, 0});
}

TEST(VarGradient, OfComplexNumbersIsPyTorchs) {
  const Tensor z = complex_leaf({{3, 4}, {0, -1}, {2, -1}});
  EXPECT_EQ(var(z).dtype(), kFloat64);
  EXPECT_NEAR(var(z).item(), 32.0 / 3, 1e-12);
  expect_complex(first_order(var(z), z), {{4.0 / 3, 10.0 / 3}, {-5.0 / 3, -5.0 / 3}, {1.0 / 3, -5.0 / 3}});
}

TEST(ExtremumGradient, IsSharedByTiesOrGivenToTheFirst) {
  const Tensor x = leaf({2, 1, 2, 1, 1});
  expect_values(first_order(amax(x, {}), x), {0.5, 0, 0.5, 0, 0});
  expect_values(first_order(min(x), x), {0, 1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
  expect_values(first_order(max(x, 0).first, x), {1, 0, 0, 0, 0});
  expect_values(first_order(min(x, 0).first, x), {0, 1, 0, 0, 0});
}

TEST(CumsumGradient, SumsFromTheOtherEnd) {
  const Tensor x = leaf({1, 2, 4});
  expect_values(first_order(sum(mul(cumsum(x, 0), constant({1, 3, 5}))), x), {9, 8, 5});
}

TEST(SoftmaxGradient, IsPyTorchsAtBothOrders) {
  const Tensor x = leaf({1, 2, 4});
  const Tensor first = first_order(sum(mul(softmax(x, 0), constant({1, 3, 5}))), x);
  expect_values(first, {-0.15138618615323046, -0.18311992013085576, 0.3345061062840859});
  expect_values(grad({first[0]}, {x})[0], {-0.13866669876906795, 0.024980455667003628, 0.11368624310206432});
}

TEST(LogsumexpGradient, IsPyTorchsAtBothOrders) {
  const Tensor x = leaf({1, 2, 4});
  const Tensor first = first_order(logsumexp(x, {0}), x);
  expect_values(first, {0.042010066134066035, 0.11419519938459442, 0.8437947344813391});
  expect_values(grad({first[0]}, {x})[0], {0.04024522047747743, -0.004797347878339669, -0.035447872599137745});
}

TEST(SortGradient, FollowsTheElements) {
  const Tensor x = leaf({3, 1, 2});
  expect_values(first_order(sum(mul(sort(x, 0, true).first, constant({1, 3, 5}))), x), {1, 5, 3});
  expect_values(first_order(sum(mul(topk(x, 2, 0, false).first, constant({1, 3}))), x), {0, 1, 3});
}

TEST(DtypeOption, GivesTheGradientBackInTheInputsDtype) {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  for (const Tensor& y : {sum(x, {}, false, kFloat64), mean(x, {}, false, kFloat64), prod(x, {}, false, kFloat64),
                          sum(softmax(x, 0, kFloat64)), sum(cumsum(x, 0, kFloat64))}) {
    EXPECT_EQ(y.dtype(), kFloat64);
    EXPECT_EQ(grad({y}, {x})[0].dtype(), kFloat32);
  }
}

}  // namespace
}  // namespace vellum
