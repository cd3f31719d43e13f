#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

struct Reduce {
  Dims shape;
  uint32_t dims;
  bool keepdim;
};

template <Values values>
std::vector<Sample> reduce_samples(Device) {
  static const Reduce kCases[] = {{{3, 4}, 0b01, false}, {{3, 4}, 0b10, true},      {{3, 4}, 0b11, false},
                                  {{3, 4}, 0b11, true},  {{2, 3, 5}, 0b010, false}, {{2, 3, 5}, 0b101, true},
                                  {{67}, 0b1, false},    {{5, 67}, 0b10, false},    {{67, 5}, 0b01, false},
                                  {{}, 0, false},        {{0, 3}, 0b10, false},     {{3, 1}, 0b10, false}};
  std::vector<Sample> samples;
  for (const Reduce& c : kCases)
    samples.push_back({.operands = {{c.shape, values}}, .attrs = attributes(ReduceAttrs{c.dims, c.keepdim})});
  return samples;
}

// A sum over nothing is 0, a mean NaN; so is the gradient of the mean's gradient.
std::vector<Sample> sum_samples(Device device) {
  std::vector<Sample> samples = reduce_samples<Values::kAny>(device);
  samples.push_back({.operands = {{{0, 3}}}, .attrs = attributes(ReduceAttrs{0b01, false}), .gradients = false});
  samples.push_back({.operands = {{{0}}}, .attrs = attributes(ReduceAttrs{0b1, true}), .gradients = false});
  return samples;
}

// Without ties for the gradient; with ties, that of amax is shared and not the limit of a difference.
std::vector<Sample> amax_samples(Device device) {
  std::vector<Sample> samples = reduce_samples<Values::kDistinct>(device);
  for (Sample tied : reduce_samples<Values::kAny>(device)) {
    tied.gradients = false;
    samples.push_back(tied);
  }
  return samples;
}

std::vector<Sample> max_samples(Device) {
  std::vector<Sample> samples;
  for (const Values values : {Values::kDistinct, Values::kAny}) {
    const auto add = [&](const Dims& shape, int dim, bool keepdim) {
      samples.push_back({.operands = {{shape, values}},
                         .attrs = attributes(DimAttrs{dim, keepdim}),
                         .gradients = values == Values::kDistinct});
    };
    add({3, 4}, 0, false);
    add({3, 4}, 1, true);
    add({2, 3, 5}, 1, false);
    add({67}, 0, false);
    add({}, 0, false);
    add({0, 3}, 1, false);
  }
  return samples;
}

const RegisterSamples kRegistered{
    {"sum", sum_samples},
    {"mean", sum_samples},
    {"amax", amax_samples},
    {"max", max_samples},
};

}  // namespace
}  // namespace vellum::conformance
