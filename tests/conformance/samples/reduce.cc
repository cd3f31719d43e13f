#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloats[] = {kFloat16, kBFloat16, kFloat32, kFloat64};

struct Reduce {
  Dims shape;
  uint32_t dims;
  bool keepdim = false;
};
const Reduce kCases[] = {
    {{3, 4}, 0b01},           {{3, 4}, 0b10, true}, {{3, 4}, 0b11},  {{3, 4}, 0b11, true}, {{2, 3, 5}, 0b010},
    {{2, 3, 5}, 0b101, true}, {{67}, 0b1},          {{5, 67}, 0b10}, {{67, 5}, 0b01},      {{}, 0},
    {{0, 3}, 0b10},           {{3, 1}, 0b10}};

// All cases, with the attributes that `make` gives to each.
template <typename Make>
std::vector<Sample> cases(Values values, Make make) {
  std::vector<Sample> samples;
  for (const Reduce& c : kCases)
    samples.push_back({.operands = {{c.shape, values}}, .attrs = make(ReduceAttrs{c.dims, c.keepdim})});
  return samples;
}

std::shared_ptr<const void> plain(ReduceAttrs a) { return attributes(a); }

// Over nothing: the identity, or NaN; so may be the gradient of the gradient.
void add_empty(std::vector<Sample>& samples, std::shared_ptr<const void> (*make)(ReduceAttrs)) {
  samples.push_back({.operands = {{{0, 3}}}, .attrs = make({0b01}), .gradients = false});
  samples.push_back({.operands = {{{0}}}, .attrs = make({0b1, true}), .gradients = false});
}

// Infinities and NaN, in rows and in columns of several lengths.
void add_special(std::vector<Sample>& samples, std::shared_ptr<const void> (*make)(ReduceAttrs)) {
  for (const DType dtype : kFloats)
    for (const uint32_t dims : {0b01, 0b10, 0b11}) {
      samples.push_back({.operands = {{{4, 5}, Values::kFixed, dtype, 0, {1, -kInf, -kInf, 2, kNan, kInf, -kInf, 3}}},
                         .attrs = make({dims}),
                         .gradients = false});
      samples.push_back({.operands = {{{6, 6}, Values::kFixed, dtype, 0, {1, kInf, 2, kInf, -kInf, -0.0, 0}}},
                         .attrs = make({dims}),
                         .gradients = false});
    }
}

std::vector<Sample> sum_samples(Device) {
  std::vector<Sample> samples = cases(Values::kAny, plain);
  add_empty(samples, plain);
  add_special(samples, plain);
  for (const DType dtype : {kFloat32, kFloat64, kComplex128, kInt64})
    samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(ReduceAttrs{0b10, false, dtype})});
  return samples;
}

std::vector<Sample> mean_samples(Device) {
  std::vector<Sample> samples = cases(Values::kAny, plain);
  add_empty(samples, plain);
  add_special(samples, plain);
  for (const DType dtype : {kFloat32, kFloat64, kComplex128})
    samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(ReduceAttrs{0b10, false, dtype})});
  return samples;
}

// With one zero and with several in a line, where the gradient must not divide.
std::vector<Sample> prod_samples(Device) {
  std::vector<Sample> samples = cases(Values::kAny, plain);
  for (Sample& s : samples)  // long products stay exact in double
    if (Operand& x = s.operands[0]; numel_of(x.shape) > 24)
      x = {x.shape, Values::kFixed, DType::kUndefined, 0, {1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 1}};
  add_empty(samples, plain);
  for (const uint32_t dims : {0b01, 0b10, 0b11})
    samples.push_back(
        {.operands = {{{3, 4}, Values::kFixed, DType::kUndefined, 0, {0, 2, -1, 3, 1, 4, 0, 0, 2, 0, -2, 1}}},
         .attrs = attributes(ReduceAttrs{dims})});
  samples.push_back({.operands = {{{5}, Values::kFixed, DType::kUndefined, 0, {2, 3, 0, -1, 4}}},
                     .attrs = attributes(ReduceAttrs{0b1})});
  for (const DType dtype : {kFloat64, kComplex128, kInt64})
    samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(ReduceAttrs{0b10, false, dtype})});
  return samples;
}

std::vector<Sample> truth_samples(Device) {
  std::vector<Sample> samples = cases(Values::kAny, plain);
  for (const Sample& s : cases(Values::kNonzero, plain)) samples.push_back(s);
  add_empty(samples, plain);
  for (const uint32_t dims : {0b01, 0b10, 0b11})
    samples.push_back({.operands = {{{3, 4}, Values::kFixed, DType::kUndefined, 0, {0, 0, 0, 1, 0, 0, 0, 0}}},
                       .attrs = attributes(ReduceAttrs{dims})});
  for (const DType dtype : kFloats)
    samples.push_back({.operands = {{{2, 2}, Values::kFixed, dtype, 0, {kNan, -0.0, 0.5, 0}}},
                       .attrs = attributes(ReduceAttrs{0b10})});
  return samples;
}

// Without ties for the gradient; with ties, that of amax is shared and not the limit of a difference.
std::vector<Sample> extremum_samples(Device) {
  std::vector<Sample> samples = cases(Values::kDistinct, plain);
  for (Sample tied : cases(Values::kAny, plain)) {
    tied.gradients = false;
    samples.push_back(tied);
  }
  add_special(samples, plain);
  return samples;
}

// max and min with indices, and their arguments alone.
template <bool kWithAll>
std::vector<Sample> index_samples(Device) {
  std::vector<Sample> samples;
  const auto add = [&](Operand x, int dim, bool keepdim) {
    const bool smooth = x.values == Values::kDistinct;
    samples.push_back({.operands = {std::move(x)}, .attrs = attributes(DimAttrs{dim, keepdim}), .gradients = smooth});
  };
  for (const Values values : {Values::kDistinct, Values::kAny}) {
    add({{3, 4}, values}, 0, false);
    add({{3, 4}, values}, 1, true);
    add({{2, 3, 5}, values}, 1, false);
    add({{67}, values}, 0, false);
    add({{2, 2500}, values}, 1, false);  // longer than what is looked at together
    add({{}, values}, 0, false);
    add({{0, 3}, values}, 1, false);
    for (const bool keepdim : {false, true})
      if (kWithAll) add({{2, 3, 5}, values}, kAllDims, keepdim);
  }
  for (const DType dtype : kFloats)
    for (const int dim : {0, 1})
      add({{4, 5}, Values::kFixed, dtype, 0, {1, -kInf, -kInf, 2, kNan, kInf, -kInf, 3}}, dim, false);
  return samples;
}

// Where every line has two elements or more that differ: the square root of std needs a slope.
template <int kCorrection>
std::vector<Sample> var_samples(Device) {
  std::vector<Sample> samples;
  for (const Reduce& c : kCases) {
    int64_t count = 1;
    for (int d = 0; d < c.shape.size(); ++d)
      if (c.dims >> d & 1) count *= c.shape[d];
    samples.push_back({.operands = {{c.shape, Values::kDistinct}},
                       .attrs = attributes(VarAttrs{{c.dims, c.keepdim}, kCorrection}),
                       .gradients = count > kCorrection && count > 1});
  }
  samples.push_back({.operands = {{{2, 2500}}}, .attrs = attributes(VarAttrs{{0b10}, kCorrection})});
  samples.push_back({.operands = {{{300, 5}}}, .attrs = attributes(VarAttrs{{0b01}, kCorrection})});
  samples.push_back({.operands = {{{0, 3}}}, .attrs = attributes(VarAttrs{{0b01}, kCorrection}), .gradients = false});
  samples.push_back({.operands = {{{2, 3}, Values::kFixed, DType::kUndefined, 0, {2, 2, 2, 1, 2, 3}}},
                     .attrs = attributes(VarAttrs{{0b10}, 5}),
                     .gradients = false});
  return samples;
}

std::vector<Sample> all_var_samples(Device device) {
  std::vector<Sample> samples = var_samples<1>(device);
  for (Sample& s : var_samples<0>(device)) samples.push_back(std::move(s));
  return samples;
}

std::vector<Sample> vector_norm_samples(Device) {
  std::vector<Sample> samples;
  for (const double ord : {0.0, 1.0, 2.0, 3.0, 2.5, 0.5, -1.0, kInf, -kInf}) {
    const auto make = [ord](ReduceAttrs a) { return attributes(VectorNormAttrs{a, ord}); };
    for (Sample s : cases(Values::kDistinct, make)) {
      s.gradients = false;  // 0 is among them
      samples.push_back(std::move(s));
    }
    for (const Reduce& c : kCases)
      samples.push_back({.operands = {{c.shape, Values::kPositive}}, .attrs = make({c.dims, c.keepdim})});
    samples.push_back(
        {.operands = {{{2, 3}, Values::kFixed, DType::kUndefined, 0, {2, -3, 1, -1, 4, 5}}}, .attrs = make({0b10})});
  }
  for (const double ord : {0.0, 1.0, 2.0, 0.5})
    samples.push_back({.operands = {{{0, 3}}}, .attrs = attributes(VectorNormAttrs{{0b01}, ord}), .gradients = false});
  for (const double ord : {2.0, kInf, -kInf})
    for (const DType dtype : kFloats)
      samples.push_back({.operands = {{{2, 3}, Values::kFixed, dtype, 0, {1, kNan, kInf, -kInf, 2, 0}}},
                         .attrs = attributes(VectorNormAttrs{{0b10}, ord}),
                         .gradients = false});
  return samples;
}

std::vector<Sample> logsumexp_samples(Device) {
  std::vector<Sample> samples = cases(Values::kAny, plain);
  add_empty(samples, plain);
  add_special(samples, plain);
  samples.push_back({.operands = {{{2, 2500}}}, .attrs = attributes(ReduceAttrs{0b10})});
  samples.push_back({.operands = {{{300, 5}}}, .attrs = attributes(ReduceAttrs{0b01})});
  return samples;
}

const RegisterSamples kRegistered{
    {"sum", sum_samples},
    {"mean", mean_samples},
    {"prod", prod_samples},
    {"any", truth_samples},
    {"all", truth_samples},
    {"amax", extremum_samples},
    {"amin", extremum_samples},
    {"max", index_samples<false>},
    {"min", index_samples<false>},
    {"argmax", index_samples<true>},
    {"argmin", index_samples<true>},
    {"var", all_var_samples},
    {"std", all_var_samples},
    {"vector_norm", vector_norm_samples},
    {"logsumexp", logsumexp_samples},
};

}  // namespace
}  // namespace vellum::conformance
