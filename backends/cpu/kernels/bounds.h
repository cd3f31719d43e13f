#ifndef VELLUM_BACKENDS_CPU_KERNELS_BOUNDS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_BOUNDS_H_

#include <limits>

#include "vellum/tensor/ops/attributes.h"

namespace vellum::cpu {

// clamp's bounds; infinite where there is none.
inline double lower_bound(const ClampAttrs& attrs) {
  return attrs.min ? attrs.min->to<double>() : -std::numeric_limits<double>::infinity();
}
inline double upper_bound(const ClampAttrs& attrs) {
  return attrs.max ? attrs.max->to<double>() : std::numeric_limits<double>::infinity();
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_BOUNDS_H_
