#include "vellum/allocator/default_strategy.h"

namespace vellum {

std::string_view default_strategy() noexcept { return "arena"; }

}  // namespace vellum
