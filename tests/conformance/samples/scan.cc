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

const RegisterSamples kRegistered{{"cumsum", cumsum_samples}};

}  // namespace
}  // namespace vellum::conformance
