#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

// One operand: a matrix, a long row (vector loops and their tails), rank 3, a scalar, nothing.
std::vector<Sample> unary(Values values) {
  std::vector<Sample> samples;
  for (const Dims& shape : {Dims{3, 4}, Dims{67}, Dims{2, 3, 5}, Dims{}, Dims{0}, Dims{3, 0}})
    samples.push_back({.operands = {{shape, values}}});
  return samples;
}

// Two operands: alike, broadcast in either or both directions, with a scalar, empty.
std::vector<Sample> binary(Values left, Values right, std::shared_ptr<const void> attrs = nullptr) {
  const std::pair<Dims, Dims> shapes[] = {{{3, 4}, {3, 4}}, {{67}, {67}},        {{3, 4}, {4}}, {{3, 1}, {3, 4}},
                                          {{3, 1}, {1, 4}}, {{2, 3, 4}, {3, 1}}, {{3, 4}, {}},  {{}, {3, 4}},
                                          {{}, {}},         {{3, 0}, {3, 1}},    {{0}, {}},     {{2, 1, 3}, {2, 5, 3}}};
  std::vector<Sample> samples;
  for (const auto& [a, b] : shapes) samples.push_back({.operands = {{a, left}, {b, right}}, .attrs = attrs});
  return samples;
}

template <Values values>
std::vector<Sample> unary_samples(Device) {
  return unary(values);
}

template <Values left, Values right>
std::vector<Sample> binary_samples(Device) {
  return binary(left, right);
}

std::vector<Sample> alpha_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny, attributes(AlphaAttrs{}));
  samples.push_back({.operands = {{{3, 4}}, {{3, 4}}}, .attrs = attributes(AlphaAttrs{2})});
  samples.push_back({.operands = {{{3, 4}}, {{4}}}, .attrs = attributes(AlphaAttrs{-3})});
  return samples;
}

std::vector<Sample> pow_samples(Device) {
  std::vector<Sample> samples = binary(Values::kPositive, Values::kAny);
  for (const double exponent : {0.0, 1.0, 2.0, 3.0})
    samples.push_back({.operands = {{{3, 4}, Values::kNonzero}, {{}, Values::kFixed, DType::kUndefined, 0, {exponent}}},
                       .gradients = false});  // log of a negative base
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

// Equal operands now and then.
std::vector<Sample> comparison_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny);
  samples.push_back({.operands = {{{5}, Values::kFixed, DType::kUndefined, 0, {0, 1, 2, 3, 4}},
                                  {{5}, Values::kFixed, DType::kUndefined, 0, {0, 2, 1, 3, 0}}}});
  return samples;
}

const RegisterSamples kRegistered{
    {"add", alpha_samples},
    {"sub", alpha_samples},
    {"mul", binary_samples<Values::kAny, Values::kAny>},
    {"div", binary_samples<Values::kAny, Values::kNonzero>},
    {"pow", pow_samples},
    {"neg", unary_samples<Values::kAny>},
    {"exp", unary_samples<Values::kAny>},
    {"log", unary_samples<Values::kPositive>},
    {"sqrt", unary_samples<Values::kPositive>},
    {"relu", unary_samples<Values::kAny>},
    {"relu_backward", binary_samples<Values::kAny, Values::kAny>},
    {"conj", unary_samples<Values::kAny>},
    {"complex", binary_samples<Values::kAny, Values::kAny>},
    {"where", where_samples},
    {"eq", comparison_samples},
    {"ne", comparison_samples},
    {"lt", comparison_samples},
    {"le", comparison_samples},
    {"gt", comparison_samples},
    {"ge", comparison_samples},
};

}  // namespace
}  // namespace vellum::conformance
