// Per-target (included once per instruction set): folds of contiguous floating-point numbers over many lanes.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_LANES_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Folds n numbers into one vector of partial results, lane by lane. `identity` folds without effect.
template <class D, typename R, class V, class Fold>
HWY_INLINE V fold_vectors(D d, const R* x, int64_t n, V identity, const Fold& fold) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  int64_t i = 0;
  V a = identity;
  if (n >= 4 * kLanes) {
    V b = identity, c = identity, e = identity;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      a = fold(a, hn::LoadU(d, x + i));
      b = fold(b, hn::LoadU(d, x + i + kLanes));
      c = fold(c, hn::LoadU(d, x + i + 2 * kLanes));
      e = fold(e, hn::LoadU(d, x + i + 3 * kLanes));
    }
    a = fold(fold(a, b), fold(c, e));
  }
  for (; i + kLanes <= n; i += kLanes) a = fold(a, hn::LoadU(d, x + i));
  if (i == n) return a;
  const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
  return fold(a, hn::IfThenElse(rest, hn::MaskedLoad(rest, d, x + i), identity));
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
      const auto lanes = fold_vectors(d, x, n < kRun ? n : kRun, hn::Zero(d), add);
      if constexpr (kParts == 1) {
        parts[0] += hn::GetLane(hn::SumOfLanes(d, lanes));
      } else {
        const auto odd = hn::OddEven(lanes, hn::Zero(d)), even = hn::OddEven(hn::Zero(d), lanes);
        parts[0] += hn::GetLane(hn::SumOfLanes(d, even));
        parts[1] += hn::GetLane(hn::SumOfLanes(d, odd));
      }
    }
  }
}

// The largest or smallest of x and start; NaN wins.
template <bool kMax, typename R>
HWY_INLINE R extreme_lanes(const R* x, int64_t n, R start) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  const auto fold = [](auto a, auto b) HWY_ATTR {
    return hn::IfThenElse(hn::Or(kMax ? hn::Gt(b, a) : hn::Lt(b, a), hn::IsNaN(b)), b, a);
  };
  const auto lanes = fold_vectors(d, x, n, hn::Set(d, start), fold);
  if (!hn::AllFalse(d, hn::IsNaN(lanes))) return std::numeric_limits<R>::quiet_NaN();
  return hn::GetLane(kMax ? hn::MaxOfLanes(d, lanes) : hn::MinOfLanes(d, lanes));
}

template <typename R>
HWY_INLINE R max_lanes(const R* x, int64_t n, R start) {
  return extreme_lanes<true>(x, n, start);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
