#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Short lines, ones that are long enough for the other algorithm, and ones with many equal elements.
struct Case {
  Operand x;
  int dim;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Values values : {Values::kDistinct, Values::kAny}) {
    const std::pair<Dims, int> shapes[] = {{{3, 4}, 1},    {{3, 4}, 0}, {{2, 3, 5}, 1}, {{67}, 0},
                                           {{2, 1500}, 1}, {{}, 0},     {{0, 3}, 1},    {{1300, 2}, 0}};
    for (const auto& [shape, dim] : shapes) all.push_back({{shape, values}, dim});
  }
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64})
    for (const Dims& shape : {Dims{12}, Dims{1200}})
      all.push_back({{shape, Values::kFixed, dtype, 0, {1, kNan, -0.0, kInf, 0, -3, 2, -kInf, -0.0, kNan, 1, 0.5}}, 0});
  return all;
}

std::vector<Sample> sort_samples(Device) {
  std::vector<Sample> samples;
  for (const bool descending : {false, true})
    for (const Case& c : cases())
      samples.push_back({.operands = {c.x},
                         .attrs = attributes(SortAttrs{{c.dim}, descending}),
                         .gradients = c.x.values == Values::kDistinct});
  return samples;
}

std::vector<Sample> topk_samples(Device) {
  std::vector<Sample> samples;
  for (const bool largest : {false, true})
    for (const bool sorted : {false, true})
      for (const Case& c : cases()) {
        const int64_t n = c.x.shape.empty() ? 1 : c.x.shape[c.dim];
        if (!sorted && c.dim != 0) continue;
        std::vector<int64_t> counts{n / 2, n};
        if (c.x.shape.empty()) counts = {1};
        if (n > 1000) counts = {7, 1100};
        for (const int64_t k : counts)
          samples.push_back({.operands = {c.x},
                             .attrs = attributes(TopKAttrs{{c.dim}, k, largest, sorted}),
                             .gradients = c.x.values == Values::kDistinct});
      }
  return samples;
}

const RegisterSamples kRegistered{{"sort", sort_samples}, {"topk", topk_samples}};

}  // namespace
}  // namespace vellum::conformance
