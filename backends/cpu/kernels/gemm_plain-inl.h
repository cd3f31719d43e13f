// Per-target (included once per instruction set): matrix products of types without a register-tiled kernel.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_GEMM_PLAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_GEMM_PLAIN_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_GEMM_PLAIN_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_GEMM_PLAIN_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/gemm.h"
#include "vellum/backends/cpu/kernels/targets.h"
#include "vellum/backends/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

inline constexpr int64_t kPlainColumns = 64, kPlainDepth = 64;

// Adds columns [j, j + width) and rows [p, p + depth) of b into a row of c; the piece of b stays in the first-level
// cache for all rows.
template <typename T>
HWY_INLINE void add_plain_row(const T* a, int64_t a_step, const T* b, int64_t b_row, int64_t b_column, int64_t depth,
                              T* c, int64_t width) {
  for (int64_t p = 0; p < depth; ++p) {
    const T factor = a[p * a_step];
    const T* row = b + p * b_row;
    if (b_column == 1) {
      VELLUM_INDEPENDENT
      for (int64_t j = 0; j < width; ++j) c[j] = T(c[j] + multiply(factor, row[j]));
    } else {
      for (int64_t j = 0; j < width; ++j) c[j] = T(c[j] + multiply(factor, row[j * b_column]));
    }
  }
}

// T wraps: see wrapping.h.
template <typename T>
void multiply_plain(const Gemm& g) {
  const T *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b), *bias = static_cast<const T*>(g.bias);
  T* c = static_cast<T*>(g.c);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, g.n * g.k));
  parallel_for(0, g.m, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i)
      for (int64_t j = 0; j < g.n; ++j) c[i * g.n + j] = bias ? bias[j] : T(0);
    for (int64_t j = 0; j < g.n; j += kPlainColumns)
      for (int64_t p = 0; p < g.k; p += kPlainDepth)
        for (int64_t i = first; i < last; ++i)
          add_plain_row(a + i * g.a_row + p * g.a_column, g.a_column, b + p * g.b_row + j * g.b_column, g.b_row,
                        g.b_column, std::min(kPlainDepth, g.k - p), c + i * g.n + j, std::min(kPlainColumns, g.n - j));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
