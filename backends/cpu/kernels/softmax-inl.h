// Per-target (included once per instruction set): what softmax and log_softmax are made with.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_SOFTMAX_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_SOFTMAX_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/half-inl.h"
#include "vellum/backends/cpu/kernels/lanes-inl.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/backends/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

inline constexpr int64_t kBlock = 512;   // elements that pass through buffers on the stack
inline constexpr int64_t kRows = 32;     // whose logarithms are taken together
inline constexpr int64_t kGrain = 8192;  // elements that are not worth a second thread

template <typename T>
using RealOf = std::conditional_t<sizeof(T) == 2, float, T>;

// Up to kBlock elements as real numbers, in place or in the buffer.
template <typename T>
HWY_INLINE const RealOf<T>* load(const T* x, int64_t n, RealOf<T>* buffer) {
  if constexpr (sizeof(T) == 2) {
    to_floats(x, buffer, n);
    return buffer;
  } else {
    return x;
  }
}

template <typename T>
HWY_INLINE void store(const RealOf<T>* values, T* out, int64_t n) {
  if constexpr (sizeof(T) == 2)
    from_floats(values, out, n);
  else if (values != out)
    std::copy_n(values, n, out);
}

// Where to compute what goes to `out`.
template <typename T>
HWY_INLINE RealOf<T>* in_place(T* out, RealOf<T>* buffer) {
  if constexpr (sizeof(T) == 2)
    return buffer;
  else
    return out;
}

// Calls f(at, count) for blocks of [0, n).
template <typename F>
HWY_INLINE void for_blocks(int64_t n, const F& f) {
  for (int64_t at = 0; at < n; at += kBlock) f(at, std::min(kBlock, n - at));
}

// Calls rows(offset, n, count) for at most kRows rows or columns(offset, n, inner, count) for all of [outer, n, inner].
template <typename Rows, typename Columns>
HWY_INLINE void run_split(const DimSplit& s, const Rows& rows, const Columns& columns) {
  if (s.outer * s.n * s.inner == 0) return;
  if (s.inner == 1) {
    parallel_for(0, s.outer, std::max<int64_t>(1, kGrain / s.n), [&](int64_t first, int64_t last) HWY_ATTR {
      for (int64_t o = first; o < last; o += kRows) rows(o * s.n, s.n, std::min(kRows, last - o));
    });
    return;
  }
  const int64_t blocks = (s.inner + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (s.n * std::min(kBlock, s.inner)));
  parallel_for(0, s.outer * blocks, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % blocks * kBlock;
      columns(i / blocks * s.n * s.inner + column, s.n, s.inner, std::min(kBlock, s.inner - column));
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
