#include "vellum/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace vellum {
namespace {

// The value of a pattern by the definition of the format: sign, exponent with this bias, fraction.
double decode(uint16_t bits, int exponent_bits, int bias) {
  const int fraction_bits = 15 - exponent_bits;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const double fraction = (bits & ((1 << fraction_bits) - 1)) * std::ldexp(1.0, -fraction_bits);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

struct Float16 {
  using Type = float16;
  static double value(uint16_t bits) { return decode(bits, 5, 15); }
  static constexpr uint16_t kInfinity = 0x7c00;
};
struct BFloat16 {
  using Type = bfloat16;
  static double value(uint16_t bits) { return decode(bits, 8, 127); }
  static constexpr uint16_t kInfinity = 0x7f80;
};

uint16_t pattern(float16 x) { return x.bits; }
uint16_t pattern(bfloat16 x) { return x.bits; }

template <typename Format>
typename Format::Type from_bits(uint16_t bits) {
  typename Format::Type x;
  x.bits = bits;
  return x;
}

template <typename Format>
class HalfTest : public ::testing::Test {};
using Formats = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTest, Formats);

TYPED_TEST(HalfTest, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float got = from_bits<TypeParam>(static_cast<uint16_t>(bits));
    const double expected = TypeParam::value(static_cast<uint16_t>(bits));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(got)) << bits;
    else
      ASSERT_EQ(got, expected) << bits;
    ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
  }
}

TYPED_TEST(HalfTest, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = from_bits<TypeParam>(static_cast<uint16_t>(bits));
    const typename TypeParam::Type back(value);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    else
      ASSERT_EQ(pattern(back), bits);
  }
}

// Between two neighbours: just below the middle goes down, just above goes up, the middle to the even one.
TYPED_TEST(HalfTest, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits + 1 < TypeParam::kInfinity; ++bits) {
    const uint16_t low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float middle = static_cast<float>((TypeParam::value(low) + TypeParam::value(high)) / 2);
    const typename TypeParam::Type below(std::nextafter(middle, 0.f)), at(middle),
        above(std::nextafter(middle, INFINITY));
    ASSERT_EQ(pattern(below), low) << bits;
    ASSERT_EQ(pattern(above), high) << bits;
    ASSERT_EQ(pattern(at), low % 2 ? high : low) << bits;
  }
}

TYPED_TEST(HalfTest, GoesToInfinityBeyondTheMiddleToTheNextPower) {
  const double largest = TypeParam::value(TypeParam::kInfinity - 1);
  const double step = largest - TypeParam::value(TypeParam::kInfinity - 2);
  const float limit = static_cast<float>(largest + step / 2);
  EXPECT_EQ(pattern(typename TypeParam::Type(limit)), TypeParam::kInfinity);
  EXPECT_EQ(pattern(typename TypeParam::Type(std::nextafter(limit, 0.f))), TypeParam::kInfinity - 1);
  EXPECT_EQ(pattern(typename TypeParam::Type(-INFINITY)), TypeParam::kInfinity | 0x8000);
}

TYPED_TEST(HalfTest, KeepsNanAPatternOfNan) {
  for (const float nan : {std::nanf(""), -std::nanf(""), std::numeric_limits<float>::signaling_NaN()})
    EXPECT_TRUE(std::isnan(static_cast<float>(typename TypeParam::Type(nan))));
}

}  // namespace
}  // namespace vellum
