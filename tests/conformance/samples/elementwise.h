#ifndef VELLUM_TESTS_CONFORMANCE_SAMPLES_ELEMENTWISE_H_
#define VELLUM_TESTS_CONFORMANCE_SAMPLES_ELEMENTWISE_H_

#include <memory>
#include <utility>
#include <vector>

#include "vellum/tests/conformance/sample.h"

// The shapes that elementwise operators are called with.

namespace vellum::conformance {

// One operand: a matrix, a long row (vector loops and their tails), rank 3, a scalar, nothing.
inline std::vector<Sample> unary(Values values, const std::shared_ptr<const void>& attrs = nullptr) {
  std::vector<Sample> samples;
  for (const Dims& shape : {Dims{3, 4}, Dims{67}, Dims{2, 3, 5}, Dims{}, Dims{0}, Dims{3, 0}})
    samples.push_back({.operands = {{shape, values}}, .attrs = attrs});
  return samples;
}

// Two operands: alike, broadcast in either or both directions, with a scalar, empty.
inline std::vector<Sample> binary(Values left, Values right, const std::shared_ptr<const void>& attrs = nullptr) {
  const std::pair<Dims, Dims> shapes[] = {{{3, 4}, {3, 4}}, {{67}, {67}},        {{3, 4}, {4}}, {{3, 1}, {3, 4}},
                                          {{3, 1}, {1, 4}}, {{2, 3, 4}, {3, 1}}, {{3, 4}, {}},  {{}, {3, 4}},
                                          {{}, {}},         {{3, 0}, {3, 1}},    {{0}, {}},     {{2, 1, 3}, {2, 5, 3}}};
  std::vector<Sample> samples;
  for (const auto& [a, b] : shapes) samples.push_back({.operands = {{a, left}, {b, right}}, .attrs = attrs});
  return samples;
}

// Three operands: alike, each of them alone a scalar or broadcast, all scalars, empty.
inline std::vector<Sample> ternary(Values a, Values b, Values c, const std::shared_ptr<const void>& attrs = nullptr) {
  const Dims shapes[][3] = {{{3, 4}, {3, 4}, {3, 4}}, {{67}, {67}, {67}},   {{3, 4}, {3, 4}, {}},
                            {{3, 4}, {}, {3, 4}},     {{}, {3, 4}, {3, 4}}, {{67}, {}, {}},
                            {{}, {67}, {}},           {{}, {}, {67}},       {{3, 1}, {4}, {3, 4}},
                            {{2, 3, 1}, {1, 4}, {}},  {{}, {}, {}},         {{0}, {}, {0}}};
  std::vector<Sample> samples;
  for (const auto& s : shapes) samples.push_back({.operands = {{s[0], a}, {s[1], b}, {s[2], c}}, .attrs = attrs});
  return samples;
}

inline std::vector<Sample> joined(std::vector<Sample> samples, const std::vector<Sample>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
  return samples;
}

// The same samples with all operands of one dtype, for attributes that others do not take.
inline std::vector<Sample> only(DType dtype, std::vector<Sample> samples) {
  for (Sample& sample : samples)
    for (Operand& operand : sample.operands) operand.dtype = dtype;
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

// An operand of these values, in the dtype that the suite runs through.
inline Operand fixed(const Dims& shape, std::vector<double> values) {
  return {shape, Values::kFixed, DType::kUndefined, 0, std::move(values)};
}

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_SAMPLES_ELEMENTWISE_H_
