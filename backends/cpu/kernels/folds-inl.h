// Per-target (included once per instruction set): the folds of sums and extrema.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_FOLDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_FOLDS_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_FOLDS_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_FOLDS_INL_H_
#endif

#include "vellum/backends/cpu/kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Sums of T, or means. Floats are summed over many lanes for at most a block and from block to block in double;
// integers in 64 bits, where sums wrap.
template <typename T>
struct SumFold {
  using Element = T;
  using Work = WorkOf<T>;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  using Lane = typename LaneOf<Work>::type;
  using Partial = std::conditional_t<std::is_integral_v<T>, uint64_t, Lane>;
  using Total = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static constexpr int64_t kLongestRow = (std::is_same_v<Lane, Total> ? 1 : 8) * kFoldBlock;

  bool mean = false;

  static Partial lane_identity() { return Partial(0); }
  static Total identity() { return Total(0); }
  static HWY_INLINE Partial fold(Partial a, Lane x) { return a + Partial(x); }
  static HWY_INLINE Total combine(Total a, Total x) { return a + x; }

  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Total* parts) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t total = 0;
      for (int64_t i = 0; i < n; ++i) total += Total(x[i]);
      parts[0] += total;
    } else {
      sum_lanes<kParts>(x, n, parts);
    }
  }

  HWY_INLINE Out finish(const Total* parts, int64_t count) const {
    if constexpr (std::is_integral_v<T>) {
      return Out(parts[0]);
    } else {
      const double scale = mean ? static_cast<double>(count) : 1.0;
      if constexpr (kParts == 2)
        return T(Lane(parts[0] / scale), Lane(parts[1] / scale));
      else
        return T(Work(parts[0] / scale));
    }
  }
};

// The largest or smallest; NaN wins.
template <typename T, bool kMax>
struct ExtremumFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = Work;
  using Partial = Work;
  using Total = Work;
  using Out = T;
  static constexpr int kParts = 1;

  static Partial lane_identity() {
    using Limits = std::numeric_limits<Work>;
    if constexpr (std::is_floating_point_v<Work>)
      return kMax ? -Limits::infinity() : Limits::infinity();
    else
      return kMax ? Limits::lowest() : Limits::max();
  }
  static Total identity() { return lane_identity(); }
  static HWY_INLINE Partial fold(Partial a, Lane x) {
    const bool beyond = kMax ? x > a : x < a;
    if constexpr (std::is_floating_point_v<Work>)
      return (beyond | (x != x)) ? x : a;
    else
      return beyond ? x : a;
  }
  static HWY_INLINE Total combine(Total a, Total x) { return fold(a, x); }
  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Total* parts) {
    if constexpr (std::is_floating_point_v<Work>) {
      parts[0] = fold(parts[0], extreme_lanes<kMax>(x, n, lane_identity()));
    } else {
      Lane best = parts[0];
      for (int64_t i = 0; i < n; ++i) best = fold(best, x[i]);
      parts[0] = best;
    }
  }
  static HWY_INLINE T finish(const Total* parts, int64_t) { return T(parts[0]); }
};

template <typename T>
Status run_sum(const KernelContext& context) noexcept {
  return run_reduction(context, SumFold<T>{});
}
template <typename T>
Status run_mean(const KernelContext& context) noexcept {
  return run_reduction(context, SumFold<T>{.mean = true});
}
template <typename T, bool kMax>
Status run_extremum(const KernelContext& context) noexcept {
  return run_reduction(context, ExtremumFold<T, kMax>{});
}

template <typename... Ts>
constexpr auto sum_entries() {
  return std::array{KernelEntry{"sum", dtype_of<Ts>, run_sum<Ts>}...};
}
template <typename... Ts>
constexpr auto extremum_entries() {
  return std::array{KernelEntry{"amax", dtype_of<Ts>, run_extremum<Ts, true>}...,
                    KernelEntry{"amin", dtype_of<Ts>, run_extremum<Ts, false>}...};
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
