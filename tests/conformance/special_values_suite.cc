// Pointwise operators on NaN, infinities, zeros of both signs and the ends of the range, against the C++ standard
// functions in double precision.

#include <cmath>
#include <limits>
#include <map>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

using Function = double (*)(double, double);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"neg", [](double a, double) { return -a; }},
      {"exp", [](double a, double) { return std::exp(a); }},
      {"log", [](double a, double) { return std::log(a); }},
      {"sqrt", [](double a, double) { return std::sqrt(a); }},
      {"relu", [](double a, double) { return std::isnan(a) ? a : std::fmax(a, 0); }},
      {"eq", [](double a, double b) { return double(a == b); }},
      {"ne", [](double a, double b) { return double(a != b); }},
      {"lt", [](double a, double b) { return double(a < b); }},
      {"le", [](double a, double b) { return double(a <= b); }},
      {"gt", [](double a, double b) { return double(a > b); }},
      {"ge", [](double a, double b) { return double(a >= b); }},
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
  const Function f = functions().at(GetParam());
  Verdict verdict("special_values", GetParam());
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    if (!op().domain.contains(dtype)) continue;
    const std::vector<double> values = special_values(dtype);
    const int64_t n = static_cast<int64_t>(values.size() * values.size());
    RefTensor a{{n}, dtype, {}}, b{{n}, dtype, {}};
    for (const double x : values)
      for (const double y : values) a.values.emplace_back(x), b.values.emplace_back(y);
    const AlphaAttrs one;
    const Tensor left = to_tensor(a, device()), right = to_tensor(b, device());
    std::vector<const Tensor*> inputs{&left, &right};
    inputs.resize(static_cast<size_t>(op().inputs));
    const DType result = op().dtypes({op(), inputs, &one}).output;
    RefTensor expected{{n}, result, {}};
    for (int64_t i = 0; i < n; ++i)
      expected.values.push_back(rounded(f(a.values[i].real(), b.values[i].real()), result));
    verdict.check(dtype, Layout::kContiguous, "special values",
                  [&] { return difference(call(slot(), inputs, &one), expected, tolerance(GetParam(), result)); });
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, SpecialValues, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return functions().count(std::string(op.name)) > 0;
                         })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
