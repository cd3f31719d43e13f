#include "vellum/allocator/direct.h"
#include "vellum/allocator/strategy.h"

namespace vellum {
namespace {

std::unique_ptr<Allocator> make_direct(Device device) { return std::make_unique<DirectAllocator>(device); }

[[maybe_unused]] const bool registered = (register_strategy("direct", make_direct), true);

}  // namespace
}  // namespace vellum
