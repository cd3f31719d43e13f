// Per-target (included once per instruction set): folds of contiguous floating-point numbers over many lanes.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Folds x into one vector-shaped array of kLanes partial results: fold(acc, x) lane by lane, then what is left over.
template <typename R, class D, class V, class Fold, class FoldOne>
HWY_INLINE V fold_vectors(D d, const R* x, int64_t n, V start, const Fold& fold, const FoldOne& tail) {
  constexpr int64_t kLanes = hwy::HWY_NAMESPACE::MaxLanes(D());
  namespace hn = hwy::HWY_NAMESPACE;
  int64_t i = 0;
  V a = start;
  if (n >= 4 * kLanes) {
    V b = start, c = start, e = start;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      a = fold(a, hn::LoadU(d, x + i));
      b = fold(b, hn::LoadU(d, x + i + kLanes));
      c = fold(c, hn::LoadU(d, x + i + 2 * kLanes));
      e = fold(e, hn::LoadU(d, x + i + 3 * kLanes));
    }
    a = fold(fold(a, b), fold(c, e));
  }
  for (; i + kLanes <= n; i += kLanes) a = fold(a, hn::LoadU(d, x + i));
  for (; i < n; ++i) tail(i);
  return a;
}

// Adds x to the parts: element j to part j % kParts. n is a multiple of kParts. A lane adds up at most 32 numbers in
// its own precision before they meet the others in double.
template <int kParts, typename R>
HWY_INLINE void sum_lanes(const R* x, int64_t n, double* parts) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int64_t kLanes = hn::MaxLanes(d), kRun = 32 * kLanes;
  if constexpr (kLanes == 1) {
    for (; n > 0; x += kRun, n -= kRun) {
      double run[kParts] = {};
      for (int64_t i = 0; i < (n < kRun ? n : kRun); ++i) run[i % kParts] += x[i];
      for (int j = 0; j < kParts; ++j) parts[j] += run[j];
    }
  } else {
    const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    for (; n > 0; x += kRun, n -= kRun) {
      const auto tail = [&](int64_t i) HWY_ATTR { parts[i % kParts] += x[i]; };
      const auto lanes = fold_vectors(d, x, n < kRun ? n : kRun, hn::Zero(d), add, tail);
      if (n < kLanes) return;
      HWY_ALIGN R each[kLanes];
      hn::Store(lanes, d, each);
      for (int64_t half = kLanes / 2; half >= kParts; half /= 2)  // pairwise
        for (int64_t i = 0; i < half; ++i) each[i] += each[i + half];
      for (int j = 0; j < kParts; ++j) parts[j] += each[j];
    }
  }
}

// The maximum of x and start; NaN wins.
template <typename R>
HWY_INLINE R max_lanes(const R* x, int64_t n, R start) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const auto larger = [](R a, R b) HWY_ATTR { return (b > a) | (b != b) ? b : a; };
  R top = start;
  const auto fold = [](auto a, auto b) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a); };
  const auto lanes =
      fold_vectors(d, x, n, hn::Set(d, start), fold, [&](int64_t i) HWY_ATTR { top = larger(top, x[i]); });
  HWY_ALIGN R each[kLanes];
  hn::Store(lanes, d, each);
  for (int64_t i = 0; i < kLanes; ++i) top = larger(top, each[i]);
  return top;
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
