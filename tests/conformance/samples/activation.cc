#include <iterator>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/conformance/samples/elementwise.h"

namespace vellum::conformance {
namespace {

// Values out to where the functions are flat.
constexpr double kWide[] = {-30, -12, -6, -4.5, -3.25, -2, -1, -0.5, -0.125, 0.125, 0.5, 1, 2, 3.25, 4.5, 6, 12, 30};

// One operand, and a wide range of values.
template <typename... Attrs>
std::vector<Sample> activation(Attrs... attrs) {
  std::vector<Sample> samples;
  for (const std::shared_ptr<const void>& each : {attributes(attrs)...}) {
    samples = joined(samples, unary(Values::kAny, each));
    samples.push_back({.operands = {fixed({18}, {std::begin(kWide), std::end(kWide)})}, .attrs = each});
  }
  return samples;
}
template <typename... Attrs>
std::vector<Sample> activation_backward(Attrs... attrs) {
  std::vector<Sample> samples;
  for (const std::shared_ptr<const void>& each : {attributes(attrs)...}) {
    samples = joined(samples, binary(Values::kAny, Values::kAny, each));
    samples.push_back(
        {.operands = {fixed({18}, {1, -0.5, 2}), fixed({18}, {std::begin(kWide), std::end(kWide)})}, .attrs = each});
  }
  return samples;
}

struct NoAttrs {};

std::vector<Sample> gelu_samples(Device) { return activation(GeluAttrs{false}, GeluAttrs{true}); }
std::vector<Sample> gelu_backward_samples(Device) { return activation_backward(GeluAttrs{false}, GeluAttrs{true}); }
std::vector<Sample> silu_samples(Device) { return activation(NoAttrs{}); }
std::vector<Sample> silu_backward_samples(Device) { return activation_backward(NoAttrs{}); }

// A threshold that is passed within the values.
std::vector<Sample> softplus_samples(Device) { return activation(SoftplusAttrs{}, SoftplusAttrs{2.5, 1.3}); }
std::vector<Sample> softplus_backward_samples(Device) {
  return activation_backward(SoftplusAttrs{}, SoftplusAttrs{2.5, 1.3});
}

std::vector<Sample> leaky_relu_samples(Device) {
  return activation(LeakyReluAttrs{}, LeakyReluAttrs{0}, LeakyReluAttrs{-0.5});
}
std::vector<Sample> leaky_relu_backward_samples(Device) {
  return activation_backward(LeakyReluAttrs{}, LeakyReluAttrs{-0.5});
}
std::vector<Sample> elu_samples(Device) { return activation(EluAttrs{}, EluAttrs{2}, EluAttrs{-0.5}); }
std::vector<Sample> elu_backward_samples(Device) {
  return activation_backward(EluBackwardAttrs{1.5, false}, EluBackwardAttrs{1.5, true}, EluBackwardAttrs{-0.5, false});
}

const RegisterSamples kRegistered{
    {"relu", unary_samples<Values::kAny>},
    {"relu_backward", binary_samples<Values::kAny, Values::kAny>},
    {"gelu", gelu_samples},
    {"gelu_backward", gelu_backward_samples},
    {"silu", silu_samples},
    {"silu_backward", silu_backward_samples},
    {"softplus", softplus_samples},
    {"softplus_backward", softplus_backward_samples},
    {"leaky_relu", leaky_relu_samples},
    {"leaky_relu_backward", leaky_relu_backward_samples},
    {"elu", elu_samples},
    {"elu_backward", elu_backward_samples},
};

}  // namespace
}  // namespace vellum::conformance
