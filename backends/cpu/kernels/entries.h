#ifndef VELLUM_BACKENDS_CPU_KERNELS_ENTRIES_H_
#define VELLUM_BACKENDS_CPU_KERNELS_ENTRIES_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// A family of kernels is a list of arrays of entries; this joins them at compile time.
template <size_t... kCounts>
constexpr auto join(const std::array<KernelEntry, kCounts>&... parts) {
  std::array<KernelEntry, (kCounts + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_ENTRIES_H_
