#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

std::vector<Sample> cumsum_samples(Device) {
  std::vector<Sample> samples;
  const std::pair<Dims, int> cases[] = {{{3, 4}, 1}, {{3, 4}, 0}, {{2, 3, 4}, 1}, {{67}, 0},
                                        {{}, 0},     {{0, 3}, 0}, {{0, 3}, 1},    {{5, 300}, 0}};
  for (const bool reverse : {false, true})
    for (const auto& [shape, dim] : cases)
      samples.push_back({.operands = {{shape}}, .attrs = attributes(ScanAttrs{{dim}, reverse})});
  for (const DType dtype : {kFloat64, kComplex128, kInt64})
    samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(ScanAttrs{{1}, false, dtype})});
  return samples;
}

// Around 1, with none, one and several zeros in a line.
std::vector<Sample> cumprod_samples(Device) {
  std::vector<Sample> samples;
  const std::vector<double> plain = {1.5, -0.75, 0.875, 1, -1.25, 2}, zeros = {1.5, 0, -0.75, 2, 0.5, 1.25, 0, 3, 0, 1};
  const auto add = [&](const Dims& shape, const std::vector<double>& values, ScanAttrs attrs) {
    samples.push_back(
        {.operands = {{shape, Values::kFixed, DType::kUndefined, 0, values}}, .attrs = attributes(attrs)});
  };
  const std::pair<Dims, int> cases[] = {{{3, 4}, 1}, {{3, 4}, 0}, {{2, 3, 4}, 1}, {{37}, 0},   {{1, 3}, 0},
                                        {{}, 0},     {{0, 3}, 0}, {{0, 3}, 1},    {{2, 5}, 1}, {{5, 300}, 0}};
  for (const bool reverse : {false, true})
    for (const auto& [shape, dim] : cases)
      for (const auto& values : {plain, zeros}) add(shape, values, {{dim}, reverse});
  for (const DType dtype : {kFloat64, kComplex128, kInt64}) add({3, 4}, plain, {{1}, false, dtype});
  samples.push_back({.operands = {{{2, 6}}}, .attrs = attributes(ScanAttrs{{1}})});
  return samples;
}

const RegisterSamples kRegistered{{"cumsum", cumsum_samples}, {"cumprod", cumprod_samples}};

}  // namespace
}  // namespace vellum::conformance
