#include "vellum/tensor/generator.h"

#include <array>

namespace vellum {
namespace {

// One generator for each device type and index in use; leaked, since backends may draw during shutdown.
struct Generators {
  static constexpr int kIndices = 16;
  std::array<std::array<Generator, kIndices>, kMaxDeviceTypes> all;
};

Generators& generators() {
  static Generators& instance = *new Generators;
  return instance;
}

}  // namespace

void Generator::manual_seed(uint64_t seed) { set_state({seed, 0}); }

RandomState Generator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(RandomState state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

RandomState Generator::reserve(uint64_t draws) {
  std::lock_guard lock(mutex_);
  const RandomState start = state_;
  state_.offset += (draws + 3) / 4 * 4;
  return start;
}

Generator& default_generator(Device device) {
  return generators().all[device.type.id][device.index % Generators::kIndices];
}

void manual_seed(uint64_t seed) {
  for (auto& of_type : generators().all)
    for (Generator& g : of_type) g.manual_seed(seed);
}

RandomStateGuard::RandomStateGuard() {
  for (const auto& of_type : generators().all)
    for (const Generator& g : of_type) saved_.push_back(g.state());
}

RandomStateGuard::~RandomStateGuard() {
  auto state = saved_.begin();
  for (auto& of_type : generators().all)
    for (Generator& g : of_type) g.set_state(*state++);
}

}  // namespace vellum
