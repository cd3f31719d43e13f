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
    ASSERT_TRUE(call("nll_loss", {&x, &t}, {&total}, {.attrs = &attrs}).ok());
    expect_close(total, 0, -(a + b + c) / 3.0, 2, 2);
    attrs.reduction = Reduction::kSum;
    ASSERT_TRUE(call("nll_loss", {&x, &t}, {&total}, {.attrs = &attrs}).ok());
    expect_close(total, 0, -(a + b + c), 2, 2);
    attrs.reduction = Reduction::kNone;
    ASSERT_TRUE(call("nll_loss", {&x, &t}, {&each}, {.attrs = &attrs}).ok());
    const Value expected[] = {-a, 0, -b, -c};
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(each.at(i), expected[i]);
  }
}

TEST_P(NllLossTest, MeanOfNothingIsNaN) {
  Array x(kFloat32, {2, 3}), total(kFloat32, {}), t = targets({7, 7});
  const NllLossAttrs attrs{Reduction::kMean, 7};
  ASSERT_TRUE(call("nll_loss", {&x, &t}, {&total}, {.attrs = &attrs}).ok());
  EXPECT_TRUE(std::isnan(total.at(0).real()));
}

TEST_P(NllLossTest, BadTargetsAreReported) {
  Array x(kFloat32, {2, 3}), g(kFloat32, {}), total(kFloat32, {}), dx(kFloat32, {2, 3});
  const NllLossAttrs attrs{};
  const NllLossBackwardAttrs backward{attrs, {2, 3}};
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 40}) {
    Array t = targets({0, bad});
    EXPECT_EQ(call("nll_loss", {&x, &t}, {&total}, {.attrs = &attrs}).code, StatusCode::kInvalidArgument);
    EXPECT_EQ(call("nll_loss_backward", {&g, &t}, {&dx}, {.attrs = &backward}).code, StatusCode::kInvalidArgument);
  }
}

TEST_P(NllLossTest, BackwardSpreadsTheCotangent) {
  for (const DType dtype : kFloats)
    for (const Reduction reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
      const bool each = reduction == Reduction::kNone;
      Array g(dtype, each ? Dims{3} : Dims{}), dx(dtype, {3, 4}), t = targets({1, -100, 3});
      g.randomize(generator_), dx.fill(9);
      const NllLossBackwardAttrs attrs{{reduction}, {3, 4}};
      ASSERT_TRUE(call("nll_loss_backward", {&g, &t}, {&dx}, {.attrs = &attrs}).ok());
      const double share = reduction == Reduction::kMean ? 0.5 : 1;
      for (int64_t i = 0; i < 12; ++i)
        expect_close(dx, i, i == 1 ? -share * g.at(0) : i == 11 ? -share * g.at(each ? 2 : 0) : Value(0), 1);
    }
}

}  // namespace
}  // namespace vellum
