// Reductions beside sums: each against its definition over the group of elements that one output is made of.

#include <cmath>
#include <functional>
#include <limits>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Layout;
using testing::Value;
using Group = std::vector<Value>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Group> groups_of(const Array& in, uint32_t dims) {
  const Dims& shape = in.shape();
  int64_t outputs = 1;
  for (int d = 0; d < shape.size(); ++d)
    if (!(dims >> d & 1)) outputs *= shape[d];
  std::vector<Group> groups(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < in.numel(); ++i) {
    int64_t at = 0, stride = 1, rest = i;
    for (int d = shape.size() - 1; d >= 0; --d) {
      if (!(dims >> d & 1)) at += rest % shape[d] * stride, stride *= shape[d];
      rest /= shape[d];
    }
    groups[static_cast<size_t>(at)].push_back(in.at(i));
  }
  return groups;
}

double variance_of(const Group& group, double correction) {
  Value mean = 0;
  for (const Value x : group) mean += x;
  mean /= static_cast<double>(group.size());
  double squares = 0;
  for (const Value x : group) squares += std::norm(x - mean);
  return squares / std::max(0.0, static_cast<double>(group.size()) - correction);
}

double norm_of(const Group& group, double p) {
  long double total = p == -kInfinity ? kInfinity : 0;
  for (const Value x : group) {
    const long double size = std::abs(x);
    total = p == kInfinity    ? std::max(total, size)
            : p == -kInfinity ? std::min(total, size)
            : p == 0          ? total + (size != 0)
                              : total + std::pow(size, static_cast<long double>(p));
  }
  return static_cast<double>(p == 0 || std::isinf(p) ? total : std::pow(total, 1 / static_cast<long double>(p)));
}

class MomentsTest : public KernelTest {
 protected:
  Array reduce(std::string_view op, Array& in, uint32_t dims, const void* attrs, DType dtype,
               Layout layout = Layout::kRowMajor) {
    Dims shape = in.shape();
    for (int d = 0; d < shape.size(); ++d)
      if (dims >> d & 1) shape[d] = 1;
    Array out(dtype, shape, layout);
    const LoopPlan plan = testing::reduction_plan(out, in, dims);
    EXPECT_TRUE(call(op, {&in}, {&out}, {.attrs = attrs, .loop = &plan}).ok());
    return out;
  }

  void check(std::string_view op, Array& in, uint32_t dims, const void* attrs, DType dtype,
             const std::function<Value(const Group&)>& f, double ulps = 64) {
    SCOPED_TRACE(::testing::Message() << op << ' ' << dtype_name(in.dtype()) << ' ' << in.shape() << " dims " << dims);
    const Array out = reduce(op, in, dims, attrs, dtype);
    const std::vector<Group> groups = groups_of(in, dims);
    for (size_t i = 0; i < groups.size(); ++i) expect_close(out, static_cast<int64_t>(i), f(groups[i]), ulps, 1);
  }

  // Calls body(array, dims) for dtypes, shapes, layouts and dimensions.
  template <typename F>
  void for_cases(std::initializer_list<DType> dtypes, F body) {
    for (const DType dtype : dtypes)
      for (const Dims& shape : {Dims{7}, Dims{1500}, Dims{5, 7}, Dims{300, 17}, Dims{17, 300}, Dims{4, 100, 9}})
        for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kSpread}) {
          Array in(dtype, shape, layout);
          in.randomize(generator_);
          for (uint32_t dims = 1; dims < 1u << shape.size(); ++dims) body(in, dims);
        }
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(MomentsTest);

DType real_of(DType t) { return to_real(t); }

TEST_P(MomentsTest, VarianceAndItsRoot) {
  for_cases({kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128}, [&](Array& in, uint32_t dims) {
    const VarAttrs attrs{{dims}, 1};
    check("var", in, dims, &attrs, real_of(in.dtype()), [](const Group& g) { return variance_of(g, 1); });
    check("std", in, dims, &attrs, real_of(in.dtype()), [](const Group& g) { return std::sqrt(variance_of(g, 1)); });
  });
}

TEST_P(MomentsTest, VarianceFarFromZeroIsAccurate) {
  for (const Dims& shape : {Dims{5000, 1}, Dims{5000, 8}}) {
    Array in(kFloat32, shape);
    for (int64_t i = 0; i < in.numel(); ++i) in.put(i, 1e6f + static_cast<float>(i % 5));
    const VarAttrs attrs{{1}, 0};
    check("var", in, 1, &attrs, kFloat32, [](const Group& g) { return variance_of(g, 0); });
  }
}

TEST_P(MomentsTest, NormsOfEveryOrder) {
  for (const double p : {0.0, 1.0, 2.0, 3.0, 0.5, kInfinity, -kInfinity})
    for_cases({kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128}, [&](Array& in, uint32_t dims) {
      const VectorNormAttrs attrs{{dims}, p};
      if (p == 0.5 && in.dtype() == kFloat16 && in.numel() > 1000) return;  // beyond its range
      check("vector_norm", in, dims, &attrs, real_of(in.dtype()), [p](const Group& g) { return norm_of(g, p); });
    });
}

TEST_P(MomentsTest, Logsumexp) {
  for_cases({kFloat16, kBFloat16, kFloat32, kFloat64}, [&](Array& in, uint32_t dims) {
    const ReduceAttrs attrs{dims};
    check("logsumexp", in, dims, &attrs, in.dtype(), [](const Group& g) {
      double total = 0;
      for (const Value x : g) total += std::exp(x.real());
      return std::log(total);
    });
  });
}

TEST_P(MomentsTest, LogsumexpOfLargeNumbersAndInfinities) {
  for (const Dims& shape : {Dims{3000, 1}, Dims{3000, 8}}) {
    Array in(kFloat32, shape);
    const ReduceAttrs attrs{1};
    in.fill(1e4);
    expect_close(reduce("logsumexp", in, 1, &attrs, kFloat32), 0, 1e4 + std::log(3000.0), 2);
    in.fill(-kInfinity);
    expect_close(reduce("logsumexp", in, 1, &attrs, kFloat32), 0, -kInfinity, 0);
    in.set(2999 * shape[1], 2);
    expect_close(reduce("logsumexp", in, 1, &attrs, kFloat32), 0, 2, 2);
    in.set(0, kInfinity);
    expect_close(reduce("logsumexp", in, 1, &attrs, kFloat32), 0, kInfinity, 0);
    in.set(1500 * shape[1], std::nan(""));
    EXPECT_TRUE(std::isnan(reduce("logsumexp", in, 1, &attrs, kFloat32).at(0).real()));
  }
}

TEST_P(MomentsTest, Products) {
  for_cases({kFloat32, kFloat64, kComplex64, kComplex128}, [&](Array& in, uint32_t dims) {
    for (int64_t i = 0; i < in.numel(); ++i) in.set(i, 1.0 + 0.01 * in.at(i));  // so that products stay in range
    const ReduceAttrs attrs{dims};
    check(
        "prod", in, dims, &attrs, in.dtype(),
        [](const Group& g) {
          std::complex<long double> product = 1;
          for (const Value x : g) product *= std::complex<long double>(x.real(), x.imag());
          return Value(static_cast<double>(product.real()), static_cast<double>(product.imag()));
        },
        256);  // a rounding for each of up to 5100 factors
  });
}

TEST_P(MomentsTest, ProductsOfIntegersWrapIn64Bits) {
  for (const DType dtype : {kInt32, kInt64, kUInt8}) {
    Array in(dtype, {41});
    in.fill(3);
    uint64_t expected = 1;
    for (int i = 0; i < 41; ++i) expected *= 3;
    const ReduceAttrs attrs{1};
    EXPECT_EQ(reduce("prod", in, 1, &attrs, kInt64).get<int64_t>(0), static_cast<int64_t>(expected));
  }
}

TEST_P(MomentsTest, SmallestElements) {
  for_cases({kInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64}, [&](Array& in, uint32_t dims) {
    const ReduceAttrs attrs{dims};
    check("amin", in, dims, &attrs, in.dtype(), [](const Group& g) {
      double best = kInfinity;
      for (const Value x : g) best = std::min(best, x.real());
      return best;
    });
  });
}

TEST_P(MomentsTest, AnyAndAll) {
  for (const Dims& shape : {Dims{7}, Dims{3000}, Dims{40, 50}})
    for (uint32_t dims = 1; dims < 1u << shape.size(); ++dims) {
      Array in(kBool, shape);
      const ReduceAttrs attrs{dims};
      const auto holds = [&](bool any, bool all) {
        check("any", in, dims, &attrs, kBool, [&](const Group&) { return any; });
        check("all", in, dims, &attrs, kBool, [&](const Group&) { return all; });
      };
      holds(false, false);
      in.fill(1);
      holds(true, true);
      in.set(in.numel() - 1, 0);
      const Array out = reduce("all", in, dims, &attrs, kBool);
      EXPECT_EQ(out.at(out.numel() - 1), Value(0));
      EXPECT_EQ(out.at(0), Value(out.numel() > 1));
    }
}

TEST_P(MomentsTest, ResultsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  const VarAttrs var{{}, 0};
  const VectorNormAttrs norm{{}, 2};
  const ReduceAttrs plain{};
  const std::pair<std::string_view, const void*> operators[] = {
      {"var", &var}, {"vector_norm", &norm}, {"logsumexp", &plain}, {"prod", &plain}};
  for (const auto& [op, attrs] : operators)
    for (const Dims& shape : {Dims{1, 300001}, Dims{20000, 30}, Dims{3, 100000}}) {
      Array in(kFloat32, shape);
      in.randomize(generator_);
      for (const uint32_t dims : {1u, 2u}) {
        set_num_threads(1);
        const Array one = reduce(op, in, dims, attrs, kFloat32);
        set_num_threads(3);
        const Array three = reduce(op, in, dims, attrs, kFloat32);
        for (int64_t i = 0; i < one.numel(); ++i) ASSERT_EQ(one.at(i), three.at(i)) << op << shape;
      }
    }
  set_num_threads(before);
}

}  // namespace
}  // namespace vellum
