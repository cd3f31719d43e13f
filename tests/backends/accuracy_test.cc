// Elementary functions over their whole range, against the C library's in long double.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;

using Real = long double;

const GeluAttrs kErf{false}, kTanh{true};
const SoftplusAttrs kSoftplus{1, 1000};
const EluAttrs kElu{1};

Real gelu(Real x) { return x / 2 * std::erfc(-x / std::sqrt(Real(2))); }
Real gelu_by_tanh(Real x) {
  const Real inner = std::sqrt(2 / std::acos(Real(-1))) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * inner));  // (1 + tanh(y)) / 2 without its cancellation
}

struct Case {
  std::string_view op;
  Real (*reference)(Real);
  double from, to;
  double ulps;  // in roundings, that is half of the last place at most
  const void* attrs = nullptr;
  double scale = 0;  // of terms that cancel
};

const Case kCases[] = {
    {"exp", std::exp, -87, 88, 3},
    {"exp", std::exp, -1, 1, 3},
    {"expm1", std::expm1, -20, 80, 9},
    {"expm1", std::expm1, -1e-3, 1e-3, 4},
    {"log", std::log, 1e-3, 20, 3},
    {"log", std::log, 1e-30, 1e30, 3},
    {"log1p", std::log1p, -0.99, 20, 6},
    {"log1p", std::log1p, -1e-3, 1e-3, 6},
    {"log2", std::log2, 1e-3, 20, 6},
    {"sqrt", std::sqrt, 0, 1e20, 2},
    {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }, 1e-20, 1e20, 3},
    {"reciprocal", [](Real x) { return 1 / x; }, -9, 9, 2},
    {"sin", std::sin, -4, 4, 7},
    {"sin", std::sin, -1e6, 1e6, 7},
    {"cos", std::cos, -4, 4, 7},
    {"cos", std::cos, -1e6, 1e6, 7},
    {"tanh", std::tanh, -1, 1, 8},
    {"tanh", std::tanh, -30, 30, 11},
    {"tanh", std::tanh, -1e-3, 1e-3, 4},
    {"sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 7},
    {"erf", std::erf, -1.5, 1.5, 8},
    {"erf", std::erf, -8, 8, 8},
    {"erf", std::erf, -1e-3, 1e-3, 8},
    {"gelu", gelu, -1, 1, 10, &kErf},
    {"gelu", gelu, 0, 12, 10, &kErf},
    {"gelu", gelu, -12, 0, 90, &kErf},  // with a rounding of x^2 / 2 where nothing is fused
    {"gelu", gelu_by_tanh, -2, 12, 12, &kTanh, 1},
    {"silu", [](Real x) { return x / (1 + std::exp(-x)); }, -80, 80, 8},
    {"softplus", [](Real x) { return std::log1p(std::exp(x)); }, -80, 80, 10, &kSoftplus},
    {"elu", [](Real x) { return x > 0 ? x : std::expm1(x); }, -20, 5, 9, &kElu},
};

class AccuracyTest : public KernelTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(AccuracyTest);

TEST_P(AccuracyTest, IsAFewOfTheLastPlaces) {
  constexpr int64_t kCount = 20011;
  for (const Case& c : kCases)
    for (const DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(::testing::Message() << c.op << " from " << c.from << " to " << c.to);
      Array x(dtype, {kCount}), y(dtype, {kCount});
      for (int64_t i = 0; i < kCount; ++i) x.set(i, c.from + (c.to - c.from) * static_cast<double>(i) / (kCount - 1));
      apply(c.op, {&x}, y, c.attrs);
      for (int64_t i = 0; i < kCount; ++i)
        expect_close(y, i, static_cast<double>(c.reference(x.at(i).real())), c.ulps, c.scale);
    }
}

// Where numbers are denormal, an error of one of them is what a rounding is elsewhere; silu and gelu multiply it by x.
TEST_P(AccuracyTest, HoldsAtTheEndsOfTheRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {0,     -0.0,  kInfinity, -kInfinity, kNaN,    1e-40,    -1e-40, 1e-310, -5e-324, 88.7, 89,
                           -87.4, -100,  -104,      -150.5,     709.7,   710,      -708,   -740,   -746,    2000, -2000,
                           1e30,  -1e30, 3.4e38,    -3.4e38,    1.7e308, -1.7e308, -1,     1,      39000,   39001};
  const std::string_view cancelling[] = {"gelu"};  // its tail is as precise as exp(-x^2 / 2) is
  for (const Case& c : kCases)
    for (const DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(::testing::Message() << c.op);
      const int64_t n = std::size(values);
      Array x(dtype, {n}), y(dtype, {n});
      for (int64_t i = 0; i < n; ++i) x.set(i, values[i]);
      apply(c.op, {&x}, y, c.attrs);
      const double tiny = dtype == kFloat32 ? 0x1p-125 : 0x1p-1021;
      const double ulps = c.op == cancelling[0] ? 64 : c.ulps + 8;
      for (int64_t i = 0; i < n; ++i) {
        const double expected = static_cast<double>(c.reference(x.at(i).real()));
        expect_close(y, i, dtype == kFloat32 ? static_cast<double>(static_cast<float>(expected)) : expected, ulps,
                     std::max(tiny * std::clamp(std::abs(values[i]), 1.0, 1e3), c.scale));
      }
    }
}

}  // namespace
}  // namespace vellum
