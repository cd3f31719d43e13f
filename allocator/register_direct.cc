#include <cstdlib>
#include <string_view>

#include "vellum/allocator/direct.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

std::string_view from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// Options that nobody would read are an error where the environment contradicts itself; a program that makes this
// strategy by itself may do so for one device and read the options for another.
std::unique_ptr<Allocator> make_direct(Device device) {
  if (from_environment("VELLUM_ALLOCATOR") == "direct" && !from_environment("VELLUM_CACHING_OPTIONS").empty())
    throw_error<InvalidArgumentError>(
        "VELLUM_CACHING_OPTIONS is set, but VELLUM_ALLOCATOR=direct caches nothing; unset one of them");
  return std::make_unique<DirectAllocator>(device);
}

[[maybe_unused]] const bool registered = (register_strategy("direct", make_direct), true);

}  // namespace
}  // namespace vellum
