#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/max.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes-inl.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kColumns = 256;  // that are searched side by side
constexpr int64_t kRun = 256;      // elements of which the best is known before its place is looked for
constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread

template <typename T>
using Ordered = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                   std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

// Whether x goes before the best so far: beyond it, or the first NaN.
template <bool kMax, typename V>
HWY_INLINE bool beats(V x, V best) {
  const bool beyond = kMax ? x > best : x < best;
  if constexpr (std::is_floating_point_v<V>)
    return beyond | ((x != x) & (best == best));
  else
    return beyond;
}

// Where the results of one line go; `value` is null when only the index is wanted.
template <typename T>
struct Result {
  T* value;
  int64_t* index;

  Result operator+(int64_t n) const { return {value ? value + n : nullptr, index + n}; }
};

// Neighbouring columns of an [n, inner] matrix.
template <bool kMax, typename T>
void search_columns(const T* x, int64_t n, int64_t inner, int64_t columns, Result<T> to) {
  using V = Ordered<T>;
  V best[kColumns];
  int64_t at[kColumns];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = V(x[j]);
    at[j] = 0;
  }
  for (int64_t k = 1; k < n; ++k) {
    const T* row = x + k * inner;
    for (int64_t j = 0; j < columns; ++j) {
      const V v = V(row[j]);
      const bool wins = beats<kMax>(v, best[j]);
      best[j] = wins ? v : best[j];
      at[j] = wins ? k : at[j];
    }
  }
  std::copy_n(at, columns, to.index);
  if (!to.value) return;
  for (int64_t j = 0; j < columns; ++j) to.value[j] = T(best[j]);
}

// The place of the first of n elements that beats all before and `best`, which becomes it; -1 if none does.
template <bool kMax, typename T>
HWY_INLINE int64_t search_run(const T* x, int64_t n, Ordered<T>& best) {
  int64_t at = -1;
  for (int64_t k = 0; k < n; ++k) {
    const Ordered<T> v = Ordered<T>(x[k]);
    if (!beats<kMax>(v, best)) continue;
    best = v;
    at = k;
  }
  return at;
}

template <bool kMax, typename T>
HWY_INLINE void search_row(const T* x, int64_t n, Result<T> to) {
  using V = Ordered<T>;
  V best = V(x[0]);
  int64_t at = 0;
  if constexpr (std::is_same_v<T, V> && std::is_floating_point_v<V>) {
    int64_t run = 0;  // that holds the best
    V before = best;  // of the elements before that run
    for (int64_t first = 0; first < n; first += kRun) {
      const V of_run = extreme_lanes<kMax>(x + first, std::min(kRun, n - first), best);
      if (!beats<kMax>(of_run, best)) continue;
      run = first;
      before = best;
      best = of_run;
    }
    const int64_t found = search_run<kMax>(x + run, std::min(kRun, n - run), before);
    if (found >= 0) at = run + found;
  } else {
    at = std::max<int64_t>(0, search_run<kMax>(x, n, best));
  }
  *to.index = at;
  if (to.value) *to.value = T(best);
}

template <bool kMax, typename T>
void search(const TensorArg& x, int dim, Result<T> to) {
  DimSplit s(x.sizes, x.rank, dim);
  if (dim == kAllDims) s.outer = s.inner = 1, s.n = x.numel;
  if (x.numel == 0) return;
  const T* from = x.as<const T>();
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kGrain / (s.n * std::min(kColumns, s.inner)));
  parallel_for(0, s.outer * blocks, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t outer = i / blocks, column = i % blocks * kColumns;
      const T* block = from + outer * s.n * s.inner + column;
      const Result<T> result = to + (outer * s.inner + column);
      if (s.inner == 1)
        search_row<kMax>(block, s.n, result);
      else
        search_columns<kMax>(block, s.n, s.inner, std::min(kColumns, s.inner - column), result);
    }
  });
}

template <typename T, bool kMax>
Status run_pair(const KernelContext& context) noexcept {
  search<kMax, T>(context.inputs[0], context.attributes<DimAttrs>().dim,
                  {context.outputs[0].as<T>(), context.outputs[1].as<int64_t>()});
  return ok_status();
}

template <typename T, bool kMax>
Status run_argument(const KernelContext& context) noexcept {
  search<kMax, T>(context.inputs[0], context.attributes<DimAttrs>().dim, {nullptr, context.outputs[0].as<int64_t>()});
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{KernelEntry{"max", dtype_of<Ts>, run_pair<Ts, true>, nullptr, nullptr, true}...,
                    KernelEntry{"min", dtype_of<Ts>, run_pair<Ts, false>, nullptr, nullptr, true}...,
                    KernelEntry{"argmax", dtype_of<Ts>, run_argument<Ts, true>, nullptr, nullptr, true}...,
                    KernelEntry{"argmin", dtype_of<Ts>, run_argument<Ts, false>, nullptr, nullptr, true}...};
}

constexpr auto kEntries =
    entries_of<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>();

std::span<const KernelEntry> max_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(max_entries);
std::span<const KernelEntry> max_kernels() { return HWY_DYNAMIC_DISPATCH(max_entries)(); }
}  // namespace vellum::cpu
#endif
