#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;
using testing::Layout;
using testing::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DTypeSet kNumeric{uint16_t(kAllDTypes.bits & ~DTypeSet(kBool).bits)};
constexpr DTypeSet kNumericReal{uint16_t(kRealDTypes.bits & ~DTypeSet(kBool).bits)};

std::vector<DType> list(DTypeSet set) {
  std::vector<DType> types;
  for (int t = 0; t < kDTypeCount; ++t)
    if (set.contains(static_cast<DType>(t))) types.push_back(static_cast<DType>(t));
  return types;
}

// What an integer dtype keeps of a result.
Value wrapped(Value x, DType dtype) {
  const auto bits = static_cast<int64_t>(x.real());
  switch (dtype) {
    case kBool:
      return x != 0.0 ? 1 : 0;
    case kUInt8:
      return static_cast<uint8_t>(bits);
    case kInt8:
      return static_cast<int8_t>(bits);
    case kInt16:
      return static_cast<int16_t>(bits);
    default:
      return x;
  }
}

const AlphaAttrs kOne{1}, kMinusOne{-1}, kThree{3};
const RoundAttrs kWhole{0};
const ClampAttrs kUnitInterval{-1, 1};
const FactorAttrs kTwice{2};

struct Case {
  std::string_view op;
  DTypeSet dtypes;
  int inputs;
  Value (*reference)(const Value*);
  const void* attrs = nullptr;
  bool to_bool = false;
  double ulps = 2;
  double scale = 4;  // of the operands, where the result may cancel
};

Value compare(bool holds) { return holds ? 1 : 0; }

const Case kCases[] = {
    {"add", kAllDTypes, 2, [](const Value* x) { return x[0] + x[1]; }, &kOne},
    {"add", kNumeric, 2, [](const Value* x) { return x[0] - x[1]; }, &kMinusOne},
    {"add", kNumeric, 2, [](const Value* x) { return x[0] + 3.0 * x[1]; }, &kThree},
    {"sub", kNumeric, 2, [](const Value* x) { return x[0] - x[1]; }, &kOne},
    {"sub", kNumeric, 2, [](const Value* x) { return x[0] - 3.0 * x[1]; }, &kThree},
    {"mul", kAllDTypes, 2, [](const Value* x) { return x[0] * x[1]; }},
    {"div", kDifferentiableDTypes, 2, [](const Value* x) { return x[0] / x[1]; }, nullptr, false, 8},
    {"neg", kNumeric, 1, [](const Value* x) { return -x[0]; }},
    {"conj", kComplexDTypes, 1, [](const Value* x) { return std::conj(x[0]); }},
    {"exp", kFloatingDTypes, 1, [](const Value* x) -> Value { return std::exp(x[0].real()); }, nullptr, false, 4, 0},
    {"exp", kComplexDTypes, 1, [](const Value* x) { return std::exp(x[0]); }, nullptr, false, 4},
    {"log", kFloatingDTypes, 1, [](const Value* x) -> Value { return std::log(x[0].real()); }, nullptr, false, 8, 0.1},
    {"log", kComplexDTypes, 1, [](const Value* x) { return std::log(x[0]); }, nullptr, false, 4},
    {"sqrt", kFloatingDTypes, 1, [](const Value* x) -> Value { return std::sqrt(x[0].real()); }},
    {"sqrt", kComplexDTypes, 1, [](const Value* x) { return std::sqrt(x[0]); }, nullptr, false, 4},
    {"relu", kNumericReal, 1, [](const Value* x) -> Value { return x[0].real() < 0 ? 0 : x[0].real(); }},
    {"relu_backward", kNumericReal, 2, [](const Value* x) -> Value { return x[1].real() > 0 ? x[0].real() : 0; }},
    {"abs", kNumericReal, 1, [](const Value* x) -> Value { return std::abs(x[0].real()); }},
    {"sign", kRealDTypes, 1, [](const Value* x) -> Value { return (x[0].real() > 0) - (x[0].real() < 0); }},
    {"sgn", kComplexDTypes, 1, [](const Value* x) { return x[0] / std::abs(x[0]); }, nullptr, false, 4},
    {"square", kNumeric, 1, [](const Value* x) { return x[0] * x[0]; }},
    {"floor", kNumericReal, 1, [](const Value* x) -> Value { return std::floor(x[0].real()); }},
    {"ceil", kNumericReal, 1, [](const Value* x) -> Value { return std::ceil(x[0].real()); }},
    {"trunc", kNumericReal, 1, [](const Value* x) -> Value { return std::trunc(x[0].real()); }},
    {"round", kNumericReal, 1, [](const Value* x) -> Value { return std::nearbyint(x[0].real()); }, &kWhole},
    {"clamp", kNumericReal, 1, [](const Value* x) -> Value { return std::clamp(x[0].real(), -1.0, 1.0); },
     &kUnitInterval},
    {"maximum", kRealDTypes, 2, [](const Value* x) -> Value { return std::max(x[0].real(), x[1].real()); }},
    {"minimum", kRealDTypes, 2, [](const Value* x) -> Value { return std::min(x[0].real(), x[1].real()); }},
    {"tanh_backward", kDifferentiableDTypes, 2, [](const Value* x) { return x[0] * std::conj(1.0 - x[1] * x[1]); },
     nullptr, false, 4, 16},
    {"sigmoid_backward", kDifferentiableDTypes, 2, [](const Value* x) { return x[0] * std::conj(x[1] * (1.0 - x[1])); },
     nullptr, false, 4, 16},
    {"lerp_tensor", kDifferentiableDTypes, 3, [](const Value* x) { return x[0] + x[2] * (x[1] - x[0]); }, nullptr,
     false, 4, 16},
    {"addcmul", kNumeric, 3, [](const Value* x) { return x[0] + 2.0 * x[1] * x[2]; }, &kTwice, false, 4, 16},
    {"maximum_backward", kFloatingDTypes, 3,
     [](const Value* x) -> Value {
       const double a = x[1].real(), b = x[2].real();
       return a == b ? x[0] / 2.0 : a < b ? 0 : x[0];
     }},
    {"logical_and", kAllDTypes, 2, [](const Value* x) { return compare(x[0] != 0.0 && x[1] != 0.0); }, nullptr, true},
    {"logical_not", kAllDTypes, 1, [](const Value* x) { return compare(x[0] == 0.0); }, nullptr, true},
    {"isfinite", kAllDTypes, 1, [](const Value*) -> Value { return 1; }, nullptr, true},
    {"eq", kAllDTypes, 2, [](const Value* x) { return compare(x[0] == x[1]); }, nullptr, true},
    {"ne", kAllDTypes, 2, [](const Value* x) { return compare(x[0] != x[1]); }, nullptr, true},
    {"lt", kRealDTypes, 2, [](const Value* x) { return compare(x[0].real() < x[1].real()); }, nullptr, true},
    {"le", kRealDTypes, 2, [](const Value* x) { return compare(x[0].real() <= x[1].real()); }, nullptr, true},
    {"gt", kRealDTypes, 2, [](const Value* x) { return compare(x[0].real() > x[1].real()); }, nullptr, true},
    {"ge", kRealDTypes, 2, [](const Value* x) { return compare(x[0].real() >= x[1].real()); }, nullptr, true},
};

const Dims kShapes[] = {{0}, {1}, {3}, {17}, {100}, {1000}, {5, 7}, {3, 4, 19}, {40, 33}, {}};

class PointwiseTest : public KernelTest {
 protected:
  // All elements of `out` against the reference of the inputs' elements.
  static void check(const Case& c, const std::vector<Array*>& inputs, const Array& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      Value x[3];
      for (size_t k = 0; k < inputs.size(); ++k) x[k] = inputs[k]->at(i);
      expect_close(out, i, is_integral(out.dtype()) ? wrapped(c.reference(x), out.dtype()) : c.reference(x), c.ulps,
                   c.scale);
    }
  }

  void run(const Case& c, DType dtype, const Dims& shape, const Layout (&layouts)[3]) {
    SCOPED_TRACE(::testing::Message() << c.op << ' ' << dtype_name(dtype) << ' ' << shape);
    Array a(dtype, shape, layouts[1]), b(dtype, shape, layouts[2]), third(dtype, shape, layouts[1]);
    a.randomize(generator_), b.randomize(generator_), third.randomize(generator_);
    Array out(c.to_bool ? kBool : dtype, shape, layouts[0]);
    std::vector<Array*> inputs = {&a};
    if (c.inputs >= 2) inputs.push_back(&b);
    if (c.inputs == 3) inputs.push_back(&third);
    apply(c.op, inputs, out, c.attrs, dtype);
    check(c, inputs, out);
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(PointwiseTest);

constexpr Layout kRow = Layout::kRowMajor, kTransposed = Layout::kTransposed, kSpread = Layout::kSpread,
                 kBroadcast = Layout::kBroadcast;

TEST_P(PointwiseTest, AgreesWithScalarLoops) {
  for (const Case& c : kCases)
    for (const DType dtype : list(c.dtypes))
      for (const Dims& shape : kShapes) run(c, dtype, shape, {kRow, kRow, kRow});
}

TEST_P(PointwiseTest, TakesAnyStrides) {
  for (const Case& c : kCases)
    for (const DType dtype : list(c.dtypes))
      for (const Dims& shape : {Dims{17}, Dims{5, 7}, Dims{3, 4, 300}}) {
        run(c, dtype, shape, {kRow, kRow, kBroadcast});
        run(c, dtype, shape, {kRow, kBroadcast, kRow});
        run(c, dtype, shape, {kRow, kBroadcast, kBroadcast});
        run(c, dtype, shape, {kRow, kTransposed, kSpread});
        run(c, dtype, shape, {kSpread, kRow, kTransposed});
        run(c, dtype, shape, {kTransposed, kSpread, kRow});
      }
}

TEST_P(PointwiseTest, ThreadsShareLargeLoops) {
  for (const Case& c : {kCases[0], kCases[9]}) run(c, kFloat32, {3, 100, 1001}, {kRow, kRow, kTransposed});
}

TEST_P(PointwiseTest, WritesInPlace) {
  Array a(kFloat32, {1000}), b(kFloat32, {1000});
  a.randomize(generator_), b.randomize(generator_);
  const Array before = a;
  apply("mul", {&a, &b}, a);
  for (int64_t i = 0; i < 1000; ++i) expect_close(a, i, before.at(i) * b.at(i), 1);
}

TEST_P(PointwiseTest, IntegersWrap) {
  Array a(kInt32, {20}), b(kInt32, {20}), out(kInt32, {20});
  a.fill(std::numeric_limits<int32_t>::max()), b.fill(2);
  apply("add", {&a, &b}, out, &kOne);
  EXPECT_EQ(out.get<int32_t>(19), std::numeric_limits<int32_t>::min() + 1);
  apply("mul", {&a, &b}, out);
  EXPECT_EQ(out.get<int32_t>(0), -2);
}

TEST_P(PointwiseTest, ExpAndLogHandleEveryValue) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const double values[] = {0,     -0.0,  1,    -1,     kInfinity, -kInfinity, kNaN, 88.7, 89,
                             -87.4, -100,  -104, -200,   1e-40,     709.7,      710,  -708, -740,
                             -746,  -2000, 1e30, 1e-310, 5e-324,    3e38,       1000};
    const int64_t n = std::size(values);
    Array x(dtype, {n}), y(dtype, {n});
    for (int64_t i = 0; i < n; ++i) x.set(i, values[i]);
    const double tiny = dtype == kFloat32 ? 0x1p-125 : 0x1p-1021;  // denormals are exact to their last bit, no better
    apply("exp", {&x}, y);
    for (int64_t i = 0; i < n; ++i) {
      const double e = std::exp(x.at(i).real());
      expect_close(y, i, dtype == kFloat32 ? static_cast<double>(static_cast<float>(e)) : e, 4, tiny);
    }
    apply("log", {&x}, y);
    for (int64_t i = 0; i < n; ++i) expect_close(y, i, std::log(x.at(i).real()), 8);
  }
}

TEST_P(PointwiseTest, ExpIsAccurate) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    Array x(dtype, {20000}), y(dtype, {20000});
    for (int64_t i = 0; i < x.numel(); ++i) x.set(i, -80 + 0.008 * static_cast<double>(i));
    apply("exp", {&x}, y);
    for (int64_t i = 0; i < x.numel(); ++i) expect_close(y, i, std::exp(x.at(i).real()), 4);  // in half ulps
  }
}

TEST_P(PointwiseTest, NaNGoesThroughEveryFunction) {
  const GeluAttrs erf{false}, tanh{true};
  const SoftplusAttrs softplus;
  const EluAttrs elu;
  const std::pair<std::string_view, const void*> functions[] = {
      {"exp", nullptr},   {"expm1", nullptr}, {"log", nullptr},  {"log1p", nullptr},       {"log2", nullptr},
      {"sin", nullptr},   {"cos", nullptr},   {"tanh", nullptr}, {"sigmoid", nullptr},     {"erf", nullptr},
      {"silu", nullptr},  {"gelu", &erf},     {"gelu", &tanh},   {"softplus", &softplus},  {"elu", &elu},
      {"floor", nullptr}, {"round", &kWhole}, {"abs", nullptr},  {"clamp", &kUnitInterval}};
  for (const DType dtype : {kFloat32, kFloat64})
    for (const auto& [op, attrs] : functions) {
      Array x(dtype, {37}), y(dtype, {37});
      x.fill(kNaN);
      apply(op, {&x}, y, attrs);
      for (int64_t i = 0; i < 37; ++i) EXPECT_TRUE(std::isnan(y.at(i).real())) << op;
    }
}

TEST_P(PointwiseTest, MaskedFillChooses) {
  for (const DType dtype : list(kAllDTypes))
    for (const Layout layout : {kRow, kTransposed, kSpread}) {
      Array x(dtype, {6, 50}, layout), mask(kBool, {6, 50}), value(dtype, {6, 50}, kBroadcast), out(dtype, {6, 50});
      x.randomize(generator_), mask.randomize(generator_), value.randomize(generator_);
      apply("masked_fill", {&x, &mask, &value}, out, nullptr, dtype);
      for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.at(i), mask.at(i) != 0.0 ? value.at(i) : x.at(i));
    }
}

TEST_P(PointwiseTest, ReluKeepsNaN) {
  Array x(kFloat32, {20}), y(kFloat32, {20});
  x.fill(kNaN);
  apply("relu", {&x}, y);
  for (int64_t i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(y.at(i).real()));
}

TEST_P(PointwiseTest, ComplexDivisionDoesNotOverflow) {
  Array a(kComplex64, {3}), b(kComplex64, {3}), out(kComplex64, {3});
  a.fill(Value(1e30, 2e30)), b.fill(Value(3e30, -1e30));
  apply("div", {&a, &b}, out);
  expect_close(out, 0, Value(1e30, 2e30) / Value(3e30, -1e30), 8);
}

TEST_P(PointwiseTest, ComplexJoinsTwoPlanes) {
  for (const auto& [real, complex] : {std::pair(kFloat32, kComplex64), std::pair(kFloat64, kComplex128)})
    for (const Layout layout : {kRow, kTransposed, kBroadcast}) {
      Array re(real, {9, 11}, layout), im(real, {9, 11}), out(complex, {9, 11});
      re.randomize(generator_), im.randomize(generator_);
      apply("complex", {&re, &im}, out);
      for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.at(i), Value(re.at(i).real(), im.at(i).real()));
    }
}

TEST_P(PointwiseTest, WhereChooses) {
  for (const DType dtype : list(kAllDTypes))
    for (const Layout c : {kRow, kSpread, kBroadcast})
      for (const Layout a : {kRow, kTransposed, kBroadcast})
        for (const Layout b : {kRow, kBroadcast}) {
          Array condition(kBool, {6, 50}, c), yes(dtype, {6, 50}, a), no(dtype, {6, 50}, b), out(dtype, {6, 50});
          condition.randomize(generator_), yes.randomize(generator_), no.randomize(generator_);
          apply("where", {&condition, &yes, &no}, out, nullptr, dtype);
          for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.at(i), condition.at(i) != 0.0 ? yes.at(i) : no.at(i));
        }
}

class PowTest : public PointwiseTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(PowTest);

TEST_P(PowTest, TakesConstantExponents) {
  for (const DType dtype : list(kFloatingDTypes))
    for (const double exponent : {2.0, 0.5, 1.0, -1.0, 3.0, 0.0, 1.5}) {
      Array x(dtype, {50}), e(dtype, {50}, kBroadcast), y(dtype, {50});
      x.randomize(generator_), e.fill(exponent);
      for (int64_t i = 0; i < 4; ++i) x.set(i, Value(i == 0 ? 0.0 : i == 1 ? -0.0 : i == 2 ? kInfinity : -kInfinity));
      apply("pow", {&x, &e}, y);
      for (int64_t i = 0; i < 50; ++i) expect_close(y, i, std::pow(x.at(i).real(), exponent), 4);
    }
}

TEST_P(PowTest, TakesWholeExponents) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const double exponent : {-3.0, -2.0, 4.0, 5.0, 6.0, 7.0}) {
      Array x(dtype, {50}), e(dtype, {50}, kBroadcast), y(dtype, {50});
      x.randomize(generator_), e.fill(exponent);
      apply("pow", {&x, &e}, y);
      for (int64_t i = 0; i < 50; ++i) expect_close(y, i, std::pow(x.at(i).real(), exponent), 6);
    }
}

TEST_P(PowTest, TakesAnyExponents) {
  Array x(kFloat64, {50}), e(kFloat64, {50}), y(kFloat64, {50});
  x.randomize(generator_), e.randomize(generator_);
  apply("pow", {&x, &e}, y);
  for (int64_t i = 0; i < 50; ++i) expect_close(y, i, std::pow(x.at(i).real(), e.at(i).real()), 4);
}

TEST_P(PowTest, IntegersTruncateNegativePowers) {
  for (const DType dtype : {kInt8, kInt16, kInt32, kInt64}) {
    Array x(dtype, {6}), e(dtype, {6}), y(dtype, {6});
    const int bases[] = {2, 1, -1, -1, -3, 0}, exponents[] = {-1, -5, -3, -4, 3, 0}, expected[] = {0, 1, -1, 1, -27, 1};
    for (int i = 0; i < 6; ++i) x.set(i, bases[i]), e.set(i, exponents[i]);
    apply("pow", {&x, &e}, y);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(y.at(i).real(), expected[i]) << bases[i] << "^" << exponents[i];
  }
}

TEST_P(PowTest, ComplexZeroToTheZeroIsOne) {
  Array x(kComplex64, {2}), e(kComplex64, {2}), y(kComplex64, {2});
  x.set(1, Value(1, 2)), e.set(1, Value(0.5, -1));
  apply("pow", {&x, &e}, y);
  EXPECT_EQ(y.at(0), Value(1));
  expect_close(y, 1, std::pow(Value(1, 2), Value(0.5, -1)), 4);
}

}  // namespace
}  // namespace vellum
