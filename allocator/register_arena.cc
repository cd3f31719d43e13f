#include "vellum/allocator/arena.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/device_api.h"

namespace vellum {
namespace {

std::unique_ptr<Allocator> make_arena(Device device) {
  const ArenaOptions options{.host_accessible = device_api(device.type).host_accessible};
  return std::make_unique<ArenaAllocator>(make_strategy("caching", device), options);
}

[[maybe_unused]] const bool registered = (register_strategy("arena", make_arena), true);

}  // namespace
}  // namespace vellum
