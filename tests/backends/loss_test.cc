#include <cmath>
#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const DType kFloats[] = {kFloat16, kBFloat16, kFloat32, kFloat64};

struct Split {
  int64_t outer = 1, n = 1, inner = 1;
  Split(const Dims& shape, int dim) {
    for (int d = 0; d < shape.size(); ++d) (d < dim ? outer : d == dim ? n : inner) *= shape[d];
  }
  // Calls f with the positions of each line along the dimension.
  template <typename F>
  void for_lines(F f) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) f([this, o, i](int64_t k) { return (o * n + k) * inner + i; });
  }
};

class SoftmaxTest : public KernelTest {
 protected:
  void check(DType dtype, const Dims& shape, int dim) {
    SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << shape << " dim " << dim);
    Array x(dtype, shape), g(dtype, shape), y(dtype, shape), z(dtype, shape);
    x.randomize(generator_), g.randomize(generator_);
    const SoftmaxAttrs attrs{{dim}};
    ASSERT_TRUE(call("log_softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
    ASSERT_TRUE(call("log_softmax_backward", {&g, &y}, {&z}, {.attrs = &attrs.dim}).ok());
    Array p(dtype, shape), q(dtype, shape);
    ASSERT_TRUE(call("softmax", {&x}, {&p}, {.attrs = &attrs}).ok());
    ASSERT_TRUE(call("softmax_backward", {&g, &p}, {&q}, {.attrs = &attrs.dim}).ok());
    const Split split(shape, dim);
    split.for_lines([&](auto at) {
      double total = 0, slopes = 0, dot = 0;
      for (int64_t k = 0; k < split.n; ++k) {
        total += std::exp(x.at(at(k)).real());
        slopes += g.at(at(k)).real();
        dot += g.at(at(k)).real() * p.at(at(k)).real();
      }
      for (int64_t k = 0; k < split.n; ++k) {
        expect_close(y, at(k), x.at(at(k)).real() - std::log(total), 16, 4);
        expect_close(z, at(k), g.at(at(k)).real() - std::exp(y.at(at(k)).real()) * slopes, 16, 4);
        expect_close(p, at(k), std::exp(x.at(at(k)).real()) / total, 32);
        expect_close(q, at(k), p.at(at(k)).real() * (g.at(at(k)).real() - dot), 16, 4 * p.at(at(k)).real());
      }
    });
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(SoftmaxTest);

TEST_P(SoftmaxTest, AgreesWithScalarLoops) {
  for (const DType dtype : kFloats)
    for (const Dims& shape :
         {Dims{1, 1}, Dims{8, 10}, Dims{3, 17}, Dims{5, 1000}, Dims{2, 3, 4}, Dims{3, 40, 700}, Dims{0, 3}})
      for (int dim = 0; dim < shape.size(); ++dim) check(dtype, shape, dim);
  check(kFloat32, {}, 0);
}

TEST_P(SoftmaxTest, LargeInputsAreStable) {
  for (const bool columns : {false, true}) {
    Array x(kFloat32, columns ? Dims{3, 2} : Dims{2, 3}), y(kFloat32, x.shape());
    x.fill(1e4);
    const SoftmaxAttrs attrs{{columns ? 0 : 1}};
    ASSERT_TRUE(call("log_softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
    for (int64_t i = 0; i < 6; ++i) expect_close(y, i, -std::log(3.0), 4);
  }
}

TEST_P(SoftmaxTest, MinusInfinityHasNoShare) {
  Array x(kFloat32, {1, 20}), y(kFloat32, {1, 20});
  x.fill(-kInfinity), x.set(3, 5), x.set(19, 5);
  const SoftmaxAttrs attrs{{1}};
  ASSERT_TRUE(call("log_softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
  for (int64_t i = 0; i < 20; ++i) expect_close(y, i, i == 3 || i == 19 ? -std::log(2.0) : -kInfinity, 4);
}

TEST_P(SoftmaxTest, ProbabilitiesOfInfinitiesAreThoseOfTheFormula) {
  for (const bool columns : {false, true}) {
    const Dims shape = columns ? Dims{3, 2} : Dims{2, 3};
    const SoftmaxAttrs attrs{{columns ? 0 : 1}};
    Array x(kFloat32, shape), y(kFloat32, shape);
    const auto at = [&](int64_t line, int64_t k) { return columns ? k * 2 + line : line * 3 + k; };
    x.fill(-kInfinity);  // one line: nothing has a share; the other: all to one element
    x.set(at(1, 0), 1e4);
    ASSERT_TRUE(call("softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_TRUE(std::isnan(y.at(at(0, k)).real()));
      EXPECT_EQ(y.at(at(1, k)), Value(k == 0));
    }
    x.set(at(1, 2), kInfinity);
    ASSERT_TRUE(call("softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
    for (int64_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(y.at(at(1, k)).real()));
  }
}

TEST_P(SoftmaxTest, NaNSpreadsOverItsLine) {
  Array x(kFloat32, {2, 20}), y(kFloat32, {2, 20});
  x.randomize(generator_), x.set(7, std::nan(""));
  const SoftmaxAttrs attrs{{1}};
  ASSERT_TRUE(call("log_softmax", {&x}, {&y}, {.attrs = &attrs}).ok());
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(y.at(i).real()), i < 20) << i;
}

// --- nll_loss. It is compiled once, but runs under the same fixture.

class NllLossTest : public KernelTest {
 protected:
  static Array targets(std::initializer_list<int64_t> classes) {
    Array t(kInt64, {static_cast<int64_t>(classes.size())});
    int64_t i = 0;
    for (const int64_t c : classes) t.put(i++, c);
    return t;
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(NllLossTest);

TEST_P(NllLossTest, ReducesAsAsked) {
  for (const DType dtype : kFloats) {
    Array x(dtype, {4, 5}), total(dtype, {}), each(dtype, {4}), t = targets({2, -100, 0, 4});
    x.randomize(generator_);
    const Value a = x.at(2), b = x.at(10), c = x.at(19);
    NllLossAttrs attrs{Reduction::kMean};
    ASSERT_TRUE(call("nll_loss", {&x, &t, nullptr}, {&total}, {.attrs = &attrs}).ok());
    expect_close(total, 0, -(a + b + c) / 3.0, 2, 2);
    attrs.reduction = Reduction::kSum;
    ASSERT_TRUE(call("nll_loss", {&x, &t, nullptr}, {&total}, {.attrs = &attrs}).ok());
    expect_close(total, 0, -(a + b + c), 2, 2);
    attrs.reduction = Reduction::kNone;
    ASSERT_TRUE(call("nll_loss", {&x, &t, nullptr}, {&each}, {.attrs = &attrs}).ok());
    const Value expected[] = {-a, 0, -b, -c};
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(each.at(i), expected[i]);
  }
}

TEST_P(NllLossTest, MeanOfNothingIsNaN) {
  Array x(kFloat32, {2, 3}), total(kFloat32, {}), t = targets({7, 7});
  const NllLossAttrs attrs{Reduction::kMean, 7};
  ASSERT_TRUE(call("nll_loss", {&x, &t, nullptr}, {&total}, {.attrs = &attrs}).ok());
  EXPECT_TRUE(std::isnan(total.at(0).real()));
}

TEST_P(NllLossTest, BadTargetsAreReported) {
  Array x(kFloat32, {2, 3}), g(kFloat32, {}), total(kFloat32, {}), dx(kFloat32, {2, 3});
  const NllLossAttrs attrs{};
  const NllLossBackwardAttrs backward{attrs, {2, 3}};
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 40}) {
    Array t = targets({0, bad});
    EXPECT_EQ(call("nll_loss", {&x, &t, nullptr}, {&total}, {.attrs = &attrs}).code, StatusCode::kInvalidArgument);
    EXPECT_EQ(call("nll_loss_backward", {&g, &t, nullptr}, {&dx}, {.attrs = &backward}).code,
              StatusCode::kInvalidArgument);
  }
}

TEST_P(NllLossTest, BackwardSpreadsTheCotangent) {
  for (const DType dtype : kFloats)
    for (const Reduction reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
      const bool each = reduction == Reduction::kNone;
      Array g(dtype, each ? Dims{3} : Dims{}), dx(dtype, {3, 4}), t = targets({1, -100, 3});
      g.randomize(generator_), dx.fill(9);
      const NllLossBackwardAttrs attrs{{reduction}, {3, 4}};
      ASSERT_TRUE(call("nll_loss_backward", {&g, &t, nullptr}, {&dx}, {.attrs = &attrs}).ok());
      const double share = reduction == Reduction::kMean ? 0.5 : 1;
      for (int64_t i = 0; i < 12; ++i)
        expect_close(dx, i, i == 1 ? -share * g.at(0) : i == 11 ? -share * g.at(each ? 2 : 0) : Value(0), 1);
    }
}

TEST_P(NllLossTest, WeightsClassesInPlaces) {
  Array x(kFloat32, {2, 3, 2}), w(kFloat32, {3}), total(kFloat32, {}), t(kInt64, {2, 2});
  x.randomize(generator_), w.randomize(generator_);
  const int64_t classes[] = {2, 0, 1, 1};
  for (int64_t i = 0; i < 4; ++i) t.put(i, classes[i]);
  const NllLossAttrs attrs{Reduction::kMean, 0};
  ASSERT_TRUE(call("nll_loss", {&x, &t, &w}, {&total}, {.attrs = &attrs}).ok());
  const Value sum = w.at(2) * x.at(4) + w.at(1) * (x.at(8) + x.at(9));
  expect_close(total, 0, -sum / (w.at(2) + 2.0 * w.at(1)), 8, 4);
}

// --- cross_entropy, fused

class CrossEntropyTest : public KernelTest {
 protected:
  void check(DType dtype, int64_t classes, double smoothing, bool weighted) {
    SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " of " << classes << " classes, smoothing " << smoothing
                                      << ", weighted " << weighted);
    constexpr int64_t kRows = 3;
    Array x(dtype, {kRows, classes}), g(dtype, {kRows}), loss(dtype, {kRows}), lse(kFloat64, {kRows});
    Array dx(dtype, {kRows, classes}), t(kInt64, {kRows}), w(dtype, {classes});
    x.randomize(generator_), g.randomize(generator_), dx.fill(9);
    for (int64_t c = 0; c < classes; ++c) w.set(c, weighted ? 0.25 * static_cast<double>(1 + c % 5) : 1);
    Array* const weight = weighted ? &w : nullptr;
    for (int64_t i = 0; i < kRows; ++i) t.put(i, i == 1 ? int64_t{-100} : classes - 1);
    const CrossEntropyAttrs attrs{Reduction::kNone, -100, smoothing};
    ASSERT_TRUE(call("cross_entropy", {&x, &t, weight}, {&loss, &lse}, {.attrs = &attrs}).ok());
    ASSERT_TRUE(call("cross_entropy_backward", {&g, &x, &t, &lse, weight}, {&dx}, {.attrs = &attrs}).ok());
    for (int64_t i = 0; i < kRows; ++i) {
      const auto score = [&](int64_t c) { return x.at(i * classes + c).real(); };
      const auto share = [&](int64_t c) {
        const double spread = smoothing / static_cast<double>(classes);
        return w.at(c).real() * ((c == classes - 1 ? 1 - smoothing : 0) + spread);
      };
      double total = 0, expected = 0, shares = 0;
      for (int64_t c = 0; c < classes; ++c) total += std::exp(score(c)), shares += share(c);
      for (int64_t c = 0; c < classes; ++c) expected += share(c) * (std::log(total) - score(c));
      expect_close(loss, i, i == 1 ? 0 : expected, 16, 4);
      for (int64_t c = 0; c < classes; ++c)
        expect_close(dx, i * classes + c, i == 1 ? 0 : g.at(i) * (shares * std::exp(score(c)) / total - share(c)), 16,
                     1);
    }
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(CrossEntropyTest);

TEST_P(CrossEntropyTest, AgreesWithScalarLoops) {
  for (const DType dtype : kFloats)
    for (const int64_t classes : {1, 2, 10, 37, 1500})
      for (const double smoothing : {0.0, 0.25})
        for (const bool weighted : {false, true}) check(dtype, classes, smoothing, weighted);
}

TEST_P(CrossEntropyTest, MeanIsOverTheWeightsOfTargetsThatCount) {
  Array x(kFloat32, {3, 2}), total(kFloat32, {}), lse(kFloat64, {3}), t(kInt64, {3}), w(kFloat32, {2});
  Array one(kFloat32, {}), dx(kFloat32, {3, 2});
  x.fill(0), one.fill(1), w.set(0, 0.5), w.set(1, 3);
  const int64_t classes[] = {1, -100, 0};
  for (int64_t i = 0; i < 3; ++i) t.put(i, classes[i]);
  const CrossEntropyAttrs attrs{Reduction::kMean, -100, 0.5};
  ASSERT_TRUE(call("cross_entropy", {&x, &t, &w}, {&total, &lse}, {.attrs = &attrs}).ok());
  // Rows count for half of the weight of their class and a quarter of both, of in all 3.5.
  const double parts[] = {0.5 * 3 + 0.25 * 3.5, 0.5 * 0.5 + 0.25 * 3.5};
  expect_close(total, 0, (parts[0] + parts[1]) * std::log(2.0) / 3.5, 4);
  ASSERT_TRUE(call("cross_entropy_backward", {&one, &x, &t, &lse, &w}, {&dx}, {.attrs = &attrs}).ok());
  const double own[] = {(0.5 + 0.25) * 3, (0.5 + 0.25) * 0.5};
  expect_close(dx, 1, (parts[0] / 2 - own[0]) / 3.5, 4);
  expect_close(dx, 4, (parts[1] / 2 - own[1]) / 3.5, 4);
  for (const int64_t i : {2, 3}) EXPECT_EQ(dx.at(i), Value(0));
}

TEST_P(CrossEntropyTest, BadTargetsAreReported) {
  Array x(kFloat32, {2, 3}), total(kFloat32, {}), t = Array(kInt64, {2});
  t.put(0, int64_t{0}), t.put(1, int64_t{3});
  const CrossEntropyAttrs attrs{};
  EXPECT_EQ(call("cross_entropy", {&x, &t, nullptr}, {&total, nullptr}, {.attrs = &attrs}).code,
            StatusCode::kInvalidArgument);
}

// --- Losses that compare elements

class ElementLossTest : public KernelTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(ElementLossTest);

TEST_P(ElementLossTest, AgreesWithScalarFunctions) {
  const auto sign = [](double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0; };
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const SmoothL1LossAttrs attrs{0.75};
  for (const DType dtype : kFloats)
    for (const int64_t n : {1, 7, 37, 5000}) {
      Array g(dtype, {n}), x(dtype, {n}), t(dtype, {n}), y(dtype, {n}), dx(dtype, {n});
      g.randomize(generator_), x.randomize(generator_), t.randomize(generator_);
      const auto check = [&](const std::string& name, auto loss, auto slope) {
        SCOPED_TRACE(::testing::Message() << name << ' ' << dtype_name(dtype) << ' ' << n);
        apply(name, {&x, &t}, y, &attrs);
        apply(name + "_backward", {&g, &x, &t}, dx, &attrs);
        for (int64_t i = 0; i < n; ++i) {
          expect_close(y, i, loss(x.at(i).real(), t.at(i).real()), 8, 4);
          expect_close(dx, i, g.at(i).real() * slope(x.at(i).real(), t.at(i).real()), 8, 4);
        }
      };
      check(
          "mse_loss", [](double a, double b) { return (a - b) * (a - b); },
          [](double a, double b) { return 2 * (a - b); });
      check(
          "l1_loss", [](double a, double b) { return std::abs(a - b); },
          [&](double a, double b) { return sign(a - b); });
      check(
          "smooth_l1_loss",
          [](double a, double b) {
            const double d = std::abs(a - b);
            return d < 0.75 ? d * d / 1.5 : d - 0.375;
          },
          [&](double a, double b) { return std::abs(a - b) < 0.75 ? (a - b) / 0.75 : sign(a - b); });
      check(
          "binary_cross_entropy_with_logits", [&](double a, double b) { return softplus(a) - a * b; },
          [](double a, double b) { return 1 / (1 + std::exp(-a)) - b; });
    }
}

TEST_P(ElementLossTest, LogisticLossIsStableFarOut) {
  Array x(kFloat32, {6}), t(kFloat32, {6}), y(kFloat32, {6});
  const double logits[] = {1e4, -1e4, 100, -100, kInfinity, 0};
  for (int64_t i = 0; i < 6; ++i) x.set(i, logits[i]), t.set(i, i == 5 ? 0.5 : 1);
  apply("binary_cross_entropy_with_logits", {&x, &t}, y);
  const double expected[] = {0, 1e4, 0, 100, std::nan(""), std::log(2.0)};
  for (int64_t i = 0; i < 6; ++i) expect_close(y, i, expected[i], 2);
}

}  // namespace
}  // namespace vellum
