#include "vellum/allocator/caching.h"
#include "vellum/allocator/direct.h"
#include "vellum/allocator/strategy.h"

namespace vellum {
namespace {

std::unique_ptr<Allocator> make_caching(Device device) {
  const CachingOptions options{.host_accessible = device_api(device.type).host_accessible};
  return std::make_unique<CachingAllocator>(std::make_unique<DirectAllocator>(device), options);
}

[[maybe_unused]] const bool registered = (register_strategy("caching", make_caching), true);

}  // namespace
}  // namespace vellum
