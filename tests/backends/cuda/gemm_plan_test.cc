// What cuBLAS is asked for, carried out by a BLAS of three loops.

#include "vellum/backends/cuda/kernels/gemm_plan.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace vellum::cuda {
namespace {

using Numbers = std::vector<int64_t>;

// A tensor of the numbers 1, 2, ... at any strides.
struct Matrix {
  Numbers sizes, strides, values;

  Matrix(Numbers sizes_, Numbers strides_) : sizes(std::move(sizes_)), strides(std::move(strides_)) {
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) last += std::max<int64_t>(0, sizes[d] - 1) * strides[d];
    for (int64_t i = 0; i <= last; ++i) values.push_back(i % 11 + 1);
  }
  TensorArg arg() {
    int64_t numel = 1;
    for (const int64_t n : sizes) numel *= n;
    return {values.data(), sizes.data(), strides.data(), numel, kInt64, static_cast<uint8_t>(sizes.size()),
            false,         true};
  }
  int64_t at(const Numbers& index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    return values[static_cast<size_t>(offset)];
  }
};

Numbers next(Numbers index, const Numbers& sizes) {
  for (int d = static_cast<int>(index.size()) - 1; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  return index;
}

// The product by definition, row-major.
Numbers product(const Matrix& a, const Matrix& b) {
  const size_t r = a.sizes.size() - 2;
  Numbers batch(a.sizes.begin(), a.sizes.end() - 2), out;
  Numbers at(r);
  int64_t batches = 1;
  for (const int64_t n : batch) batches *= n;
  for (int64_t s = 0; s < batches; ++s, at = next(at, batch))
    for (int64_t i = 0; i < a.sizes[r]; ++i)
      for (int64_t j = 0; j < b.sizes[r + 1]; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < a.sizes[r + 1]; ++l) {
          Numbers ia = at, ib = at;
          ia.insert(ia.end(), {i, l});
          ib.insert(ib.end(), {l, j});
          sum += a.at(ia) * b.at(ib);
        }
        out.push_back(sum);
      }
  return out;
}

// What packing leaves in the workspace.
Numbers packed(const Matrix& x, const GemmOperand& operand) {
  Numbers out(static_cast<size_t>(operand.packed_elements), -1);
  const Numbers sizes(operand.packed_sizes, operand.packed_sizes + x.sizes.size());
  Numbers at(sizes.size());
  for (int64_t i = 0; i < operand.packed_elements; ++i, at = next(at, sizes)) {
    int64_t to = 0;
    for (size_t d = 0; d < sizes.size(); ++d) to += at[d] * operand.packed_strides[d];
    out[static_cast<size_t>(to)] = x.at(at);
  }
  return out;
}

// Element (row, column) of a matrix as cuBLAS reads it, and the condition it has on `leading`.
int64_t element(const Numbers& values, int64_t first, const GemmOperand& x, int64_t row, int64_t column) {
  return values.at(static_cast<size_t>(first + (x.column_major ? column * x.leading + row : row * x.leading + column)));
}

Numbers carried_out(Matrix& a, Matrix& b) {
  const GemmPlan plan = plan_gemm(a.arg(), b.arg());
  Numbers out(static_cast<size_t>(plan.calls * plan.batch() * plan.m * plan.n), -1);
  if (plan.is_empty()) return out;
  EXPECT_GE(plan.a.leading, std::max<int64_t>(1, plan.a.column_major ? plan.m : plan.k));
  EXPECT_GE(plan.b.leading, std::max<int64_t>(1, plan.b.column_major ? plan.k : plan.n));
  const Numbers va = plan.a.packed ? packed(a, plan.a) : a.values, vb = plan.b.packed ? packed(b, plan.b) : b.values;
  const int last = plan.batch_rank - 1;
  for (int64_t call = 0; call < plan.calls; ++call)
    for (int64_t s = 0; s < plan.batch(); ++s) {
      const GemmOffsets at = gemm_offsets(plan, call);
      const int64_t first_a = at.a + (last >= 0 ? s * plan.a.batch[last] : 0);
      const int64_t first_b = at.b + (last >= 0 ? s * plan.b.batch[last] : 0);
      for (int64_t i = 0; i < plan.m; ++i)
        for (int64_t j = 0; j < plan.n; ++j) {
          int64_t& c = out.at(static_cast<size_t>(at.c + (s * plan.m + i) * plan.n + j));
          c = 0;
          for (int64_t l = 0; l < plan.k; ++l)
            c += element(va, first_a, plan.a, i, l) * element(vb, first_b, plan.b, l, j);
        }
    }
  return out;
}

Numbers row_major(const Numbers& sizes) {
  Numbers strides(sizes.size(), 1);
  for (int d = static_cast<int>(sizes.size()) - 2; d >= 0; --d) strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

void expect_product(Matrix a, Matrix b) { EXPECT_EQ(carried_out(a, b), product(a, b)); }

GemmPlan plan_of(Matrix a, Matrix b) { return plan_gemm(a.arg(), b.arg()); }

TEST(GemmPlan, TakesRowsAndColumnsInPlace) {
  const Matrix rows({3, 4}, {4, 1}), columns({4, 5}, {1, 4}), wide({3, 4}, {9, 1}), tall({4, 5}, {1, 7});
  for (const Matrix& a : {rows, wide})
    for (const Matrix& b : {columns, tall}) {
      const GemmPlan plan = plan_of(a, b);
      EXPECT_FALSE(plan.a.packed || plan.b.packed);
      EXPECT_FALSE(plan.a.column_major);
      EXPECT_TRUE(plan.b.column_major);
      expect_product(a, b);
    }
}

TEST(GemmPlan, PacksWhatHasGapsBothWays) {
  const Matrix a({3, 4}, {16, 2}), b({4, 5}, {2, 16});
  const GemmPlan plan = plan_of(a, b);
  EXPECT_EQ(plan.a.packed_elements, 12);
  EXPECT_EQ(plan.b.packed_elements, 20);
  expect_product(a, b);
}

TEST(GemmPlan, PacksRepeatedAndOverlappingRows) {
  for (const Numbers& strides : {Numbers{0, 1}, Numbers{1, 0}, Numbers{0, 0}, Numbers{2, 1}, Numbers{1, 1}}) {
    EXPECT_TRUE(plan_of({{3, 4}, strides}, {{4, 2}, {2, 1}}).a.packed) << strides[0] << ", " << strides[1];
    expect_product({{3, 4}, strides}, {{4, 2}, {2, 1}});
  }
}

TEST(GemmPlan, CaresForNoStrideOfASizeOfOne) {
  for (const int64_t odd : {0, 1, 3, 100}) {
    expect_product({{1, 4}, {odd, 1}}, {{4, 1}, {1, odd}});
    expect_product({{3, 1}, {1, odd}}, {{1, 5}, {odd, 1}});
    expect_product({{1, 4}, {odd, 2}}, {{4, 1}, {2, odd}});
    expect_product({{1, 1}, {odd, odd}}, {{1, 1}, {odd, odd}});
  }
}

TEST(GemmPlan, IsOneCallForBatchesThatAreWalkedAsOne) {
  const Numbers a{2, 3, 4, 5}, b{2, 3, 5, 2};
  const GemmPlan plan = plan_of({a, row_major(a)}, {b, row_major(b)});
  EXPECT_EQ(plan.calls, 1);
  EXPECT_EQ(plan.batch(), 6);
  expect_product({a, row_major(a)}, {b, row_major(b)});
}

TEST(GemmPlan, RepeatsAMatrixWithoutCopyingIt) {
  const Numbers a{2, 3, 4, 5};
  const GemmPlan plan = plan_of({a, row_major(a)}, {{2, 3, 5, 2}, {0, 0, 2, 1}});
  EXPECT_EQ(plan.calls, 1);
  EXPECT_EQ(plan.b.batch[0], 0);
  expect_product({a, row_major(a)}, {{2, 3, 5, 2}, {0, 0, 2, 1}});
}

TEST(GemmPlan, PacksARepeatedMatrixOnce) {
  const Matrix a({6, 4, 5}, {20, 5, 1}), b({6, 5, 2}, {0, 4, 2});
  EXPECT_EQ(plan_of(a, b).b.packed_elements, 10);
  expect_product(a, b);
}

TEST(GemmPlan, LoopsOverBatchesThatDoNotMerge) {
  const Matrix a({2, 3, 4, 5}, {0, 20, 5, 1}), b({2, 3, 5, 2}, {10, 0, 2, 1});
  const GemmPlan plan = plan_of(a, b);
  EXPECT_EQ(plan.calls, 2);
  EXPECT_EQ(plan.batch(), 3);
  expect_product(a, b);
}

TEST(GemmPlan, IsEmptyWhereThereIsNoResult) {
  EXPECT_TRUE(plan_of({{0, 4}, {4, 1}}, {{4, 5}, {5, 1}}).is_empty());
  EXPECT_TRUE(plan_of({{3, 4}, {4, 1}}, {{4, 0}, {1, 1}}).is_empty());
  EXPECT_TRUE(plan_of({{0, 3, 4}, {12, 4, 1}}, {{0, 4, 5}, {20, 5, 1}}).is_empty());
  EXPECT_TRUE(plan_of({{2, 0, 3, 4}, {0, 0, 4, 1}}, {{2, 0, 4, 5}, {5, 20, 5, 1}}).is_empty());
  EXPECT_FALSE(plan_of({{3, 0}, {1, 1}}, {{0, 5}, {5, 1}}).is_empty()) << "sums of nothing are zeros";
}

TEST(GemmPlan, EqualsTheDefinitionForRandomGeometries) {
  std::mt19937 bits(3);
  for (int round = 0; round < 500; ++round) {
    const int batch_rank = static_cast<int>(bits() % 4);
    Numbers batch(static_cast<size_t>(batch_rank));
    for (int64_t& n : batch) n = 1 + bits() % 3;
    const auto matrix = [&](int64_t rows, int64_t columns) {
      Numbers sizes = batch;
      sizes.insert(sizes.end(), {rows, columns});
      // A random order of dimensions in memory, with gaps and repetitions.
      std::vector<int> order;
      for (int d = 0; d < static_cast<int>(sizes.size()); ++d) order.push_back(d);
      std::shuffle(order.begin(), order.end(), bits);
      Numbers strides(sizes.size());
      int64_t stride = 1 + bits() % 2;
      for (const int d : order) {
        const bool repeat = bits() % 4 == 0;
        strides[d] = repeat ? 0 : stride;
        if (!repeat) stride = stride * sizes[d] + bits() % 2;
      }
      return Matrix(sizes, strides);
    };
    const int64_t m = 1 + bits() % 4, k = 1 + bits() % 4, n = 1 + bits() % 4;
    expect_product(matrix(m, k), matrix(k, n));
  }
}

}  // namespace
}  // namespace vellum::cuda
