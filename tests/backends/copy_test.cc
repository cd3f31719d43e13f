#include <cmath>
#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::KernelTest;
using testing::Layout;
using testing::Value;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What `x` becomes; ranges are respected by the values that the tests use.
Value converted(Value x, DType to) {
  if (to == kBool) return x != 0.0 ? 1 : 0;
  if (is_complex(to)) return x;
  if (to == kUInt8) return static_cast<uint8_t>(static_cast<int>(x.real()));
  return is_integral(to) ? std::trunc(x.real()) : x.real();
}

class CopyTest : public KernelTest {
 protected:
  void copy(Array& from, Array& to) {
    const CopyAttrs attrs{to.dtype()};
    apply("copy", {&from}, to, &attrs, from.dtype());
  }
  Value copied(Value x, DType from, DType to) {
    Array a(from, {40}), b(to, {40});
    a.fill(x);
    copy(a, b);
    for (int64_t i = 1; i < 40; ++i) EXPECT_EQ(b.at(i), b.at(0)) << "element " << i;
    return b.at(0);
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(CopyTest);

TEST_P(CopyTest, ConvertsEachPairOfTypes) {
  for (int f = 0; f < kDTypeCount; ++f)
    for (int t = 0; t < kDTypeCount; ++t)
      for (const auto& layouts :
           {std::pair(Layout::kRowMajor, Layout::kRowMajor), std::pair(Layout::kTransposed, Layout::kRowMajor),
            std::pair(Layout::kBroadcast, Layout::kSpread)}) {
        Array from(static_cast<DType>(f), {13, 37}, layouts.first), to(static_cast<DType>(t), {13, 37}, layouts.second);
        from.randomize(generator_);
        copy(from, to);
        for (int64_t i = 0; i < to.numel(); ++i) {
          Array expected(to.dtype(), {1});
          expected.set(0, converted(from.at(i), to.dtype()));
          ASSERT_EQ(to.at(i), expected.at(0))
              << dtype_name(from.dtype()) << " to " << dtype_name(to.dtype()) << ", element " << i;
        }
      }
}

TEST_P(CopyTest, TransposesInTiles) {
  for (const DType dtype : {kUInt8, kFloat16, kFloat32, kFloat64, kComplex128})
    for (const Dims& shape : {Dims{100, 70}, Dims{5, 33, 65}, Dims{3, 4, 5, 6}, Dims{1000, 1000}}) {
      Array from(dtype, shape, Layout::kTransposed), to(dtype, shape);
      from.randomize(generator_);
      copy(from, to);
      for (int64_t i = 0; i < to.numel(); ++i) ASSERT_EQ(to.at(i), from.at(i)) << shape << " element " << i;
    }
}

TEST_P(CopyTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (const DType half : {kFloat16, kBFloat16}) {
    Array from(half, {65536}), wide(kFloat32, {65536}), back(half, {65536});
    for (int64_t i = 0; i < 65536; ++i) from.put(i, static_cast<uint16_t>(i));
    copy(from, wide);
    copy(wide, back);
    for (int64_t i = 0; i < 65536; ++i) {
      const float is = wide.get<float>(i);
      const float should = half == kFloat16 ? float(from.get<float16>(i)) : float(from.get<bfloat16>(i));
      ASSERT_TRUE(is == should || (std::isnan(is) && std::isnan(should))) << i;
      if (!std::isnan(is))
        ASSERT_EQ(back.get<uint16_t>(i), i);
      else
        ASSERT_TRUE(std::isnan(back.at(i).real()));
    }
  }
}

TEST_P(CopyTest, HalvesRoundToNearestEven) {
  for (const double x : {1 + 0x1p-11, 1 + 0x3p-11, 65519.0, 65520.0, 0x1p-25, 0x1.8p-25, -0x1p-24, 1e9}) {
    const float16 expected(static_cast<float>(x));
    EXPECT_EQ(copied(x, kFloat32, kFloat16), Value(float(expected))) << x;
    EXPECT_EQ(copied(x, kFloat32, kBFloat16), Value(float(bfloat16(static_cast<float>(x))))) << x;
  }
}

TEST_P(CopyTest, RealsOutsideOfAnIntegersRangeAreDefined) {
  for (const DType real : {kFloat32, kFloat64, kBFloat16}) {
    EXPECT_EQ(copied(kNaN, real, kInt32), Value(0));
    EXPECT_EQ(copied(-1, real, kUInt8), Value(255));
    EXPECT_EQ(copied(-kInfinity, real, kInt32), Value(-0x1p31));
    EXPECT_EQ(copied(-kInfinity, real, kInt64), Value(-0x1p63));
    EXPECT_GT(copied(kInfinity, real, kInt32).real(), 0x1.fep30);
    EXPECT_GT(copied(kInfinity, real, kInt64).real(), 0x1.fep62);
  }
  EXPECT_EQ(copied(kInfinity, kFloat64, kInt32), Value(0x1p31 - 1));
}

TEST_P(CopyTest, BoolIsWhetherNotZero) {
  EXPECT_EQ(copied(kNaN, kFloat32, kBool), Value(1));
  EXPECT_EQ(copied(Value(0, 2), kComplex64, kBool), Value(1));
  EXPECT_EQ(copied(-0.0, kFloat16, kBool), Value(0));
  EXPECT_EQ(copied(-128, kInt8, kBool), Value(1));
}

TEST_P(CopyTest, FillsEachType) {
  for (int t = 0; t < kDTypeCount; ++t)
    for (const Dims& shape : {Dims{}, Dims{0}, Dims{3}, Dims{1000}, Dims{7, 9}, Dims{300, 500}})
      for (const Layout layout : {Layout::kRowMajor, Layout::kSpread}) {
        Array a(static_cast<DType>(t), shape, layout);
        const FillAttrs attrs{3.0};
        apply("fill_", {}, a, &attrs, a.dtype());
        for (int64_t i = 0; i < a.numel(); ++i) ASSERT_EQ(a.at(i), converted(3, a.dtype())) << dtype_name(a.dtype());
      }
}

TEST_P(CopyTest, FillsWithComplexNumbersAndLargeIntegers) {
  Array z(kComplex64, {5}), n(kInt64, {5});
  const FillAttrs complex{complex64(1, 2)}, large{(int64_t{1} << 53) + 1};
  apply("fill_", {}, z, &complex, kComplex64);
  EXPECT_EQ(z.at(4), Value(1, 2));
  apply("fill_", {}, n, &large, kInt64);
  EXPECT_EQ(n.get<int64_t>(4), (int64_t{1} << 53) + 1);
}

}  // namespace
}  // namespace vellum
