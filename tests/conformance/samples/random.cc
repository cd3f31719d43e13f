#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

template <typename Attrs>
std::vector<Sample> fill_samples(Attrs attrs) {
  std::vector<Sample> samples;
  for (const Dims& shape : {Dims{3, 4}, Dims{67}, Dims{}, Dims{0}, Dims{5, 13}})
    samples.push_back({.operands = {{shape}}, .attrs = attributes(attrs)});
  return samples;
}

std::vector<Sample> dropout_backward_samples(Device) {
  std::vector<Sample> samples = fill_samples(DropoutAttrs{0.3});
  for (Sample& s : samples) s.operands.push_back({{2}, Values::kFixed, kInt64, 0, {1234, 8}});
  return samples;
}

const RegisterSamples kRegistered{
    {"uniform_",
     [](Device) {
       return fill_samples(UniformAttrs{-1, 3});
     }},
    {"normal_",
     [](Device) {
       return fill_samples(NormalAttrs{0.5, 2});
     }},
    {"dropout", [](Device) { return fill_samples(DropoutAttrs{0.3}); }},
    {"dropout_backward", dropout_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
