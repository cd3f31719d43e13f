#ifndef VELLUM_ALLOCATOR_DEFAULT_STRATEGY_H_
#define VELLUM_ALLOCATOR_DEFAULT_STRATEGY_H_

#include <string_view>

namespace vellum {

// The name of the strategy that serves devices unless VELLUM_ALLOCATOR or set_allocator say otherwise. It is defined
// once in a program, by the target that a flag of Bazel names:
//
//   bazel build --//allocator:strategy=//allocator/default:arena //my:program
//
// in a dependent --@vellum//allocator:strategy=@vellum//allocator/default:arena. A strategy of another workspace takes
// part by a target with `alwayslink` that defines this function and depends on the strategy's registration. Two of them
// in one program are a multiple definition, which the linker reports.
std::string_view default_strategy() noexcept;

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_DEFAULT_STRATEGY_H_
