#include <bit>
#include <cmath>
#include <numbers>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Value;

const DType kFloats[] = {kFloat16, kBFloat16, kFloat32, kFloat64};
const int64_t kSizes[] = {0, 1, 3, 17, 255, 256, 257, 1000, 20001};

// The known answer of Random123 for counter 0 and key 0.
TEST(Philox, KnownAnswer) {
  const std::array<uint32_t, 4> expected = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(philox(0, 0), expected);
}

// The scalar statement of tensor/generator.h.
uint32_t draw(const RandomState& state, uint64_t d) {
  return philox(state.seed, (state.offset + d) / 4)[(state.offset + d) % 4];
}

double uniform(const RandomState& state, DType dtype, uint64_t i) {
  if (dtype != kFloat64) return (draw(state, i) >> 8) * 0x1p-24;
  return static_cast<double>((uint64_t{draw(state, 2 * i)} << 32 | draw(state, 2 * i + 1)) >> 11) * 0x1p-53;
}

double normal(const RandomState& state, DType dtype, uint64_t i) {
  const uint64_t pair = i / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(1 - uniform(state, dtype, pair)));
  const double angle = 2 * std::numbers::pi * uniform(state, dtype, pair + 1);
  return radius * (i % 2 ? std::sin(angle) : std::cos(angle));
}

const RandomState kStates[] = {{67280421310721, 0}, {0xFEDCBA9876543210, 0x3FFFFFFFC}};

class RandomTest : public KernelTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(RandomTest);

TEST_P(RandomTest, UniformIsAsDocumented) {
  for (const RandomState& state : kStates)
    for (const DType dtype : kFloats)
      for (const int64_t n : kSizes) {
        Array plain(dtype, {n}), ranged(dtype, {n});
        const UniformAttrs unit{0, 1}, range{-3, 5};
        ASSERT_TRUE(call("uniform_", {}, {&plain}, {.attrs = &unit, .random = state}).ok());
        ASSERT_TRUE(call("uniform_", {}, {&ranged}, {.attrs = &range, .random = state}).ok());
        for (int64_t i = 0; i < n; ++i) {
          const double u = uniform(state, dtype, static_cast<uint64_t>(i));
          expect_close(plain, i, u, is_floating(dtype) && testing::epsilon(dtype) < 0x1p-20 ? 0 : 1);
          expect_close(ranged, i, -3 + 8 * u, 2, 4);
        }
      }
}

TEST_P(RandomTest, NormalIsAsDocumented) {
  for (const RandomState& state : kStates)
    for (const DType dtype : kFloats)
      for (const int64_t n : kSizes) {
        Array x(dtype, {n});
        const NormalAttrs attrs{0.5, 2};
        ASSERT_TRUE(call("normal_", {}, {&x}, {.attrs = &attrs, .random = state}).ok());
        for (int64_t i = 0; i < n; ++i)
          expect_close(x, i, 0.5 + 2 * normal(state, dtype, static_cast<uint64_t>(i)), 16, 1);
      }
}

TEST_P(RandomTest, DropoutIsAsDocumented) {
  for (const RandomState& state : kStates)
    for (const DType dtype : kFloats)
      for (const double p : {0.1, 0.5, 0.9})
        for (const int64_t n : kSizes) {
          Array x(dtype, {n}), y(dtype, {n}), saved(kInt64, {2});
          x.randomize(generator_);
          const DropoutAttrs attrs{p};
          ASSERT_TRUE(call("dropout", {&x}, {&y, &saved}, {.attrs = &attrs, .random = state}).ok());
          for (int64_t i = 0; i < n; ++i) {
            const bool keeps = uniform(state, kFloat32, static_cast<uint64_t>(i)) >= p;
            expect_close(y, i, keeps ? x.at(i) / (1 - p) : Value(0), 4);
          }
          EXPECT_EQ(saved.get<uint64_t>(0), state.seed);
          EXPECT_EQ(saved.get<uint64_t>(1), state.offset);
        }
}

TEST_P(RandomTest, DropoutBackwardRegeneratesTheMask) {
  Array x(kFloat32, {5000}), y(kFloat32, {5000}), saved(kInt64, {2}), again(kFloat32, {5000}), none(kInt64, {2});
  x.randomize(generator_);
  const DropoutAttrs attrs{0.3};
  ASSERT_TRUE(call("dropout", {&x}, {&y, &saved}, {.attrs = &attrs, .random = kStates[1]}).ok());
  ASSERT_TRUE(call("dropout_backward", {&x, &saved}, {&again}, {.attrs = &attrs}).ok());
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(again.at(i), y.at(i));
  ASSERT_TRUE(call("dropout", {&x}, {&again, nullptr}, {.attrs = &attrs, .random = kStates[1]}).ok());
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(again.at(i), y.at(i));
}

TEST_P(RandomTest, DropoutOfEverything) {
  Array x(kFloat32, {50}), y(kFloat32, {50});
  x.fill(std::nan("")), y.fill(9);
  const DropoutAttrs attrs{1};
  ASSERT_TRUE(call("dropout", {&x}, {&y, nullptr}, {.attrs = &attrs, .random = kStates[0]}).ok());
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(y.at(i), Value(0));
}

TEST_P(RandomTest, NumbersDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  const NormalAttrs attrs{0, 1};
  Array one(kFloat32, {100003}), three(kFloat32, {100003});
  set_num_threads(1);
  ASSERT_TRUE(call("normal_", {}, {&one}, {.attrs = &attrs, .random = kStates[0]}).ok());
  set_num_threads(3);
  ASSERT_TRUE(call("normal_", {}, {&three}, {.attrs = &attrs, .random = kStates[0]}).ok());
  set_num_threads(before);
  for (int64_t i = 0; i < one.numel(); ++i) ASSERT_EQ(one.at(i), three.at(i));
}

}  // namespace
}  // namespace vellum
