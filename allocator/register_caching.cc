#include <cstdlib>

#include "vellum/allocator/caching.h"
#include "vellum/allocator/direct.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

CachingOptions options_by_environment(CachingOptions defaults) {
  const char* text = std::getenv("VELLUM_CACHING_OPTIONS");
  if (!text) return defaults;
  try {
    return parse_caching_options(text, defaults);
  } catch (const InvalidArgumentError& error) {
    throw_error<InvalidArgumentError>("VELLUM_CACHING_OPTIONS: ", error.what());
  }
}

std::unique_ptr<Allocator> make_caching(Device device) {
  const CachingOptions defaults{.host_accessible = device_api(device.type).host_accessible};
  return std::make_unique<CachingAllocator>(std::make_unique<DirectAllocator>(device),
                                            options_by_environment(defaults));
}

[[maybe_unused]] const bool registered = (register_strategy("caching", make_caching), true);

}  // namespace
}  // namespace vellum
