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

// Folds n numbers into one vector of partial results, lane by lane, in kChains folds (a power of two) that do not wait
// for each other. `identity` folds without effect.
template <int kChains, class D, typename R, class V, class Fold>
HWY_INLINE V fold_vectors(D d, const R* x, int64_t n, V identity, const Fold& fold) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  V chains[kChains];
  for (V& chain : chains) chain = identity;
  int64_t i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes)
    for (int k = 0; k < kChains; ++k) chains[k] = fold(chains[k], hn::LoadU(d, x + i + k * kLanes));
  for (int half = kChains / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) chains[k] = fold(chains[k], chains[k + half]);
  V a = chains[0];
  for (; i + kLanes <= n; i += kLanes) a = fold(a, hn::LoadU(d, x + i));
  if (i == n) return a;
  const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
  return fold(a, hn::IfThenElse(rest, hn::MaskedLoad(rest, d, x + i), identity));
}

// Adds x to the parts: element j to part j % kParts. n is a multiple of kParts. A lane adds up few numbers in its own
// precision before they meet the others in double; more where that is its own, so that fewer follow one another.
template <int kParts, typename R>
HWY_INLINE void sum_lanes(const R* x, int64_t n, double* parts) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int kChains = sizeof(R) == 8 ? 4 : 2;
  constexpr int64_t kLanes = hn::MaxLanes(d), kRun = 8 * kChains * kLanes;
  if constexpr (kLanes == 1) {
    for (; n > 0; x += kRun, n -= kRun) {
      double run[kParts] = {};
      for (int64_t i = 0; i < (n < kRun ? n : kRun); ++i) run[i % kParts] += x[i];
      for (int j = 0; j < kParts; ++j) parts[j] += run[j];
    }
  } else {
    const auto add_run = [&](const R* run, int64_t count) HWY_ATTR {
      const auto lanes =
          fold_vectors<kChains>(d, run, count, hn::Zero(d), [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
      if constexpr (kParts == 1) {
        parts[0] += hn::GetLane(hn::SumOfLanes(d, lanes));
      } else {
        const auto odd = hn::OddEven(lanes, hn::Zero(d)), even = hn::OddEven(hn::Zero(d), lanes);
        parts[0] += hn::GetLane(hn::SumOfLanes(d, even));
        parts[1] += hn::GetLane(hn::SumOfLanes(d, odd));
      }
    };
    for (; n >= kRun; x += kRun, n -= kRun) add_run(x, kRun);
    if (n > 0) add_run(x, n);
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
  const auto lanes = fold_vectors<4>(d, x, n, hn::Set(d, start), fold);
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
