#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

constexpr DType kTargets[] = {kBool,    kUInt8,    kInt8,    kInt16,   kInt32,     kInt64,
                              kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128};

// To each dtype. Positive, because what becomes of a negative real in an unsigned integer is the machine's choice.
std::vector<Sample> copy_samples(Device) {
  std::vector<Sample> samples;
  for (const DType to : kTargets)
    samples.push_back({.operands = {{{3, 4}, Values::kPositive}},
                       .attrs = attributes(CopyAttrs{to}),
                       .gradients = is_differentiable(to)});
  for (const Dims& shape : {Dims{67}, Dims{2, 3, 5}, Dims{}, Dims{0}})
    samples.push_back({.operands = {{shape, Values::kPositive}}, .attrs = attributes(CopyAttrs{kFloat64})});
  return samples;
}

std::vector<Sample> copy_in_place_samples(Device) {
  std::vector<Sample> samples;
  for (const DType from : kTargets) samples.push_back({.operands = {{{3, 4}}, {{3, 4}, Values::kPositive, from}}});
  samples.push_back({.operands = {{{3, 4}}, {{3, 4}}}});
  samples.push_back({.operands = {{{3, 4}}, {{4}}}});
  samples.push_back({.operands = {{{2, 3, 4}}, {{3, 1}}}});
  samples.push_back({.operands = {{{3, 4}}, {{}}}});
  samples.push_back({.operands = {{{}}, {{}}}});
  samples.push_back({.operands = {{{3, 0}}, {{3, 1}}}});
  return samples;
}

std::vector<Sample> fill_samples(Device) {
  std::vector<Sample> samples;
  for (const Scalar& value : {Scalar(2), Scalar(true), Scalar(1.25)})
    for (const Dims& shape : {Dims{3, 4}, Dims{67}, Dims{}, Dims{0}})
      samples.push_back({.operands = {{shape}}, .attrs = attributes(FillAttrs{value})});
  return samples;
}

std::vector<Sample> to_device_samples(Device device) {
  std::vector<Sample> samples;
  for (const Dims& shape : {Dims{3, 4}, Dims{67}, Dims{}, Dims{0}})
    samples.push_back({.operands = {{shape}}, .attrs = attributes(ToDeviceAttrs{device})});
  return samples;
}

const RegisterSamples kRegistered{
    {"copy", copy_samples},
    {"copy_", copy_in_place_samples},
    {"fill_", fill_samples},
    {"to_device", to_device_samples},
};

}  // namespace
}  // namespace vellum::conformance
