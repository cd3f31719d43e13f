#ifndef VELLUM_BACKENDS_CPU_KERNELS_LAYER_NORM_PLAN_H_
#define VELLUM_BACKENDS_CPU_KERNELS_LAYER_NORM_PLAN_H_

#include <algorithm>
#include <cstdint>

#include "vellum/tensor/kernel.h"
#include "vellum/tensor/ops/attributes.h"

// How layer_norm divides its work and its scratch memory.

namespace vellum::cpu {

inline constexpr int64_t kRowsInFloat = 64;  // that are added up in float before they meet the others in double

// A row-major operand as rows that are normalized.
struct NormRows {
  int64_t rows = 1, n = 1;

  NormRows(const TensorArg& x, int rank) {
    for (int d = 0; d < x.rank; ++d) (d < x.rank - rank ? rows : n) *= x.sizes[d];
  }
  // Rows that are not worth a second thread.
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)); }
  // Groups of rows whose parameter gradients are added up apart; the shape alone decides.
  int64_t chunks() const { return std::clamp<int64_t>(rows / (2 * grain()), 1, 16); }
};

// Scratch for one row of parameters, and for the sums of one chunk: two rows in double, two in real numbers.
inline size_t parameter_row_bytes(int64_t n) { return static_cast<size_t>(n) * sizeof(double); }
inline size_t chunk_bytes(int64_t n) { return static_cast<size_t>(n) * 4 * sizeof(double); }

inline size_t layer_norm_workspace(const KernelContext& context) noexcept {
  const NormRows s(context.inputs[0], context.attributes<LayerNormAttrs>().rank);
  return 2 * parameter_row_bytes(s.n);
}

inline size_t layer_norm_backward_workspace(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<LayerNormBackwardAttrs>();
  const NormRows s(context.inputs[1], attrs.rank);
  const bool parameters = attrs.wanted & (kWantsWeight | kWantsBias);
  return parameter_row_bytes(s.n) + (parameters ? static_cast<size_t>(s.chunks()) * chunk_bytes(s.n) : 0);
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_LAYER_NORM_PLAN_H_
