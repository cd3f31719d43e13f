// What the threads of an elementwise kernel do together, run by the host in turn.

#include "vellum/backends/cuda/kernels/element_loop.h"

#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace vellum::cuda {
namespace {

template <typename T, typename Result = T>
struct Minus {
  using Out = Result;
  using In = Types<T, T>;
  Result operator()(T a, T b) const { return Result(a - b); }
};

template <typename T>
struct IsLess {
  using Out = bool;
  using In = Types<T, T>;
  bool operator()(T a, T b) const { return a < b; }
};

template <typename T>
struct Seven {
  using Out = T;
  using In = Types<>;
  T operator()() const { return T(7); }
};

LoopPlan plan_of(std::vector<int64_t> sizes, std::vector<void*> data, std::vector<std::vector<int64_t>> strides) {
  LoopPlan plan{};
  plan.ndim = static_cast<int>(sizes.size());
  plan.operands = static_cast<int>(data.size());
  plan.numel = 1;
  for (int d = 0; d < plan.ndim; ++d) {
    plan.sizes[d] = sizes[d];
    plan.numel *= sizes[d];
    for (size_t k = 0; k < data.size(); ++k) plan.strides[k][d] = strides[k][d];
  }
  for (size_t k = 0; k < data.size(); ++k) plan.data[k] = data[k];
  return plan;
}

template <typename Op, typename H = float>
void run_strided(const Op& op, const LoopPlan& plan, int64_t threads) {
  using Loop = ElementLoop<Op, H>;
  const typename Loop::Operands operands(plan);
  for (int64_t t = 0; t < threads; ++t) Loop::strided(op, operands, t, threads);
}

template <typename Op, typename H = float>
void run_vectors(const Op& op, const LoopPlan& plan, int64_t threads) {
  using Loop = ElementLoop<Op, H>;
  const typename Loop::Operands operands(plan);
  ASSERT_TRUE(Loop::is_vectorizable(operands));
  ASSERT_GE(threads, plan.numel % Loop::kWidth) << "a launch has a thread for each element of the tail";
  for (int64_t t = 0; t < threads; ++t) Loop::vectors(op, operands, t, threads);
}

// An array at an address that is aligned to vectors.
template <typename T>
struct Aligned {
  alignas(kVectorBytes) T values[64] = {};
};

// --- locate

TEST(Locate, WalksTheIndexSpaceLikeAnOdometer) {
  std::mt19937 bits(1);
  for (int ndim = 0; ndim <= kMaxRank; ++ndim) {
    std::vector<int64_t> sizes(ndim), strides[2] = {std::vector<int64_t>(ndim), std::vector<int64_t>(ndim)};
    for (int d = 0; d < ndim; ++d) {
      sizes[d] = 1 + bits() % 3;
      for (auto& s : strides) s[d] = bits() % 4 ? static_cast<int64_t>(bits() % 1000) : 0;
    }
    const LoopPlan plan = plan_of(sizes, {nullptr, nullptr}, {strides[0], strides[1]});
    const Layout<2> layout(plan);
    std::vector<int64_t> at(ndim);
    for (int64_t i = 0; i < plan.numel; ++i) {
      int64_t expected[2] = {}, offsets[2];
      for (int k = 0; k < 2; ++k)
        for (int d = 0; d < ndim; ++d) expected[k] += at[d] * strides[k][d];
      locate(layout, i, offsets);
      ASSERT_EQ(offsets[0], expected[0]) << ndim << " dimensions, element " << i;
      ASSERT_EQ(offsets[1], expected[1]) << ndim << " dimensions, element " << i;
      for (int d = ndim - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
    }
  }
}

TEST(Locate, IsExactBeyond32Bits) {
  constexpr int64_t kWide = (int64_t{1} << 33) + 3;
  const LoopPlan plan = plan_of({5, kWide}, {nullptr}, {{int64_t{1} << 40, 2}});
  const Layout<1> layout(plan);
  for (const int64_t row : {0, 1, 4})
    for (const int64_t column : {int64_t{0}, int64_t{0xffffffff}, int64_t{1} << 32, kWide - 1}) {
      int64_t offset;
      locate(layout, row * kWide + column, &offset);
      EXPECT_EQ(offset, row * (int64_t{1} << 40) + column * 2) << row << ", " << column;
    }
}

TEST(Locate, DividesALargeIndexByASmallSize) {
  const LoopPlan plan = plan_of({int64_t{1} << 33, 3}, {nullptr}, {{1000, 1}});
  const Layout<1> layout(plan);
  for (const int64_t row : {int64_t{1431655764}, int64_t{1431655765}, int64_t{1431655766}, int64_t{1} << 32}) {
    int64_t offset;
    locate(layout, row * 3 + 2, &offset);
    EXPECT_EQ(offset, row * 1000 + 2) << row;
  }
}

// --- The strided loop

TEST(StridedLoop, BroadcastsRowsAndColumns) {
  const float row[] = {1, 2, 3}, column[] = {10, 20};
  float out[6] = {};
  const LoopPlan plan =
      plan_of({2, 3}, {out, const_cast<float*>(column), const_cast<float*>(row)}, {{12, 4}, {4, 0}, {0, 4}});
  run_strided(Minus<float>(), plan, 4);
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{9, 8, 7, 19, 18, 17}));
}

TEST(StridedLoop, LeavesWhatLiesBetweenElements) {
  double out[] = {-1, -1, -1, -1}, in[] = {5, 9, 6, 9};
  const LoopPlan plan = plan_of({2}, {out, in, in}, {{16}, {16}, {0}});
  run_strided(Minus<double>(), plan, 1);
  EXPECT_EQ(std::vector<double>(out, out + 4), (std::vector<double>{0, -1, 1, -1}));
}

TEST(StridedLoop, ComputesAScalar) {
  int32_t a = 3, b = 5, out = 0;
  run_strided(Minus<int32_t>(), plan_of({}, {&out, &a, &b}, {{}, {}, {}}), 32);
  EXPECT_EQ(out, -2);
}

TEST(StridedLoop, FillsWithoutInputs) {
  int16_t out[5] = {};
  run_strided(Seven<int16_t>(), plan_of({5}, {out}, {{2}}), 3);
  for (const int16_t x : out) EXPECT_EQ(x, 7);
}

// --- The vector loop

template <typename T>
class VectorLoop : public ::testing::Test {};
using Elements = ::testing::Types<uint8_t, int16_t, float, int64_t, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(VectorLoop, Elements);

TYPED_TEST(VectorLoop, ComputesEachElementAndNoneBeyond) {
  using T = TypeParam;
  constexpr int64_t kSize = sizeof(T);
  for (int64_t n = 0; n <= 40; ++n)
    for (int single = 0; single < 4; ++single)
      for (const int64_t threads : {16, 33}) {
        Aligned<T> a, b, out;
        for (int i = 0; i < 64; ++i) a.values[i] = T(3 * i), b.values[i] = T(i), out.values[i] = T(99);
        const bool one_a = single & 1, one_b = single & 2;
        run_vectors(Minus<T>(),
                    plan_of({n}, {out.values, a.values, b.values}, {{kSize}, {one_a ? 0 : kSize}, {one_b ? 0 : kSize}}),
                    threads);
        for (int i = 0; i < 64; ++i) {
          const T expected = i < n ? T((one_a ? T(0) : T(3 * i)) - (one_b ? T(0) : T(i))) : T(99);
          ASSERT_EQ(out.values[i], expected) << n << " elements, element " << i << ", single " << single;
        }
      }
}

TYPED_TEST(VectorLoop, MayWriteItsInput) {
  using T = TypeParam;
  constexpr int64_t kSize = sizeof(T);
  Aligned<T> a, b;
  for (int i = 0; i < 64; ++i) a.values[i] = T(3 * i), b.values[i] = T(i);
  run_vectors(Minus<T>(), plan_of({37}, {a.values, a.values, b.values}, {{kSize}, {kSize}, {kSize}}), 16);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(a.values[i], i < 37 ? T(2 * i) : T(3 * i)) << i;
}

TEST(VectorLoop, TakesInputsWiderThanTheOutput) {
  Aligned<double> a, b;
  Aligned<bool> out;
  for (int i = 0; i < 64; ++i) a.values[i] = i % 3, b.values[i] = 1;
  run_vectors(IsLess<double>(), plan_of({31}, {out.values, a.values, b.values}, {{1}, {8}, {8}}), 8);
  for (int i = 0; i < 31; ++i) EXPECT_EQ(out.values[i], i % 3 == 0) << i;
}

template <typename H>
void halves_are_floats_in_between() {
  constexpr int64_t kSize = sizeof(H);
  Aligned<H> a, b, vectors, strided;
  std::mt19937 bits(2);
  for (int i = 0; i < 64; ++i) {
    a.values[i] = H(static_cast<float>(bits() % 1000) / 7);
    b.values[i] = H(static_cast<float>(bits() % 1000) / 11);
  }
  const auto plan = [&](H* out) { return plan_of({45}, {out, a.values, b.values}, {{kSize}, {kSize}, {kSize}}); };
  run_vectors<Minus<float>, H>({}, plan(vectors.values), 16);
  run_strided<Minus<float>, H>({}, plan(strided.values), 16);
  for (int i = 0; i < 45; ++i) {
    const H expected(static_cast<float>(a.values[i]) - static_cast<float>(b.values[i]));
    EXPECT_EQ(vectors.values[i].bits, expected.bits) << i;
    EXPECT_EQ(strided.values[i].bits, expected.bits) << i;
  }
}

TEST(HalfTypes, AreFloatsInBetween) {
  halves_are_floats_in_between<float16>();
  halves_are_floats_in_between<bfloat16>();
}

TEST(HalfTypes, DoNotTouchOutputsOfOtherTypes) {
  Aligned<float16> a, b;
  Aligned<bool> out;
  for (int i = 0; i < 64; ++i) a.values[i] = float16(static_cast<float>(i)), b.values[i] = float16(20);
  run_vectors<IsLess<float>, float16>({}, plan_of({64}, {out.values, a.values, b.values}, {{1}, {2}, {2}}), 8);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out.values[i], i < 20) << i;
}

// --- Which loop

using FloatLoop = ElementLoop<Minus<float>>;

bool is_vectorizable(const LoopPlan& plan) { return FloatLoop::is_vectorizable(FloatLoop::Operands(plan)); }

TEST(IsVectorizable, WantsAlignedArraysOrSingleValues) {
  Aligned<float> a, out;
  float* const shifted = a.values + 1;
  EXPECT_EQ(FloatLoop::kWidth, 4);
  EXPECT_TRUE(is_vectorizable(plan_of({9}, {out.values, a.values, a.values}, {{4}, {4}, {4}})));
  EXPECT_TRUE(is_vectorizable(plan_of({9}, {out.values, shifted, a.values}, {{4}, {0}, {4}}))) << "one value";
  EXPECT_FALSE(is_vectorizable(plan_of({9}, {out.values, shifted, a.values}, {{4}, {4}, {4}}))) << "unaligned";
  EXPECT_FALSE(is_vectorizable(plan_of({9}, {shifted, a.values, a.values}, {{4}, {4}, {4}}))) << "unaligned output";
  EXPECT_FALSE(is_vectorizable(plan_of({9}, {out.values, a.values, a.values}, {{4}, {8}, {4}}))) << "gaps";
  EXPECT_FALSE(is_vectorizable(plan_of({9}, {out.values, a.values, a.values}, {{0}, {4}, {4}}))) << "one output";
  EXPECT_FALSE(is_vectorizable(plan_of({2, 4}, {out.values, a.values, a.values}, {{16, 4}, {16, 4}, {0, 4}})));
  EXPECT_FALSE(is_vectorizable(plan_of({}, {out.values, a.values, a.values}, {{}, {}, {}})));
}

TEST(IsVectorizable, LoadsAtMost16BytesOfTheWidestOperand) {
  EXPECT_EQ((ElementLoop<Minus<uint8_t>>::kWidth), 16);
  EXPECT_EQ((ElementLoop<Minus<float>, float16>::kWidth), 8);
  EXPECT_EQ((ElementLoop<IsLess<double>>::kWidth), 2);
  EXPECT_EQ((ElementLoop<Minus<std::complex<double>>>::kWidth), 1);
}

TEST(Work, IsAThreadForEachVectorAndForEachElementOfTheTail) {
  Aligned<float> a;
  const auto operands = [&](int64_t n) {
    return FloatLoop::Operands(plan_of({n}, {a.values, a.values, a.values}, {{4}, {4}, {4}}));
  };
  EXPECT_EQ(FloatLoop::work(operands(3), true), 3);
  EXPECT_EQ(FloatLoop::work(operands(4), true), 1);
  EXPECT_EQ(FloatLoop::work(operands(47), true), 11);
  EXPECT_EQ(FloatLoop::work(operands(47), false), 47);
}

}  // namespace
}  // namespace vellum::cuda
