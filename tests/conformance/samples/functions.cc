#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/samples/elementwise.h"

namespace vellum::conformance {
namespace {

std::vector<Sample> round_samples(Device) {
  std::vector<Sample> samples = unary(Values::kAny, attributes(RoundAttrs{}));
  samples.push_back({.operands = {fixed({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})},
                     .attrs = attributes(RoundAttrs{}),
                     .gradients = false});
  for (const DType dtype : {kFloat16, kFloat32, kFloat64})
    for (const int64_t decimals : {2, -1}) {
      const std::shared_ptr<const void> attrs = attributes(RoundAttrs{decimals});
      samples = joined(samples, only(dtype, unary(Values::kAny, attrs)));
      const Sample halves{.operands = {fixed({4}, {-15, 25, 0.125, 0.375})}, .attrs = attrs, .gradients = false};
      samples = joined(samples, only(dtype, {halves}));
    }
  return samples;
}

// Bounds below, above, on both sides, and crossed; real ones make floats of integers.
std::vector<Sample> clamp_samples(Device) {
  std::vector<Sample> samples = unary(Values::kAny, attributes(ClampAttrs{-1, 1}));
  for (const ClampAttrs& attrs : {ClampAttrs{-0.7, 1.1}, ClampAttrs{-0.6, {}}, ClampAttrs{{}, 0.8},
                                  ClampAttrs{1.2, -1.2}, ClampAttrs{{}, 2}, ClampAttrs{-2, {}}})
    samples = joined(samples, unary(Values::kAny, attributes(attrs)));
  return samples;
}

std::vector<Sample> clamp_backward_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny, attributes(ClampAttrs{-0.7, 1.1}));
  for (const ClampAttrs& attrs : {ClampAttrs{-0.6, {}}, ClampAttrs{{}, 0.8}, ClampAttrs{1.2, -1.2}})
    samples = joined(samples, binary(Values::kAny, Values::kAny, attributes(attrs)));
  samples.push_back({.operands = {fixed({5}, {1, -0.5, 2}), fixed({5}, {-1, -0.5, 0, 0.5, 1})},
                     .attrs = attributes(ClampAttrs{-0.5, 0.5}),
                     .gradients = false});  // the bounds themselves
  return samples;
}

std::vector<Sample> clamp_tensor_samples(Device) { return ternary(Values::kAny, Values::kAny, Values::kAny); }

// With equal operands now and then.
std::vector<Sample> extremum_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny);
  samples.push_back({.operands = {fixed({5}, {0, 1, 2, 3, 4}), fixed({5}, {0, 2, 1, 3, 0})}, .gradients = false});
  return samples;
}

std::vector<Sample> maximum_backward_samples(Device) {
  std::vector<Sample> samples = ternary(Values::kAny, Values::kAny, Values::kAny);
  samples.push_back({.operands = {fixed({5}, {1, -0.5, 2}), fixed({5}, {0, 1, 2, 3, 4}), fixed({5}, {0, 2, 1, 3, 0})},
                     .gradients = false});
  return samples;
}

std::vector<Sample> lerp_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny, attributes(LerpAttrs{0.25}));
  for (const Scalar& weight : {Scalar(0.75), Scalar(1), Scalar(-0.5)})
    samples = joined(samples, binary(Values::kAny, Values::kAny, attributes(LerpAttrs{weight})));
  const std::vector<Sample> complex = binary(Values::kAny, Values::kAny, attributes(LerpAttrs{complex128(0.5, 0.25)}));
  return joined(joined(samples, only(kComplex64, complex)), only(kComplex128, complex));
}

std::vector<Sample> lerp_tensor_samples(Device) { return ternary(Values::kAny, Values::kAny, Values::kAny); }

std::vector<Sample> addcmul_samples(Device) {
  std::vector<Sample> samples = ternary(Values::kAny, Values::kAny, Values::kAny, attributes(FactorAttrs{}));
  samples = joined(samples, ternary(Values::kAny, Values::kAny, Values::kAny, attributes(FactorAttrs{-2})));
  const std::vector<Sample> real = ternary(Values::kAny, Values::kAny, Values::kAny, attributes(FactorAttrs{0.5}));
  const std::vector<Sample> complex =
      ternary(Values::kAny, Values::kAny, Values::kAny, attributes(FactorAttrs{complex128(0.5, 2)}));
  return joined(joined(samples, only(kFloat64, real)), only(kComplex128, complex));
}

std::vector<Sample> addcdiv_samples(Device) {
  std::vector<Sample> samples = ternary(Values::kAny, Values::kAny, Values::kNonzero, attributes(FactorAttrs{}));
  for (const Scalar& value : {Scalar(-2), Scalar(0.5)})
    samples = joined(samples, ternary(Values::kAny, Values::kAny, Values::kNonzero, attributes(FactorAttrs{value})));
  const std::vector<Sample> complex =
      ternary(Values::kAny, Values::kAny, Values::kNonzero, attributes(FactorAttrs{complex128(0.5, 2)}));
  return joined(samples, only(kComplex128, complex));
}

// Whole multiples, where the gradient jumps, each combination of signs, and -1, which is 255 to uint8.
std::vector<Sample> division_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kNonzero);
  samples.push_back(
      {.operands = {fixed({9}, {7, -7, 7, -7, 6, -6, 9, 1, 5}), fixed({9}, {2, 2, -2, -2, 3, 3, -3, 4, -1})},
       .gradients = false});
  return samples;
}

// Equal operands now and then.
std::vector<Sample> comparison_samples(Device) {
  std::vector<Sample> samples = binary(Values::kAny, Values::kAny);
  samples.push_back({.operands = {fixed({5}, {0, 1, 2, 3, 4}), fixed({5}, {0, 2, 1, 3, 0})}});
  return samples;
}

std::vector<Sample> kind_samples(Device) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<Sample> samples = unary(Values::kAny);
  for (Sample& sample : samples) sample.gradients = false;
  samples.push_back({.operands = {fixed({40}, {0, 1, -kInf, kInf, std::numeric_limits<double>::quiet_NaN()})}});
  return samples;
}

std::vector<Sample> masked_fill_samples(Device) {
  const auto mask = [](const Dims& shape) { return Operand{shape, Values::kAny, kBool}; };
  const Operand value{{}};
  return {{.operands = {{{3, 4}}, mask({3, 4}), value}}, {.operands = {{{67}}, mask({67}), value}},
          {.operands = {{{3, 4}}, mask({4}), value}},    {.operands = {{{3, 4}}, mask({3, 1}), value}},
          {.operands = {{{4}}, mask({3, 1}), value}},    {.operands = {{{}}, mask({}), value}},
          {.operands = {{{0}}, mask({0}), value}},       {.operands = {{{3, 4}}, mask({}), value}}};
}

constexpr SampleFunction kAnyValue = unary_samples<Values::kAny>;
constexpr SampleFunction kNonzeroValue = unary_samples<Values::kNonzero>;
constexpr SampleFunction kPositiveValue = unary_samples<Values::kPositive>;

const RegisterSamples kRegistered{
    {"abs", kNonzeroValue},
    {"sign", kNonzeroValue},
    {"sgn", kNonzeroValue},
    {"square", kAnyValue},
    {"reciprocal", kNonzeroValue},
    {"sqrt", kPositiveValue},
    {"rsqrt", kPositiveValue},
    {"exp", kAnyValue},
    {"expm1", kAnyValue},
    {"log", kPositiveValue},
    {"log1p", kPositiveValue},
    {"log2", kPositiveValue},
    {"sin", kAnyValue},
    {"cos", kAnyValue},
    {"tanh", kAnyValue},
    {"tanh_backward", binary_samples<Values::kAny, Values::kAny>},
    {"sigmoid", kAnyValue},
    {"sigmoid_backward", binary_samples<Values::kAny, Values::kAny>},
    {"erf", kAnyValue},
    {"angle", kNonzeroValue},
    {"polar", binary_samples<Values::kAny, Values::kAny>},
    {"floor", kAnyValue},
    {"ceil", kAnyValue},
    {"trunc", kAnyValue},
    {"round", round_samples},
    {"maximum", extremum_samples},
    {"minimum", extremum_samples},
    {"maximum_backward", maximum_backward_samples},
    {"clamp", clamp_samples},
    {"clamp_backward", clamp_backward_samples},
    {"clamp_min", extremum_samples},
    {"clamp_max", extremum_samples},
    {"clamp_tensor", clamp_tensor_samples},
    {"lerp", lerp_samples},
    {"lerp_tensor", lerp_tensor_samples},
    {"addcmul", addcmul_samples},
    {"addcdiv", addcdiv_samples},
    {"div_trunc", division_samples},
    {"div_floor", division_samples},
    {"fmod", division_samples},
    {"remainder", division_samples},
    {"eq", comparison_samples},
    {"ne", comparison_samples},
    {"lt", comparison_samples},
    {"le", comparison_samples},
    {"gt", comparison_samples},
    {"ge", comparison_samples},
    {"logical_and", comparison_samples},
    {"logical_or", comparison_samples},
    {"logical_xor", comparison_samples},
    {"logical_not", kAnyValue},
    {"isnan", kind_samples},
    {"isinf", kind_samples},
    {"isfinite", kind_samples},
    {"masked_fill", masked_fill_samples},
};

}  // namespace
}  // namespace vellum::conformance
