// What reductions and sorting return, beside the values that conformance compares: dtypes, shapes, NaN and errors are
// PyTorch's.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename E, typename F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "did not throw";
}

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }
std::vector<int64_t> integers(const Tensor& t) { return t.to_vector<int64_t>(); }

TEST(ResultDtype, OfSumsOfIntegersIsInt64) {
  for (const DType t : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64}) {
    const Tensor x = ones({2, 2}, t);
    EXPECT_EQ(x.sum().dtype(), kInt64);
    EXPECT_EQ(x.prod().dtype(), kInt64);
    EXPECT_EQ(x.cumsum(0).dtype(), kInt64);
    EXPECT_EQ(x.sum().item<int64_t>(), 4);
  }
}

TEST(ResultDtype, IsWhatTheDtypeOptionSays) {
  const Tensor x = ones({200}, kInt64);
  EXPECT_EQ(sum(x, {}, false, kInt8).dtype(), kInt8);
  EXPECT_EQ(sum(x, {}, false, kInt8).item<int64_t>(), -56);  // 200 wraps
  EXPECT_EQ(sum(x, {}, false, kBool).item<int64_t>(), 1);
  EXPECT_EQ(mean(x, {}, false, kFloat32).dtype(), kFloat32);
  EXPECT_EQ(cumsum(x, 0, kInt16).dtype(), kInt16);
  EXPECT_EQ(softmax(x, 0, kFloat64).dtype(), kFloat64);
  EXPECT_EQ(log_softmax(ones({2}, kFloat16), 0, kFloat32).dtype(), kFloat32);
}

TEST(ResultDtype, OfAnyAndAllIsBoolButForBytes) {
  EXPECT_EQ(any(ones({2}, kUInt8)).dtype(), kUInt8);
  for (const DType t : {kBool, kInt32, kFloat16, kComplex64}) EXPECT_EQ(all(ones({2}, t)).dtype(), kBool);
}

TEST(ResultDtype, OfVarianceAndNormOfComplexNumbersIsReal) {
  const Tensor z = ones({3}, kComplex64);
  EXPECT_EQ(z.var().dtype(), kFloat32);
  EXPECT_EQ(z.std().dtype(), kFloat32);
  EXPECT_EQ(z.norm().dtype(), kFloat32);
}

TEST(Mean, OfIntegersNeedsADtype) {
  EXPECT_THAT(message<DTypeError>([] { mean(ones({2}, kInt64)); }), HasSubstr("mean: not defined for dtype int64"));
}

TEST(Dims, CountFromTheEndAndMayBeSeveral) {
  const Tensor x = arange(24, kFloat32).view({2, 3, 4});
  EXPECT_EQ(x.sum({-1, 0}).shape(), Dims({3}));
  EXPECT_EQ(x.amin({0, -2}, true).shape(), Dims({1, 1, 4}));
  EXPECT_EQ(x.var({1}, 0, true).shape(), Dims({2, 1, 4}));
  EXPECT_EQ(x.norm(1, {2}).shape(), Dims({2, 3}));
  EXPECT_EQ(x.argmax().item<int64_t>(), 23);
  EXPECT_EQ(argmax(x, {}, true).shape(), Dims({1, 1, 1}));
  EXPECT_THROW(x.prod({0, -3}), IndexError);
  EXPECT_THROW(x.any({3}), IndexError);
}

TEST(Scalars, AreTheirOwnReduction) {
  const Tensor x = scalar_tensor(3.0);
  for (const Tensor& t : {x.sum(), x.prod({0}), x.amax(), x.min(0).first, x.norm(), x.cumsum(0), x.sort().first,
                          x.topk(1).first, x.topk(0).first})
    EXPECT_EQ(t.item(), 3) << t;
  EXPECT_EQ(x.argmin().item<int64_t>(), 0);
  EXPECT_EQ(x.softmax(0).item(), 1);
  EXPECT_TRUE(std::isnan(x.var().item()));
}

TEST(Nan, WinsEveryComparison) {
  const Tensor x = tensor({1.f, kNan, 3.f, kNan});
  EXPECT_TRUE(std::isnan(x.max().item()));
  EXPECT_TRUE(std::isnan(x.amin().item()));
  EXPECT_EQ(x.argmax().item<int64_t>(), 1);
  EXPECT_EQ(x.min(0).second.item<int64_t>(), 1);
}

TEST(Nan, IsSortedAsTheLargest) {
  const Tensor x = tensor({1.f, kNan, -kInfinity, 3.f, kNan});
  EXPECT_THAT(integers(x.sort().second), ElementsAre(2, 0, 3, 1, 4));
  EXPECT_THAT(integers(x.argsort(0, true)), ElementsAre(1, 4, 3, 0, 2));
  EXPECT_THAT(integers(x.topk(3).second), ElementsAre(1, 4, 3));
  EXPECT_THAT(integers(x.topk(2, 0, false).second), ElementsAre(2, 0));
}

TEST(Sort, KeepsTheOrderAndTheSignsOfEqualZeros) {
  const auto [values, indices] = tensor({0.f, -0.f, -1.f, -0.f, 0.f}).sort();
  EXPECT_THAT(integers(indices), ElementsAre(2, 0, 1, 3, 4));
  const std::vector<float> sorted = floats(values);
  EXPECT_FALSE(std::signbit(sorted[1]));
  EXPECT_TRUE(std::signbit(sorted[2]));
}

TEST(TopK, UnsortedComesInTheOrderOfIndices) {
  EXPECT_THAT(integers(tensor({1.f, 5.f, 2.f, 9.f, 7.f}).topk(3, -1, true, false).second), ElementsAre(1, 3, 4));
}

TEST(TopK, OfMoreThanThereAreIsRefused) {
  EXPECT_THAT(message<IndexError>([] {
                topk(ones({2, 3}), 4);
              }),
              HasSubstr("topk: selected index k = 4 is out of range"));
  EXPECT_THROW(topk(ones({3}), -1), IndexError);
}

TEST(Nothing, HasIdentitiesButNoExtremum) {
  const Tensor x = empty({0, 3});
  EXPECT_THAT(floats(x.prod({0})), ElementsAre(1, 1, 1));
  EXPECT_THAT(floats(x.logsumexp({0})), ElementsAre(-kInfinity, -kInfinity, -kInfinity));
  EXPECT_TRUE(all(x).item<bool>());
  EXPECT_FALSE(any(x).item<bool>());
  EXPECT_TRUE(std::isnan(x.mean().item()));
  EXPECT_TRUE(std::isnan(x.std().item()));
  for (const auto& extremum : std::initializer_list<void (*)(const Tensor&)>{
           [](const Tensor& t) { t.max(); }, [](const Tensor& t) { t.min(0); }, [](const Tensor& t) { t.argmax(); },
           [](const Tensor& t) { t.argmin(0); }, [](const Tensor& t) { t.amin({0}); },
           [](const Tensor& t) { t.norm(kInfinity); }, [](const Tensor& t) { t.norm(-1, {0}); }})
    EXPECT_THROW(extremum(x), ShapeError);
  EXPECT_EQ(x.argmax(1).shape(), Dims({0}));
  EXPECT_EQ(x.max(1).first.shape(), Dims({0}));
}

TEST(Norm, OfNamedOrders) {
  EXPECT_EQ(norm(tensor({3.f, 4.f}), "fro").item(), 5);
  EXPECT_THAT(message<InvalidArgumentError>([] { norm(ones({2}), "nuc"); }), HasSubstr("'nuc' is not known"));
}

TEST(VarMean, IsBoth) {
  const auto [v, m] = var_mean(tensor({1.f, 2.f, 6.f}), {}, 0);
  EXPECT_FLOAT_EQ(v.item<float>(), 14.f / 3);
  EXPECT_EQ(m.item(), 3);
}

TEST(OutForms, WriteIntoTheirArgument) {
  const Tensor x = tensor({3.f, 4.f});
  Tensor out = empty({});
  EXPECT_EQ(mean_out(out, x, {}).item(), 3.5);
  EXPECT_EQ(prod_out(out, x, {}).item(), 12);
  EXPECT_EQ(amax_out(out, x, {}).item(), 4);
  EXPECT_EQ(amin_out(out, x, {}).item(), 3);
  EXPECT_EQ(var_out(out, x, {}, 0).item(), 0.25);
  EXPECT_EQ(std_out(out, x, {}, 0).item(), 0.5);
  EXPECT_EQ(vector_norm_out(out, x).item(), 5);
  EXPECT_FLOAT_EQ(logsumexp_out(out, x, {}).item<float>(), 4 + std::log1p(std::exp(-1.f)));
  Tensor index = empty({}, kInt64), truth = empty({}, kBool), line = empty({2});
  EXPECT_EQ(argmax_out(index, x).item<int64_t>(), 1);
  EXPECT_EQ(argmin_out(index, x, 0).item<int64_t>(), 0);
  EXPECT_TRUE(any_out(truth, x, {}).item<bool>());
  EXPECT_TRUE(all_out(truth, x, {}).item<bool>());
  EXPECT_THAT(floats(cumsum_out(line, x, 0)), ElementsAre(3, 7));
  EXPECT_FLOAT_EQ(floats(softmax_out(line, x, 0))[1], 1 / (1 + std::exp(-1.f)));
  EXPECT_FLOAT_EQ(floats(log_softmax_out(line, x, 0))[1], -std::log1p(std::exp(-1.f)));
}

}  // namespace
}  // namespace vellum
