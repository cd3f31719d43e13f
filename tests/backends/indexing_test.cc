#include <cmath>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Value;

class IndexingTest : public KernelTest {
 protected:
  Array indices(const Dims& shape, int64_t below) {
    Array index(kInt64, shape);
    for (int64_t i = 0; i < index.numel(); ++i) index.put(i, static_cast<int64_t>(generator_() % below));
    return index;
  }

  // The row-major position in `shape` of what element i of the index names.
  static int64_t source(const Array& index, const Dims& shape, int dim, int64_t i) {
    int64_t at = 0, stride = 1, rest = i;
    for (int d = shape.size() - 1; d >= 0; --d) {
      const int64_t coordinate = rest % index.shape()[d];
      rest /= index.shape()[d];
      at += (d == dim ? index.get<int64_t>(i) : coordinate) * stride;
      stride *= shape[d];
    }
    return shape.empty() ? index.get<int64_t>(i) : at;
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(IndexingTest);

struct GatherCase {
  Dims x, index;
  int dim;
};
const GatherCase kGathers[] = {{{5}, {9}, 0},
                               {{4, 6}, {4, 3}, 1},
                               {{4, 6}, {7, 5}, 0},
                               {{3, 4, 5}, {2, 9, 5}, 1},
                               {{3, 4, 5}, {3, 4, 2}, 2},
                               {{200, 300}, {100, 300}, 0},
                               {{300, 200}, {300, 90}, 1},
                               {{}, {}, 0},
                               {{3, 2}, {0, 2}, 0}};

TEST_P(IndexingTest, GathersEveryType) {
  for (int t = 0; t < kDTypeCount; ++t)
    for (const GatherCase& c : kGathers) {
      SCOPED_TRACE(::testing::Message() << c.x << ' ' << c.index << ' ' << c.dim);
      Array x(static_cast<DType>(t), c.x), index = indices(c.index, c.x.empty() ? 1 : c.x[c.dim]),
                                           out(x.dtype(), c.index);
      x.randomize(generator_);
      const DimAttrs attrs{c.dim, false};
      ASSERT_TRUE(call("gather", {&x, &index}, {&out}, {.attrs = &attrs}).ok());
      for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.at(i), x.at(source(index, c.x, c.dim, i)));
    }
}

TEST_P(IndexingTest, GatherBackwardAddsUp) {
  for (const DType dtype : {kBFloat16, kFloat32, kFloat64, kComplex64})
    for (const GatherCase& c : kGathers) {
      SCOPED_TRACE(::testing::Message() << c.x << ' ' << c.index << ' ' << c.dim);
      Array g(dtype, c.index), index = indices(c.index, c.x.empty() ? 1 : c.x[c.dim]), out(dtype, c.x);
      g.randomize(generator_), out.fill(9);
      const GatherBackwardAttrs attrs{c.dim, c.x};
      ASSERT_TRUE(call("gather_backward", {&g, &index}, {&out}, {.attrs = &attrs}).ok());
      std::vector<Value> expected(static_cast<size_t>(out.numel()));
      for (int64_t i = 0; i < g.numel(); ++i) expected[static_cast<size_t>(source(index, c.x, c.dim, i))] += g.at(i);
      for (int64_t i = 0; i < out.numel(); ++i) expect_close(out, i, expected[static_cast<size_t>(i)], 16, 4);
    }
}

TEST_P(IndexingTest, BadIndicesAreReportedBeforeAnythingIsRead) {
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, int64_t{1} << 60}) {
    Array x(kFloat32, {3, 4}), index(kInt64, {3, 2}), out(kFloat32, {3, 2}), back(kFloat32, {3, 4});
    index.put(5, bad);
    back.fill(9);
    const DimAttrs attrs{1, false};
    const GatherBackwardAttrs backward{1, {3, 4}};
    EXPECT_EQ(call("gather", {&x, &index}, {&out}, {.attrs = &attrs}).code, StatusCode::kInvalidArgument);
    EXPECT_EQ(call("gather_backward", {&out, &index}, {&back}, {.attrs = &backward}).code,
              StatusCode::kInvalidArgument);
    EXPECT_EQ(back.at(0), Value(9));  // nothing was written
  }
}

TEST_P(IndexingTest, CatJoinsAndSkipsEmpties) {
  for (int t = 0; t < kDTypeCount; ++t)
    for (int dim = 0; dim < 3; ++dim) {
      const DType dtype = static_cast<DType>(t);
      Dims sa{2, 3, 4}, sb = sa, sc = sa;
      sb[dim] = 5, sc[dim] = sa[dim] + 5;
      Array a(dtype, sa), none(dtype, {0}), b(dtype, sb), out(dtype, sc);
      a.randomize(generator_), b.randomize(generator_);
      const DimAttrs attrs{dim, false};
      ASSERT_TRUE(call("cat", {&a, &none, &b}, {&out}, {.attrs = &attrs}).ok());
      const Dims strides = contiguous_strides(sc);
      for (int64_t i = 0; i < out.numel(); ++i) {
        Dims at = Dims::of_size(3);
        for (int d = 0; d < 3; ++d) at[d] = i / strides[d] % sc[d];
        const bool first = at[dim] < sa[dim];
        if (!first) at[dim] -= sa[dim];
        const Dims from = contiguous_strides(first ? sa : sb);
        ASSERT_EQ(out.at(i), (first ? a : b).at(at[0] * from[0] + at[1] * from[1] + at[2] * from[2]));
      }
    }
}

TEST_P(IndexingTest, CatOfRowsOfAnyLength) {
  for (const int64_t width : {63, 511, 512, 513, 575, 1000, 4095, 4096, 4097, 20000}) {
    constexpr int64_t kRows = 5, kNarrow = 3;
    Array wide(kUInt8, {kRows, width}), narrow(kUInt8, {kRows, kNarrow}), out(kUInt8, {kRows, width + kNarrow});
    for (int64_t i = 0; i < wide.numel(); ++i) wide.put(i, static_cast<uint8_t>(i % 251));
    narrow.randomize(generator_);
    const DimAttrs attrs{1, false};
    ASSERT_TRUE(call("cat", {&wide, &narrow}, {&out}, {.attrs = &attrs}).ok());
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t row = i / (width + kNarrow), column = i % (width + kNarrow);
      ASSERT_EQ(out.at(i), column < width ? wide.at(row * width + column) : narrow.at(row * kNarrow + column - width))
          << width << " element " << i;
    }
  }
}

TEST_P(IndexingTest, CatOfManyTensors) {
  constexpr int64_t kRows = 3, kTensors = 40;
  std::vector<Array> columns(kTensors, Array(kFloat64, {kRows, 1}));
  std::vector<Array*> inputs;
  for (Array& column : columns) inputs.push_back(&column.randomize(generator_));
  Array out(kFloat64, {kRows, kTensors});
  const DimAttrs attrs{1, false};
  ASSERT_TRUE(call("cat", inputs, {&out}, {.attrs = &attrs}).ok());
  for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.at(i), columns[i % kTensors].at(i / kTensors)) << i;
}

TEST_P(IndexingTest, CatOfLongRuns) {
  Array a(kFloat32, {200000}), b(kFloat32, {100001}), out(kFloat32, {300001});
  a.randomize(generator_), b.randomize(generator_);
  const DimAttrs attrs{0, false};
  ASSERT_TRUE(call("cat", {&a, &b}, {&out}, {.attrs = &attrs}).ok());
  for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.at(i), i < 200000 ? a.at(i) : b.at(i - 200000));
}

TEST_P(IndexingTest, AsStridedBackwardAddsOverlaps) {
  for (const DType dtype : {kFloat16, kFloat32, kFloat64, kComplex128}) {
    const AsStridedBackwardAttrs attrs{{3, 4}, {5, 3}, {2, 1}, 1};  // windows of 3 at a step of 2
    Array g(dtype, attrs.size), out(dtype, attrs.shape);
    g.randomize(generator_), out.fill(9);
    ASSERT_TRUE(call("as_strided_backward", {&g}, {&out}, {.attrs = &attrs}).ok());
    std::vector<Value> expected(12);
    for (int64_t i = 0; i < 15; ++i) expected[static_cast<size_t>(1 + i / 3 * 2 + i % 3)] += g.at(i);
    for (int64_t i = 0; i < 12; ++i) expect_close(out, i, expected[static_cast<size_t>(i)], 4, 4);
  }
}

TEST_P(IndexingTest, MaxFindsTheFirst) {
  for (const DType dtype : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64})
    for (const Dims& shape : {Dims{1}, Dims{100}, Dims{7, 9}, Dims{3, 5, 300}})
      for (int dim = 0; dim < shape.size(); ++dim) {
        Dims kept = shape;
        kept[dim] = 1;
        Array x(dtype, shape), values(dtype, kept), indices(kInt64, kept);
        x.randomize(generator_);
        const DimAttrs attrs{dim, true};
        ASSERT_TRUE(call("max", {&x}, {&values, &indices}, {.attrs = &attrs}).ok());
        const int64_t inner = contiguous_strides(shape)[dim], n = shape[dim];
        for (int64_t i = 0; i < values.numel(); ++i) {
          int64_t best = 0;
          const auto at = [&](int64_t k) { return x.at((i / inner * n + k) * inner + i % inner).real(); };
          for (int64_t k = 1; k < n; ++k)
            if (at(k) > at(best)) best = k;
          ASSERT_EQ(indices.get<int64_t>(i), best);
          ASSERT_EQ(values.at(i).real(), at(best));
        }
      }
}

TEST_P(IndexingTest, TheFirstNaNIsTheMaximum) {
  for (const int64_t inner : {1, 20}) {
    Array x(kFloat32, {9, inner}), values(kFloat32, {inner}), indices(kInt64, {inner});
    x.randomize(generator_);
    x.set(4 * inner, std::nan("")), x.set(6 * inner, std::nan("")), x.set(7 * inner, 1e30);
    const DimAttrs attrs{0, false};
    ASSERT_TRUE(call("max", {&x}, {&values, &indices}, {.attrs = &attrs}).ok());
    EXPECT_TRUE(std::isnan(values.at(0).real()));
    EXPECT_EQ(indices.get<int64_t>(0), 4);
  }
}

}  // namespace
}  // namespace vellum
