// The operators on one element, run by the host.

#include "vellum/backends/cuda/kernels/functors.h"

#include <complex>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace vellum::cuda {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Op>
Op with_alpha(const Scalar& alpha) {
  const AlphaAttrs attrs{alpha};
  KernelContext context{};
  context.attrs = &attrs;
  return Op(context);
}

const KernelContext kNoAttributes{};

TEST(Add, ScalesItsSecondOperand) {
  EXPECT_EQ(with_alpha<Add<float>>(1)(3, 4), 7);
  EXPECT_EQ(with_alpha<Add<float>>(2.5)(3, 4), 13);
  EXPECT_EQ(with_alpha<Sub<float>>(2.5)(3, 4), -7);
  EXPECT_EQ(with_alpha<Sub<double>>(-1)(3, 4), 7);
  EXPECT_EQ(with_alpha<Add<complex64>>(complex64(0, 1))({1, 2}, {3, 4}), complex64(-3, 5));
}

TEST(Add, DoesNotMultiplyInfinitiesByOne) {
  const complex64 sum = with_alpha<Add<complex64>>(1)({1, 1}, {kInf, 0}),
                  rest = with_alpha<Sub<complex64>>(1)({1, 1}, {kInf, 0});
  EXPECT_EQ(sum, complex64(kInf, 1));
  EXPECT_EQ(rest, complex64(-kInf, 1));
}

TEST(Integers, Wrap) {
  EXPECT_EQ(static_cast<int32_t>(with_alpha<Add<int32_t>>(1)(INT32_MAX, 1)), INT32_MIN);
  EXPECT_EQ(static_cast<int64_t>(with_alpha<Sub<int64_t>>(1)(static_cast<uint64_t>(INT64_MIN), 1)), INT64_MAX);
  EXPECT_EQ(static_cast<int8_t>(with_alpha<Add<int8_t>>(-3)(uint8_t{100}, static_cast<uint8_t>(-50))), int8_t(250));
  EXPECT_EQ(static_cast<int16_t>(Mul<int16_t>(kNoAttributes)(static_cast<uint16_t>(-300), 300)), int16_t(-90000));
  EXPECT_EQ(static_cast<int8_t>(Neg<int8_t>(kNoAttributes)(static_cast<uint8_t>(INT8_MIN))), INT8_MIN);
}

TEST(Mul, IsTheTextbookProductOfComplexNumbers) {
  EXPECT_EQ(Mul<complex64>(kNoAttributes)({1, 2}, {3, 4}), complex64(-5, 10));
  EXPECT_EQ(Conj<complex128>(kNoAttributes)({1, 2}), complex128(1, -2));
}

TEST(Relu, KeepsNaN) {
  const Relu<float> relu(kNoAttributes);
  EXPECT_EQ(relu(-2), 0);
  EXPECT_EQ(relu(3), 3);
  EXPECT_EQ(relu(kInf), kInf);
  EXPECT_TRUE(std::isnan(relu(kNan)));
  EXPECT_EQ(Relu<uint8_t>(kNoAttributes)(200), 200);
  EXPECT_EQ(Relu<int8_t>(kNoAttributes)(-1), 0);
}

TEST(ReluBackward, PassesWhereTheOutputIsPositive) {
  const ReluBackward<float> backward(kNoAttributes);
  EXPECT_EQ(backward(5, 2), 5);
  EXPECT_EQ(backward(5, 0), 0);
  EXPECT_EQ(backward(5, kNan), 0);
}

TEST(Comparisons, AreFalseWithNaNExceptNotEqual) {
  EXPECT_FALSE(Eq<float>(kNoAttributes)(kNan, kNan));
  EXPECT_TRUE(Ne<float>(kNoAttributes)(kNan, kNan));
  EXPECT_FALSE(Lt<float>(kNoAttributes)(kNan, 1));
  EXPECT_FALSE(Le<float>(kNoAttributes)(1, kNan));
  EXPECT_FALSE(Gt<float>(kNoAttributes)(kNan, 1));
  EXPECT_FALSE(Ge<float>(kNoAttributes)(1, kNan));
}

TEST(Comparisons, OrderTheirOperands) {
  EXPECT_TRUE(Lt<int64_t>(kNoAttributes)(-1, 1));
  EXPECT_FALSE(Gt<int64_t>(kNoAttributes)(-1, 1));
  EXPECT_TRUE(Gt<int64_t>(kNoAttributes)(2, 1));
  EXPECT_TRUE(Le<int32_t>(kNoAttributes)(1, 1));
  EXPECT_TRUE(Ge<int32_t>(kNoAttributes)(1, 1));
  EXPECT_FALSE(Ge<int32_t>(kNoAttributes)(0, 1));
  EXPECT_TRUE(Eq<complex64>(kNoAttributes)({1, 2}, {1, 2}));
  EXPECT_TRUE(Ne<complex64>(kNoAttributes)({1, 2}, {1, 3}));
}

TEST(Exp, IsThatOfTheType) {
  EXPECT_FLOAT_EQ(Exp<float>(kNoAttributes)(1), 2.71828183f);
  EXPECT_EQ(Exp<double>(kNoAttributes)(0), 1);
  const complex128 minus_one = Exp<complex128>(kNoAttributes)({0, 3.14159265358979323846});
  EXPECT_NEAR(minus_one.real(), -1, 1e-15);
  EXPECT_NEAR(minus_one.imag(), 0, 1e-15);
}

}  // namespace
}  // namespace vellum::cuda
