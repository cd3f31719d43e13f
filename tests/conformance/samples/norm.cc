#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

const Operand kNone{.shape = {}, .defined = false};

Dims last(const Dims& shape, int count) {
  return Dims(std::span<const int64_t>(shape.end() - count, static_cast<size_t>(count)));
}

Dims with_ones(Dims shape, int count) {
  for (int i = shape.size() - count; i < shape.size(); ++i) shape[i] = 1;
  return shape;
}

struct LayerCase {
  Dims shape;
  int rank;
};

const LayerCase kLayerCases[] = {{{3, 5}, 1}, {{2, 2, 3}, 1}, {{2, 2, 3}, 2}, {{4}, 1},
                                 {{2, 1}, 1}, {{0, 3}, 1},    {{3, 67}, 1},   {{2, 1100}, 1}};

bool is_small(const Dims& shape) { return numel_of(shape) < 40; }

std::vector<Sample> layer_norm_samples(Device) {
  std::vector<Sample> samples;
  for (const auto& [shape, rank] : kLayerCases) {
    const Operand parameter{last(shape, rank)};
    for (const auto& [weight, bias] : {std::pair{parameter, parameter}, {parameter, kNone}, {kNone, kNone}})
      samples.push_back({.operands = {{shape, Values::kDistinct}, weight, bias},
                         .attrs = attributes(LayerNormAttrs{rank, 1e-3}),
                         .gradients = is_small(shape)});
  }
  return samples;
}

std::vector<Sample> layer_norm_backward_samples(Device) {
  std::vector<Sample> samples;
  for (const auto& [shape, rank] : kLayerCases)
    for (const uint8_t wanted : {7, 1, 2, 4}) {
      const Operand statistic{with_ones(shape, rank), Values::kPositive}, parameter{last(shape, rank)};
      samples.push_back({.operands = {{shape}, {shape}, statistic, statistic, wanted == 1 ? kNone : parameter},
                         .attrs = attributes(LayerNormBackwardAttrs{rank, wanted}),
                         .gradients = is_small(shape)});
    }
  return samples;
}

const Dims kBatchCases[] = {{4, 3}, {3, 2, 2}, {2, 2, 3, 1}, {2, 0}, {5, 150}, {2, 3, 37}, {2, 2, 1100}};

std::vector<Sample> batch_norm_samples(Device) {
  std::vector<Sample> samples;
  for (const Dims& shape : kBatchCases) {
    const Operand x{shape, Values::kDistinct}, channels{{shape[1]}}, positive{{shape[1]}, Values::kPositive};
    const auto add = [&](bool training, const Operand& mean, const Operand& var, const Operand& parameter) {
      samples.push_back({.operands = {x, mean, var, parameter, parameter},
                         .attrs = attributes(BatchNormAttrs{training, 1e-3}),
                         .gradients = is_small(shape)});
    };
    add(true, kNone, kNone, channels);
    add(true, channels, positive, kNone);
    add(false, channels, positive, channels);
    add(false, channels, positive, kNone);
  }
  return samples;
}

std::vector<Sample> batch_norm_backward_samples(Device) {
  std::vector<Sample> samples;
  for (const Dims& shape : kBatchCases)
    for (const bool training : {true, false})
      for (const uint8_t wanted : {7, 1, 6}) {
        const Operand statistic{{shape[1]}, Values::kPositive}, parameter{{shape[1]}};
        samples.push_back({.operands = {{shape}, {shape}, statistic, statistic, wanted == 1 ? kNone : parameter},
                           .attrs = attributes(BatchNormBackwardAttrs{training, wanted}),
                           .gradients = is_small(shape)});
      }
  return samples;
}

const RegisterSamples kRegistered{
    {"layer_norm", layer_norm_samples},
    {"layer_norm_backward", layer_norm_backward_samples},
    {"batch_norm", batch_norm_samples},
    {"batch_norm_backward", batch_norm_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
