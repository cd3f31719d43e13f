#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

Operand target(std::vector<double> classes) {
  return {{static_cast<int64_t>(classes.size())}, Values::kFixed, kInt64, 0, classes};
}

constexpr NllLossAttrs kOptions[] = {
    {Reduction::kMean}, {Reduction::kSum}, {Reduction::kNone}, {Reduction::kMean, 1}, {Reduction::kNone, 1}};

std::vector<Sample> nll_loss_samples(Device) {
  std::vector<Sample> samples;
  for (const NllLossAttrs& options : kOptions)
    samples.push_back({.operands = {{{4, 3}}, target({0, 2, 1, 2})}, .attrs = attributes(options)});
  samples.push_back({.operands = {{{1, 5}}, target({4})}, .attrs = attributes(NllLossAttrs{})});
  samples.push_back({.operands = {{{0, 3}}, {{0}, Values::kFixed, kInt64, 0, {0}}},
                     .attrs = attributes(NllLossAttrs{Reduction::kSum})});
  return samples;
}

std::vector<Sample> nll_loss_backward_samples(Device) {
  std::vector<Sample> samples;
  for (const NllLossAttrs& options : kOptions)
    samples.push_back({.operands = {{options.reduction == Reduction::kNone ? Dims{4} : Dims{}}, target({0, 2, 1, 2})},
                       .attrs = attributes(NllLossBackwardAttrs{options, {4, 3}})});
  return samples;
}

const RegisterSamples kRegistered{
    {"nll_loss", nll_loss_samples},
    {"nll_loss_backward", nll_loss_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
