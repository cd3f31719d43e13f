#ifndef VELLUM_ALLOCATOR_STRATEGY_H_
#define VELLUM_ALLOCATOR_STRATEGY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/allocator/allocator.h"
#include "vellum/device/device.h"

namespace vellum {

// Makes a strategy over a device's own memory.
using StrategyFactory = std::unique_ptr<Allocator> (*)(Device device);

// The strategies linked into the program, by name. Thread-safe. A registration target (//allocator:register_caching)
// calls `register_strategy` during static initialization.

// Throws InvalidArgumentError when the name already has another factory.
void register_strategy(std::string_view name, StrategyFactory factory);
// Throws InvalidArgumentError listing the linked strategies when there is none of that name.
std::unique_ptr<Allocator> make_strategy(std::string_view name, Device device);
// Sorted names.
std::vector<std::string> strategy_names();

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_STRATEGY_H_
