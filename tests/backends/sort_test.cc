#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::KernelTest;

const DType kReals[] = {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64};

// Lines shorter and longer than where the algorithm changes.
struct Case {
  Dims shape;
  int dim;
};
const Case kCases[] = {{{1}, 0},    {{100}, 0},     {{5000}, 0},    {{7, 9}, 0},
                       {{7, 9}, 1}, {{3, 2000}, 1}, {{2000, 3}, 0}, {{2, 1100, 2}, 1}};

class SortTest : public KernelTest {
 protected:
  // The places of a line's elements in their order; equal ones keep theirs.
  static std::vector<int64_t> order(const Array& x, int64_t start, int64_t step, int64_t n, bool descending) {
    std::vector<int64_t> places(static_cast<size_t>(n));
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
      double left = x.at(start + a * step).real(), right = x.at(start + b * step).real();
      if (descending) std::swap(left, right);
      return left < right || (std::isnan(right) && !std::isnan(left));
    });
    return places;
  }

  // Compares the first k of each line; `places` makes them of the line's order.
  template <typename F>
  static void compare(const Array& x, const Array& values, const Array& indices, int dim, bool descending, F places) {
    const int64_t step = contiguous_strides(x.shape())[dim], n = x.shape()[dim], k = values.shape()[dim];
    for (int64_t line = 0; line < x.numel() / n; ++line) {
      const int64_t start = line / step * n * step + line % step, to = line / step * k * step + line % step;
      const std::vector<int64_t> expected = places(order(x, start, step, n, descending));
      for (int64_t i = 0; i < k; ++i) {
        const int64_t place = expected[static_cast<size_t>(i)];
        ASSERT_EQ(indices.get<int64_t>(to + i * step), place) << "line " << line << ", element " << i;
        const double value = x.at(start + place * step).real(), written = values.at(to + i * step).real();
        ASSERT_TRUE(written == value || (std::isnan(written) && std::isnan(value))) << written << " for " << value;
        ASSERT_EQ(std::signbit(written), std::signbit(value));
      }
    }
  }

  void check_sort(Array& x, int dim, bool descending) {
    SCOPED_TRACE(::testing::Message() << dtype_name(x.dtype()) << x.shape() << " dim " << dim << ' ' << descending);
    Array values(x.dtype(), x.shape()), indices(kInt64, x.shape());
    const SortAttrs attrs{{dim}, descending};
    ASSERT_TRUE(call("sort", {&x}, {&values, &indices}, {.attrs = &attrs}).ok());
    compare(x, values, indices, dim, descending, [](std::vector<int64_t> all) { return all; });
  }

  void check_topk(Array& x, int dim, int64_t k, bool largest, bool sorted) {
    SCOPED_TRACE(::testing::Message() << dtype_name(x.dtype()) << x.shape() << " dim " << dim << " k " << k);
    Dims shape = x.shape();
    shape[dim] = k;
    Array values(x.dtype(), shape), indices(kInt64, shape);
    const TopKAttrs attrs{{dim}, k, largest, sorted};
    ASSERT_TRUE(call("topk", {&x}, {&values, &indices}, {.attrs = &attrs}).ok());
    compare(x, values, indices, dim, largest, [&](std::vector<int64_t> all) {
      all.resize(static_cast<size_t>(k));
      if (!sorted) std::sort(all.begin(), all.end());
      return all;
    });
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(SortTest);

TEST_P(SortTest, AgreesWithAStableSort) {
  for (const DType dtype : kReals)
    for (const Case& c : kCases)
      for (const bool descending : {false, true}) {
        Array x(dtype, c.shape);
        x.randomize(generator_);
        check_sort(x, c.dim, descending);
      }
}

// Few distinct values among them the ends of the range, so that ties and every digit matter.
TEST_P(SortTest, SpecialValuesAndTies) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double specials[] = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan(""), 1e-3, -2, 300};
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64})
    for (const int64_t n : {50, 3000}) {
      Array x(dtype, {n});
      for (int64_t i = 0; i < n; ++i) x.set(i, specials[generator_() % std::size(specials)]);
      for (const bool descending : {false, true}) check_sort(x, 0, descending);
      for (const int64_t k : {int64_t{1}, n / 3, n / 2, n})
        for (const bool largest : {false, true}) check_topk(x, 0, k, largest, true);
    }
}

TEST_P(SortTest, IntegersOverTheirWholeRange) {
  for (const int64_t n : {60, 4000}) {
    Array narrow(kInt32, {n}), wide(kInt64, {n});
    for (int64_t i = 0; i < n; ++i) {
      narrow.put(i, static_cast<int32_t>(generator_()));
      // The reference compares in double, which holds 52 bits.
      wide.put(i, static_cast<int64_t>(static_cast<uint64_t>(generator_()) << 32) & ~int64_t{0xfffff});
    }
    for (const bool descending : {false, true}) {
      check_sort(narrow, 0, descending);
      check_sort(wide, 0, descending);
      check_topk(narrow, 0, 20, descending, true);
      check_topk(wide, 0, 20, descending, true);
    }
  }
}

TEST_P(SortTest, TopKAgreesWithTheFirstOfAStableSort) {
  for (const DType dtype : kReals)
    for (const Case& c : kCases)
      for (const bool sorted : {false, true}) {
        Array x(dtype, c.shape);
        x.randomize(generator_);
        const int64_t n = c.shape[c.dim];
        for (const int64_t k : {int64_t{1}, n / 2, n})
          if (k > 0) check_topk(x, c.dim, k, true, sorted), check_topk(x, c.dim, k, false, sorted);
      }
}

// Every element is a new candidate, or none is.
TEST_P(SortTest, TopKOfOrderedLines) {
  for (const bool rising : {false, true}) {
    Array x(kFloat32, {20000});
    for (int64_t i = 0; i < 20000; ++i) x.put(i, static_cast<float>(rising ? i : -i));
    for (const int64_t k : {1, 10, 2000})
      for (const bool largest : {false, true}) check_topk(x, 0, k, largest, true);
  }
}

}  // namespace
}  // namespace vellum
