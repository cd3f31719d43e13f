#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"
#include "vellum/tests/conformance/samples/elementwise.h"

namespace vellum::conformance {
namespace {

std::vector<Sample> alpha_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny, attributes(AlphaAttrs{}));
  samples.push_back({.operands = {{{3, 4}}, {{3, 4}}}, .attrs = attributes(AlphaAttrs{2})});
  samples.push_back({.operands = {{{3, 4}}, {{4}}}, .attrs = attributes(AlphaAttrs{-3})});
  return samples;
}

// Constant exponents have kernels of their own; so have their gradients.
std::vector<Sample> pow_samples(Device) {
  std::vector<Sample> samples = binary(Values::kPositive, Values::kAny);
  // Not 0: as in PyTorch, the gradient by x of x^e is nothing there, whatever e's gradient would be.
  for (const double exponent : {0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0})
    samples.push_back({.operands = {{{3, 4}, Values::kPositive}, fixed({}, {exponent})}});
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, 5.0})
    samples.push_back({.operands = {{{3, 4}, Values::kNonzero}, fixed({}, {exponent})},
                       .gradients = false});  // log of a negative base
  for (const DType dtype : {kFloat32, kFloat64, kInt32})
    for (const double exponent : {-3.0, -2.0, -1.0})
      samples = joined(samples, only(dtype, {{.operands = {{{3, 4}, Values::kPositive}, fixed({}, {exponent})}}}));
  return samples;
}

std::vector<Sample> where_samples(Device) {
  const Operand condition{{3, 4}, Values::kAny, kBool};
  return {{.operands = {condition, {{3, 4}}, {{3, 4}}}},
          {.operands = {condition, {{4}}, {{3, 1}}}},
          {.operands = {{{4}, Values::kAny, kBool}, {{3, 1}}, {{}}}},
          {.operands = {{{}, Values::kAny, kBool}, {{}}, {{}}}},
          {.operands = {{{67}, Values::kAny, kBool}, {{67}}, {{67}}}},
          {.operands = {{{0}, Values::kAny, kBool}, {{0}}, {{}}}}};
}

const RegisterSamples kRegistered{
    {"add", alpha_samples},
    {"sub", alpha_samples},
    {"mul", binary_samples<Values::kAny, Values::kAny>},
    {"div", binary_samples<Values::kAny, Values::kNonzero>},
    {"pow", pow_samples},
    {"neg", unary_samples<Values::kAny>},
    {"conj", unary_samples<Values::kAny>},
    {"complex", binary_samples<Values::kAny, Values::kAny>},
    {"where", where_samples},
};

}  // namespace
}  // namespace vellum::conformance
