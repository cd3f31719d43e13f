#include <cmath>
#include <limits>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Layout;
using testing::Value;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The row-major position in the reduced tensor of element i of `shape`.
int64_t kept_index(int64_t i, const Dims& shape, uint32_t dims) {
  int64_t at = 0, stride = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (!(dims >> d & 1)) at += i % shape[d] * stride, stride *= shape[d];
    i /= shape[d];
  }
  return at;
}

class ReduceTest : public KernelTest {
 protected:
  Array reduce(std::string_view op, Array& in, uint32_t dims, Layout layout = Layout::kRowMajor) {
    Dims shape = in.shape();
    for (int d = 0; d < shape.size(); ++d)
      if (dims >> d & 1) shape[d] = 1;
    Array out(in.dtype(), shape, layout);
    const LoopPlan plan = testing::reduction_plan(out, in, dims);
    EXPECT_TRUE(call(op, {&in}, {&out}, {.loop = &plan}).ok());
    return out;
  }

  void check(std::string_view op, Array& in, uint32_t dims, Layout out_layout = Layout::kRowMajor) {
    SCOPED_TRACE(::testing::Message() << op << ' ' << dtype_name(in.dtype()) << ' ' << in.shape() << " dims " << dims);
    const Array out = reduce(op, in, dims, out_layout);
    // Wider than double, whose own sums would err more than those under test.
    using Wide = std::complex<long double>;
    std::vector<Wide> folded(static_cast<size_t>(out.numel()), op == "amax" ? Wide(-kInfinity) : Wide(0));
    for (int64_t i = 0; i < in.numel(); ++i) {
      Wide& into = folded[static_cast<size_t>(kept_index(i, in.shape(), dims))];
      const Wide x(in.at(i).real(), in.at(i).imag());
      into = op == "amax" ? Wide(std::max(into.real(), x.real())) : into + x;
    }
    const double count = out.numel() ? static_cast<double>(in.numel()) / static_cast<double>(out.numel()) : 0;
    for (int64_t i = 0; i < out.numel(); ++i) {
      const Wide& total = folded[static_cast<size_t>(i)];
      Value e(static_cast<double>(total.real()), static_cast<double>(total.imag()));
      if (op == "mean") e /= count;
      // Random terms of magnitude 1: partial sums are as large as the square root of their number.
      expect_close(out, i, e, 64, op == "mean" ? 1 / std::sqrt(count + 1) : std::sqrt(count) + 1);
    }
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(ReduceTest);

const Dims kShapes[] = {{1},       {3},       {17},       {100},       {1000},      {5, 7},
                        {300, 17}, {17, 300}, {6, 5, 40}, {4, 300, 9}, {2, 3, 4, 5}};

TEST_P(ReduceTest, AgreesWithScalarLoops) {
  for (const std::string_view op : {"sum", "mean", "amax"})
    for (const DType dtype : {kInt64, kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128}) {
      if ((op == "mean" && dtype == kInt64) || (op == "amax" && is_complex(dtype))) continue;
      for (const Dims& shape : kShapes)
        for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kSpread, Layout::kBroadcast}) {
          Array in(dtype, shape, layout);
          in.randomize(generator_);
          for (uint32_t dims = 1; dims < 1u << shape.size(); ++dims) check(op, in, dims);
        }
    }
}

TEST_P(ReduceTest, FoldsLongRows) {
  for (const DType dtype : {kInt64, kFloat32, kFloat64, kComplex64})
    for (const int64_t width : {1023, 1025, 5000, 8193, 40000}) {
      Array in(dtype, {2, width});
      in.randomize(generator_);
      check("sum", in, 2);
    }
}

TEST_P(ReduceTest, MaximumOfEveryRealType) {
  for (const DType dtype : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64})
    for (uint32_t dims = 1; dims < 4; ++dims) {
      Array in(dtype, {30, 40});
      in.randomize(generator_);
      check("amax", in, dims);
    }
}

TEST_P(ReduceTest, WritesStridedOutputs) {
  Array in(kFloat32, {20, 30, 8});
  in.randomize(generator_);
  for (uint32_t dims = 1; dims < 7; ++dims) check("sum", in, dims, Layout::kSpread);
}

TEST_P(ReduceTest, EmptyReductions) {
  for (const Dims& shape : {Dims{5, 0}, Dims{0, 5}, Dims{0}, Dims{0, 0}}) {
    const uint32_t dims = shape[0] == 0 ? 1 : 2;
    Array in(kFloat32, shape);
    const Array total = reduce("sum", in, dims), mean = reduce("mean", in, dims);
    for (int64_t i = 0; i < total.numel(); ++i) {
      EXPECT_EQ(total.at(i), Value(0));
      EXPECT_TRUE(std::isnan(mean.at(i).real()));
    }
  }
}

TEST_P(ReduceTest, MaximumPropagatesNaN) {
  for (const int64_t where : {0, 5, 99}) {
    Array row(kFloat32, {2, 100}), column(kFloat32, {100, 8});
    row.randomize(generator_), column.randomize(generator_);
    row.set(where, kNaN), column.set(where * 8, kNaN);
    EXPECT_TRUE(std::isnan(reduce("amax", row, 2).at(0).real()));
    EXPECT_FALSE(std::isnan(reduce("amax", row, 2).at(1).real()));
    EXPECT_TRUE(std::isnan(reduce("amax", column, 1).at(0).real()));
    EXPECT_FALSE(std::isnan(reduce("amax", column, 1).at(1).real()));
  }
}

TEST_P(ReduceTest, LargeSumsOfFloatsAreAccurate) {
  constexpr int64_t kCount = 1 << 22;
  for (const Dims& shape : {Dims{kCount}, Dims{kCount / 4, 4}}) {
    Array in(kFloat32, shape);
    double expected = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      in.put(i, 0.1f + static_cast<float>(i % 7));
      expected += static_cast<double>(in.get<float>(i));
    }
    expect_close(reduce("sum", in, shape.size() == 1 ? 1 : 3), 0, expected, 4);
  }
}

TEST_P(ReduceTest, ResultsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  for (const Dims& shape : {Dims{1, 300001}, Dims{20000, 30}, Dims{3, 100000}}) {
    Array in(kFloat32, shape);
    in.randomize(generator_);
    for (const uint32_t dims : {1u, 2u}) {
      set_num_threads(1);
      const Array one = reduce("sum", in, dims);
      set_num_threads(3);
      const Array three = reduce("sum", in, dims);
      for (int64_t i = 0; i < one.numel(); ++i) ASSERT_EQ(one.get<float>(i), three.get<float>(i)) << shape;
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace vellum
