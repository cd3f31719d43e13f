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
#include "vellum/backends/cpu/kernels/targets.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

inline constexpr int64_t kColumns = 256;  // that are searched side by side
inline constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread

template <typename T>
using Ordered = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                   std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

// Whether x goes before the best so far: larger, or the first NaN.
template <typename V>
HWY_INLINE bool beats(V x, V best) {
  if constexpr (std::is_floating_point_v<V>)
    return (x > best) | ((x != x) & (best == best));
  else
    return x > best;
}

// Neighbouring columns of an [n, inner] matrix.
template <typename T>
void max_columns(const T* x, int64_t n, int64_t inner, int64_t columns, T* values, int64_t* indices) {
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
      const bool wins = beats(v, best[j]);
      best[j] = wins ? v : best[j];
      at[j] = wins ? k : at[j];
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    values[j] = T(best[j]);
    indices[j] = at[j];
  }
}

template <typename T>
HWY_INLINE void max_row(const T* x, int64_t n, T* value, int64_t* index) {
  Ordered<T> best = Ordered<T>(x[0]);
  int64_t at = 0;
  for (int64_t k = 1; k < n; ++k) {
    const Ordered<T> v = Ordered<T>(x[k]);
    if (!beats(v, best)) continue;
    best = v;
    at = k;
  }
  *value = T(best);
  *index = at;
}

template <typename T>
Status run_max(const KernelContext& context) noexcept {
  const TensorArg& x = context.inputs[0];
  const DimSplit s(x.sizes, x.rank, context.attributes<DimAttrs>().dim);
  if (x.numel == 0) return ok_status();
  const T* from = x.as<const T>();
  T* values = context.outputs[0].as<T>();
  int64_t* indices = context.outputs[1].as<int64_t>();
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kGrain / (s.n * std::min(kColumns, s.inner)));
  parallel_for(0, s.outer * blocks, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t outer = i / blocks, column = i % blocks * kColumns, to = outer * s.inner + column;
      const T* block = from + outer * s.n * s.inner + column;
      if (s.inner == 1)
        max_row(block, s.n, values + to, indices + to);
      else
        max_columns(block, s.n, s.inner, std::min(kColumns, s.inner - column), values + to, indices + to);
    }
  });
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{KernelEntry{"max", dtype_of<Ts>, run_max<Ts>, nullptr, nullptr, true}...};
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
