#include <cmath>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Layout;
using testing::Value;

const DType kTypes[] = {kUInt8,    kInt8,    kInt16,   kInt32,     kInt64,     kFloat16,
                        kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128};

class MatmulTest : public KernelTest {
 protected:
  // Element [i, j] in batch s of a times b.
  static Value product(const Array& a, const Array& b, int64_t s, int64_t i, int64_t j) {
    const int r = a.shape().size();
    const int64_t m = a.shape()[r - 2], k = a.shape()[r - 1], n = b.shape()[r - 1];
    Value total = 0;
    for (int64_t p = 0; p < k; ++p) total += a.at((s * m + i) * k + p) * b.at((s * k + p) * n + j);
    return total;
  }

  void check(DType dtype, const Dims& batch, int64_t m, int64_t n, int64_t k, Layout layout_a, Layout layout_b) {
    Dims sa = batch, sb = batch, sc = batch;
    sa.push_back(m), sa.push_back(k), sb.push_back(k), sb.push_back(n), sc.push_back(m), sc.push_back(n);
    SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << sa << " x " << sb << " layouts "
                                      << static_cast<int>(layout_a) << ' ' << static_cast<int>(layout_b));
    Array a(dtype, sa, layout_a), b(dtype, sb, layout_b), c(dtype, sc);
    a.randomize(generator_), b.randomize(generator_);
    c.fill(77);
    ASSERT_TRUE(call("matmul", {&a, &b}, {&c}, {}).ok());
    for (int64_t i = 0; i < c.numel(); ++i) {
      Value expected = product(a, b, i / (m * n), i / n % m, i % n);
      if (dtype == kInt8) expected = static_cast<int8_t>(static_cast<int64_t>(expected.real()));
      if (dtype == kUInt8) expected = static_cast<uint8_t>(static_cast<int64_t>(expected.real()));
      expect_close(c, i, expected, 32, 4 * std::sqrt(static_cast<double>(k)));
    }
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(MatmulTest);

TEST_P(MatmulTest, SizesOfEveryType) {
  const int64_t sizes[][3] = {{1, 1, 1},   {1, 17, 3},   {8, 16, 16}, {16, 16, 8},  {3, 5, 7},      {17, 33, 9},
                              {2, 100, 1}, {13, 10, 16}, {7, 64, 31}, {40, 41, 42}, {70, 130, 257}, {1, 300, 400}};
  for (const DType dtype : kTypes)
    for (const auto& [m, n, k] : sizes)
      for (const Layout b : {Layout::kRowMajor, Layout::kTransposed}) check(dtype, {}, m, n, k, Layout::kRowMajor, b);
}

TEST_P(MatmulTest, AnyStrides) {
  for (const DType dtype : {kInt32, kFloat16, kFloat32, kFloat64, kComplex64})
    for (const Layout a : {Layout::kRowMajor, Layout::kTransposed, Layout::kSpread, Layout::kBroadcast})
      for (const Layout b : {Layout::kRowMajor, Layout::kTransposed, Layout::kSpread, Layout::kBroadcast})
        for (const int64_t size : {1, 9, 60}) check(dtype, {}, size, size + 1, size + 2, a, b);
}

TEST_P(MatmulTest, Batches) {
  for (const DType dtype : {kInt64, kBFloat16, kFloat32, kFloat64, kComplex128})
    for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kBroadcast}) {
      check(dtype, {3}, 4, 5, 6, layout, Layout::kRowMajor);
      check(dtype, {2, 3}, 35, 36, 37, Layout::kRowMajor, layout);
      check(dtype, {500}, 8, 8, 8, layout, layout);
    }
}

TEST_P(MatmulTest, EmptySizes) {
  for (const DType dtype : kTypes) {
    check(dtype, {}, 3, 4, 0, Layout::kRowMajor, Layout::kRowMajor);
    check(dtype, {}, 0, 4, 3, Layout::kRowMajor, Layout::kRowMajor);
    check(dtype, {}, 3, 0, 4, Layout::kRowMajor, Layout::kTransposed);
    check(dtype, {0}, 3, 4, 5, Layout::kRowMajor, Layout::kRowMajor);
    check(dtype, {}, 300, 400, 0, Layout::kRowMajor, Layout::kRowMajor);
  }
}

TEST_P(MatmulTest, ThreadsGiveTheSame) {
  const int before = get_num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const DType dtype : {kFloat32, kFloat64, kComplex64, kInt32})
      check(dtype, {}, 150, 140, 130, Layout::kTransposed, Layout::kRowMajor);
  }
  set_num_threads(before);
}

class LinearTest : public MatmulTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(LinearTest);

TEST_P(LinearTest, AgreesWithScalarLoops) {
  const int64_t sizes[][3] = {{8, 16, 16}, {1, 1, 1}, {8, 10, 16}, {3, 5, 0}, {0, 5, 4}, {33, 17, 65}, {130, 120, 300}};
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128})
    for (const auto& [rows, m, k] : sizes)
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << dtype_name(dtype) << ' ' << rows << ' ' << m << ' ' << k << ' ' << has_bias);
        Array x(dtype, {rows, 1, k}), weight(dtype, {m, k}), bias(dtype, {m}), out(dtype, {rows, 1, m});
        x.randomize(generator_), weight.randomize(generator_), bias.randomize(generator_);
        ASSERT_TRUE(call("linear", {&x, &weight, has_bias ? &bias : nullptr}, {&out}, {}).ok());
        for (int64_t i = 0; i < out.numel(); ++i) {
          Value expected = has_bias ? bias.at(i % m) : 0;
          for (int64_t p = 0; p < k; ++p) expected += x.at(i / m * k + p) * weight.at(i % m * k + p);
          expect_close(out, i, expected, 32, 4 * std::sqrt(static_cast<double>(k)));
        }
      }
}

}  // namespace
}  // namespace vellum
