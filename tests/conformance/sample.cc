#include "vellum/tests/conformance/sample.h"

#include <map>

namespace vellum::conformance {
namespace {

std::map<std::string_view, SampleFunction>& registry() {
  static auto& instance = *new std::map<std::string_view, SampleFunction>;
  return instance;
}

}  // namespace

std::string_view layout_name(Layout layout) {
  static constexpr std::string_view kNames[] = {"contiguous", "transposed", "sliced", "expanded", "aliased"};
  return kNames[static_cast<int>(layout)];
}

RegisterSamples::RegisterSamples(std::initializer_list<std::pair<std::string_view, SampleFunction>> table) {
  for (const auto& [op, samples] : table) registry()[op] = samples;
}

SampleFunction find_samples(std::string_view op) {
  const auto found = registry().find(op);
  return found == registry().end() ? nullptr : found->second;
}

}  // namespace vellum::conformance
