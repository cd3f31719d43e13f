#include <limits>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  Dims shape;
  int dim;
};
const Case kCases[] = {{{3, 4}, 1}, {{3, 4}, 0}, {{2, 3, 4}, 1}, {{67}, 0},     {{}, 0},
                       {{0, 3}, 1}, {{3, 0}, 1}, {{5, 67}, 1},   {{2, 700}, 1}, {{67, 3}, 0}};

std::vector<Sample> forward_samples(Device) {
  std::vector<Sample> samples;
  for (const Case& c : kCases) samples.push_back({.operands = {{c.shape}}, .attrs = attributes(SoftmaxAttrs{{c.dim}})});
  samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(SoftmaxAttrs{{1}, kFloat64})});
  samples.push_back({.operands = {{{3, 4}}}, .attrs = attributes(SoftmaxAttrs{{0}, kFloat32})});
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64})
    for (const int dim : {0, 1})
      samples.push_back({.operands = {{{3, 3}, Values::kFixed, dtype, 0, {-kInf, 1, kNan, -2, kInf, 3, 0, 1000, 4}}},
                         .attrs = attributes(SoftmaxAttrs{{dim}}),
                         .gradients = false});
  return samples;
}

std::vector<Sample> backward_samples(Device) {
  std::vector<Sample> samples;
  for (const Case& c : kCases)
    samples.push_back({.operands = {{c.shape}, {c.shape}}, .attrs = attributes(DimAttrs{c.dim})});
  return samples;
}

const RegisterSamples kRegistered{
    {"softmax", forward_samples},
    {"softmax_backward", backward_samples},
    {"log_softmax", forward_samples},
    {"log_softmax_backward", backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
