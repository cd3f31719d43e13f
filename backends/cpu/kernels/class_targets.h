#ifndef VELLUM_BACKENDS_CPU_KERNELS_CLASS_TARGETS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_CLASS_TARGETS_H_

#include <cstdint>

#include "vellum/device/status.h"

namespace vellum::cpu {

inline constexpr Status kBadTarget{StatusCode::kInvalidArgument,
                                   "a target is outside [0, C) and is not ignore_index; check the class indices"};

// The targets that count, or -1 where one is out of range.
inline int64_t count_targets(const int64_t* target, int64_t n, int64_t classes, int64_t ignore) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (target[i] == ignore) continue;
    if (target[i] < 0 || target[i] >= classes) return -1;
    ++count;
  }
  return count;
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_CLASS_TARGETS_H_
