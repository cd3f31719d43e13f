// Pointwise operators on NaN, infinities, zeros of both signs and the ends of the range, against the C++ standard
// functions in double precision.

#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

struct Function {
  double (*of)(double, double);
  std::shared_ptr<const void> attrs = attributes(AlphaAttrs());  // for operators that read none too
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"add", {[](double a, double b) { return a + b; }}},
      {"sub", {[](double a, double b) { return a - b; }}},
      {"mul", {[](double a, double b) { return a * b; }}},
      {"div", {[](double a, double b) { return a / b; }}},
      {"pow", {[](double a, double b) { return std::pow(a, b); }}},
      {"fmod", {[](double a, double b) { return std::fmod(a, b); }}},
      {"div_trunc", {[](double a, double b) { return std::trunc(a / b); }}},
      {"maximum",
       {[](double a, double b) -> double { return std::isnan(a) || std::isnan(b) ? kNan : std::fmax(a, b); }}},
      {"minimum",
       {[](double a, double b) -> double { return std::isnan(a) || std::isnan(b) ? kNan : std::fmin(a, b); }}},
      {"clamp_min",
       {[](double a, double b) -> double { return std::isnan(a) || std::isnan(b) ? kNan : std::fmax(a, b); }}},
      {"clamp_max",
       {[](double a, double b) -> double { return std::isnan(a) || std::isnan(b) ? kNan : std::fmin(a, b); }}},
      {"neg", {[](double a, double) { return -a; }}},
      {"abs", {[](double a, double) { return std::fabs(a); }}},
      {"sign", {[](double a, double) { return double(a > 0) - double(a < 0); }}},
      {"sgn", {[](double a, double) { return double(a > 0) - double(a < 0); }}},
      {"square", {[](double a, double) { return a * a; }}},
      {"reciprocal", {[](double a, double) { return 1 / a; }}},
      {"sqrt", {[](double a, double) { return std::sqrt(a); }}},
      {"rsqrt", {[](double a, double) { return 1 / std::sqrt(a); }}},
      {"exp", {[](double a, double) { return std::exp(a); }}},
      {"expm1", {[](double a, double) { return std::expm1(a); }}},
      {"log", {[](double a, double) { return std::log(a); }}},
      {"log1p", {[](double a, double) { return std::log1p(a); }}},
      {"log2", {[](double a, double) { return std::log2(a); }}},
      {"sin", {[](double a, double) { return std::sin(a); }}},
      {"cos", {[](double a, double) { return std::cos(a); }}},
      {"tanh", {[](double a, double) { return std::tanh(a); }}},
      {"sigmoid", {[](double a, double) { return 1 / (1 + std::exp(-a)); }}},
      {"erf", {[](double a, double) { return std::erf(a); }}},
      {"angle", {[](double a, double) -> double { return std::isnan(a) ? a
                                                         : a < 0       ? std::acos(-1.0)
                                                                       : 0; }}},
      {"floor", {[](double a, double) { return std::floor(a); }}},
      {"ceil", {[](double a, double) { return std::ceil(a); }}},
      {"trunc", {[](double a, double) { return std::trunc(a); }}},
      {"relu", {[](double a, double) -> double { return std::isnan(a) ? a : std::fmax(a, 0); }}},
      {"silu", {[](double a, double) { return a / (1 + std::exp(-a)); }}},
      {"isnan", {[](double a, double) { return double(std::isnan(a)); }}},
      {"isinf", {[](double a, double) { return double(std::isinf(a)); }}},
      {"isfinite", {[](double a, double) { return double(std::isfinite(a)); }}},
      {"logical_not", {[](double a, double) { return double(a == 0); }}},
      {"logical_and", {[](double a, double b) { return double(a != 0 && b != 0); }}},
      {"logical_or", {[](double a, double b) { return double(a != 0 || b != 0); }}},
      {"logical_xor", {[](double a, double b) { return double((a != 0) != (b != 0)); }}},
      {"eq", {[](double a, double b) { return double(a == b); }}},
      {"ne", {[](double a, double b) { return double(a != b); }}},
      {"lt", {[](double a, double b) { return double(a < b); }}},
      {"le", {[](double a, double b) { return double(a <= b); }}},
      {"gt", {[](double a, double b) { return double(a > b); }}},
      {"ge", {[](double a, double b) { return double(a >= b); }}},
      {"round", {[](double a, double) { return std::nearbyint(a); }, attributes(RoundAttrs())}},
      {"gelu", {[](double a, double) { return a / 2 * std::erfc(-a / std::sqrt(2.0)); }, attributes(GeluAttrs())}},
      {"clamp",
       {[](double a, double) -> double { return std::isnan(a) ? a : std::fmin(std::fmax(a, -2), 3); },
        attributes(ClampAttrs{-2, 3})}},
      {"softplus",
       {[](double a, double) -> double { return a > 20 ? a : std::log1p(std::exp(a)); }, attributes(SoftplusAttrs())}},
      {"leaky_relu", {[](double a, double) -> double { return a > 0 ? a : a / 2; }, attributes(LeakyReluAttrs{0.5})}},
      {"elu", {[](double a, double) -> double { return a > 0 ? a : 2 * std::expm1(a); }, attributes(EluAttrs{2})}},
  };
  return table;
}

double largest(DType t) {
  return t == kFloat16 ? 65504 : t == kBFloat16 ? 0x1.fep127 : t == kFloat32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

std::vector<double> special_values(DType t) {
  return {0.0, -0.0, 1, -1, 0.5, -2, 3, 10, -10, kInf, -kInf, kNan, largest(t), -largest(t)};
}

class SpecialValues : public OperatorTest {};

// All pairs, in one row, so that vector loops meet them at every position.
TEST_P(SpecialValues, EqualStandardFunctions) {
  const Function& f = functions().at(GetParam());
  Verdict verdict("special_values", GetParam());
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    if (!op().domain.contains(dtype)) continue;
    const std::vector<double> values = special_values(dtype);
    const int64_t n = static_cast<int64_t>(values.size() * values.size());
    RefTensor a{{n}, dtype, {}}, b{{n}, dtype, {}};
    for (const double x : values)
      for (const double y : values) a.values.emplace_back(x), b.values.emplace_back(y);
    const Tensor left = to_tensor(a, device()), right = to_tensor(b, device());
    std::vector<const Tensor*> inputs{&left, &right};
    inputs.resize(static_cast<size_t>(op().inputs));
    const DType result = op().dtypes({op(), inputs, f.attrs.get()}).output;
    RefTensor expected{{n}, result, {}};
    for (int64_t i = 0; i < n; ++i)
      expected.values.push_back(rounded(f.of(a.values[i].real(), b.values[i].real()), result));
    verdict.check(dtype, Layout::kContiguous, "special values", [&] {
      return difference(call(slot(), inputs, f.attrs.get()), expected, tolerance(GetParam(), result));
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, SpecialValues, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return functions().count(std::string(op.name)) > 0;
                         })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
