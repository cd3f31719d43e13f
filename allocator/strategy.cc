#include "vellum/allocator/strategy.h"

#include <functional>
#include <map>
#include <mutex>

#include "vellum/device/error.h"

namespace vellum {
namespace {

struct Strategies {
  std::mutex mutex;
  std::map<std::string, StrategyFactory, std::less<>> factories;
};

// Leaked on purpose: used during static initialization and destruction of other files.
Strategies& strategies() {
  static Strategies& all = *new Strategies;
  return all;
}

StrategyFactory find_factory(std::string_view name) {
  Strategies& all = strategies();
  std::lock_guard lock(all.mutex);
  const auto found = all.factories.find(name);
  return found == all.factories.end() ? nullptr : found->second;
}

std::string joined_names() {
  std::string text;
  for (const std::string& name : strategy_names()) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

void register_strategy(std::string_view name, StrategyFactory factory) {
  Strategies& all = strategies();
  std::lock_guard lock(all.mutex);
  const auto [entry, added] = all.factories.emplace(name, factory);
  if (!added && entry->second != factory)
    throw_error<InvalidArgumentError>("register_strategy: '", name,
                                      "' is registered twice; link only one of that name");
}

std::unique_ptr<Allocator> make_strategy(std::string_view name, Device device) {
  const StrategyFactory factory = find_factory(name);
  if (!factory)
    throw_error<InvalidArgumentError>("no allocator strategy '", name, "' is linked; choose one of: ", joined_names(),
                                      "; or depend on //allocator:register_", name);
  return factory(device);
}

std::vector<std::string> strategy_names() {
  Strategies& all = strategies();
  std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const auto& [name, factory] : all.factories) names.push_back(name);
  return names;
}

}  // namespace vellum
