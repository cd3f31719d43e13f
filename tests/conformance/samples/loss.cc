#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

Operand target(std::vector<double> classes) {
  return {{static_cast<int64_t>(classes.size())}, Values::kFixed, kInt64, 0, classes};
}

const Operand kNone{.shape = {}, .defined = false};
const Operand kThreeWeights{{3}, Values::kPositive};

constexpr NllLossAttrs kOptions[] = {
    {Reduction::kMean}, {Reduction::kSum}, {Reduction::kNone}, {Reduction::kMean, 1}, {Reduction::kNone, 1}};

std::vector<Sample> nll_loss_samples(Device) {
  std::vector<Sample> samples;
  for (const NllLossAttrs& options : kOptions)
    for (const Operand& weight : {kNone, kThreeWeights})
      samples.push_back({.operands = {{{4, 3}}, target({0, 2, 1, 2}), weight}, .attrs = attributes(options)});
  for (const Reduction reduction : {Reduction::kMean, Reduction::kNone}) {
    const NllLossAttrs options{reduction, 1};
    const Operand places{{2, 2, 1}, Values::kFixed, kInt64, 0, {0, 2, 1, 2}};
    samples.push_back({.operands = {{{2, 3, 2, 1}}, places, kThreeWeights}, .attrs = attributes(options)});
    samples.push_back(
        {.operands = {{{3}}, {{}, Values::kFixed, kInt64, 0, {2}}, kThreeWeights}, .attrs = attributes(options)});
  }
  samples.push_back({.operands = {{{1, 5}}, target({4}), kNone}, .attrs = attributes(NllLossAttrs{})});
  samples.push_back({.operands = {{{0, 3}}, {{0}, Values::kFixed, kInt64, 0, {0}}, kNone},
                     .attrs = attributes(NllLossAttrs{Reduction::kSum})});
  return samples;
}

std::vector<Sample> nll_loss_backward_samples(Device) {
  std::vector<Sample> samples;
  const auto cotangent = [](Reduction reduction, const Dims& each) {
    return Operand{reduction == Reduction::kNone ? each : Dims{}};
  };
  for (const NllLossAttrs& options : kOptions) {
    for (const Operand& weight : {kNone, kThreeWeights})
      samples.push_back({.operands = {cotangent(options.reduction, {4}), target({0, 2, 1, 2}), weight},
                         .attrs = attributes(NllLossBackwardAttrs{options, {4, 3}})});
    samples.push_back({.operands = {cotangent(options.reduction, {2, 2}),
                                    {{2, 2}, Values::kFixed, kInt64, 0, {0, 2, 1, 2}},
                                    kThreeWeights},
                       .attrs = attributes(NllLossBackwardAttrs{options, {2, 3, 2}})});
  }
  samples.push_back({.operands = {{Dims{}}, {{}, Values::kFixed, kInt64, 0, {2}}, kNone},
                     .attrs = attributes(NllLossBackwardAttrs{{}, {3}})});
  return samples;
}

constexpr CrossEntropyAttrs kSmoothOptions[] = {
    {Reduction::kMean},         {Reduction::kSum},           {Reduction::kNone},       {Reduction::kMean, 1},
    {Reduction::kNone, 1, 0.3}, {Reduction::kMean, 2, 0.25}, {Reduction::kSum, 0, 0.4}};

std::vector<Sample> cross_entropy_samples(Device) {
  std::vector<Sample> samples;
  for (const CrossEntropyAttrs& options : kSmoothOptions)
    for (const Operand& weight : {kNone, kThreeWeights})
      samples.push_back({.operands = {{{4, 3}}, target({0, 2, 1, 2}), weight}, .attrs = attributes(options)});
  for (const int64_t classes : {67, 1100}) {
    const Operand places = target({static_cast<double>(classes - 1), 3}), weights{{classes}, Values::kPositive};
    const CrossEntropyAttrs plain, smooth{Reduction::kMean, -100, 0.25};
    samples.push_back({.operands = {{{2, classes}}, places, kNone}, .attrs = attributes(plain), .gradients = false});
    samples.push_back({.operands = {{{2, classes}}, places, weights}, .attrs = attributes(smooth), .gradients = false});
  }
  for (const Operand& weight : {kNone, kThreeWeights})
    samples.push_back({.operands = {{{0, 3}}, {{0}, Values::kFixed, kInt64, 0, {0}}, weight},
                       .attrs = attributes(CrossEntropyAttrs{Reduction::kSum})});
  return samples;
}

std::vector<Sample> cross_entropy_backward_samples(Device device) {
  std::vector<Sample> samples = cross_entropy_samples(device);
  for (Sample& s : samples) {
    const auto& a = *static_cast<const CrossEntropyAttrs*>(s.attrs.get());
    const Operand scores = s.operands[0], classes = s.operands[1], weight = s.operands[2];
    const Dims rows{scores.shape[0]};
    s.operands = {
        {a.reduction == Reduction::kNone ? rows : Dims{}}, scores, classes, {rows, Values::kPositive}, weight};
  }
  return samples;
}

// Losses that compare elements.

std::vector<Sample> comparison_samples(Device) {
  return {{.operands = {{{3, 4}}, {{3, 4}}}},
          {.operands = {{{3, 4}}, {{4}}}},
          {.operands = {{{3, 1}}, {{1, 4}}}},
          {.operands = {{{}}, {{}}}},
          {.operands = {{{37}}, {{37}}}, .gradients = false},
          {.operands = {{{0, 3}}, {{0, 3}}}}};
}

std::vector<Sample> comparison_backward_samples(Device) {
  return {{.operands = {{{3, 4}}, {{3, 4}}, {{3, 4}}}},
          {.operands = {{{}}, {{3, 4}}, {{3, 4}}}},
          {.operands = {{{3, 4}}, {{4}}, {{3, 1}}}},
          {.operands = {{{37}}, {{37}}, {{37}}}, .gradients = false},
          {.operands = {{{3, 37}}, {{3, 1}}, {{37}}}, .gradients = false},
          {.operands = {{{0, 3}}, {{0, 3}}, {{0, 3}}}}};
}

std::vector<Sample> for_each_beta(std::vector<Sample> plain) {
  std::vector<Sample> samples;
  for (const double beta : {1.0, 2.5, 0.0})
    for (Sample s : plain) {
      s.attrs = attributes(SmoothL1LossAttrs{beta});
      samples.push_back(std::move(s));
    }
  return samples;
}

std::vector<Sample> smooth_l1_loss_samples(Device device) { return for_each_beta(comparison_samples(device)); }
std::vector<Sample> smooth_l1_loss_backward_samples(Device device) {
  return for_each_beta(comparison_backward_samples(device));
}

const RegisterSamples kRegistered{
    {"nll_loss", nll_loss_samples},
    {"nll_loss_backward", nll_loss_backward_samples},
    {"cross_entropy", cross_entropy_samples},
    {"cross_entropy_backward", cross_entropy_backward_samples},
    {"mse_loss", comparison_samples},
    {"mse_loss_backward", comparison_backward_samples},
    {"l1_loss", comparison_samples},
    {"l1_loss_backward", comparison_backward_samples},
    {"smooth_l1_loss", smooth_l1_loss_samples},
    {"smooth_l1_loss_backward", smooth_l1_loss_backward_samples},
    {"binary_cross_entropy_with_logits", comparison_samples},
    {"binary_cross_entropy_with_logits_backward", comparison_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
