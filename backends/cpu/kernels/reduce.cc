#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/reduce.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Sums of T, or means. Floats are summed over many lanes for at most a block and from block to block in double.
template <typename T, bool kMean>
struct SumFold {
  using Element = T;
  using Work = WorkOf<T>;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;
  using Lane = typename LaneOf<Work>::type;
  using Total = std::conditional_t<std::is_integral_v<T>, Lane, double>;

  static Lane lane_identity() { return Lane(0); }
  static Total identity() { return Total(0); }
  static HWY_INLINE Lane fold(Lane a, Lane x) { return a + x; }
  static HWY_INLINE Total combine(Total a, Total x) { return a + x; }

  // Element j of the row goes to part j % kParts.
  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Total* parts) {
    if constexpr (std::is_integral_v<T>) {
      Lane total = 0;
      for (int64_t i = 0; i < n; ++i) total += x[i];
      parts[0] += total;
    } else {
      sum_lanes<kParts>(x, n, parts);
    }
  }

  static HWY_INLINE T finish(const Total* parts, int64_t count) {
    const double scale = static_cast<double>(count);
    if constexpr (kParts == 2) {
      const Lane re = Lane(kMean ? parts[0] / scale : parts[0]), im = Lane(kMean ? parts[1] / scale : parts[1]);
      return T(re, im);
    } else if constexpr (std::is_integral_v<T>) {
      return T(parts[0]);
    } else {
      return T(Work(kMean ? parts[0] / scale : parts[0]));
    }
  }
};

template <typename T>
using Sum = SumFold<T, false>;
template <typename T>
using Mean = SumFold<T, true>;

// The maximum; NaN wins.
template <typename T>
struct Amax {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = Work;
  using Total = Work;
  static constexpr int kParts = 1;

  static Lane lane_identity() {
    if constexpr (std::is_floating_point_v<Work>)
      return -std::numeric_limits<Work>::infinity();
    else
      return std::numeric_limits<Work>::lowest();
  }
  static Total identity() { return lane_identity(); }
  static HWY_INLINE Lane fold(Lane a, Lane x) {
    if constexpr (std::is_floating_point_v<Work>)
      return ((x > a) | (x != x)) ? x : a;
    else
      return x > a ? x : a;
  }
  static HWY_INLINE Total combine(Total a, Total x) { return fold(a, x); }
  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Total* parts) {
    if constexpr (std::is_floating_point_v<Work>) {
      parts[0] = fold(parts[0], max_lanes(x, n, lane_identity()));
    } else {
      Lane top = parts[0];
      for (int64_t i = 0; i < n; ++i) top = fold(top, x[i]);
      parts[0] = top;
    }
  }
  static HWY_INLINE T finish(const Total* parts, int64_t) { return T(parts[0]); }
};

template <template <typename> class Fold, typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> entries_of(std::string_view name) {
  return {KernelEntry{name, dtype_of<Ts>, run_reduction<Fold<Ts>>}...};
}

constexpr auto kEntries =
    join(entries_of<Sum, int64_t, float16, bfloat16, float, double, complex64, complex128>("sum"),
         entries_of<Mean, float16, bfloat16, float, double, complex64, complex128>("mean"),
         entries_of<Amax, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>("amax"));

std::span<const KernelEntry> reduce_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(reduce_entries);
std::span<const KernelEntry> reduce_kernels() { return HWY_DYNAMIC_DISPATCH(reduce_entries)(); }
}  // namespace vellum::cpu
#endif
