#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/log_softmax.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/softmax-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Sum of exp(x - shift).
template <typename R>
HWY_INLINE double sum_exp(const R* x, int64_t n, R shift, R* buffer) {
  namespace hn = hwy::HWY_NAMESPACE;
  map_lanes(x, buffer, n, [shift](auto d, auto v) HWY_ATTR { return exp_lanes(d, hn::Sub(v, hn::Set(d, shift))); });
  double total = 0;
  sum_lanes<1>(buffer, n, &total);
  return total;
}

// Rows of n elements, at most kRows of them: their logarithms are taken together.
template <typename T>
void log_softmax_rows(const T* x, T* out, int64_t n, int64_t rows) {
  using R = RealOf<T>;
  HWY_ALIGN R in[kBlock];
  HWY_ALIGN R work[kBlock];
  R top[kRows];
  R total[kRows];
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * n;
    top[r] = -std::numeric_limits<R>::infinity();
    for_blocks(
        n, [&](int64_t at, int64_t count) HWY_ATTR { top[r] = max_lanes(load(row + at, count, in), count, top[r]); });
    double sum = 0;
    for_blocks(
        n, [&](int64_t at, int64_t count) HWY_ATTR { sum += sum_exp(load(row + at, count, in), count, top[r], work); });
    total[r] = R(sum);
  }
  map_lanes(total, total, rows, [](auto d, auto v) HWY_ATTR { return log_lanes(d, v); });
  for (int64_t r = 0; r < rows; ++r) {
    for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR {
      const R* values = load(x + r * n + at, count, in);
      // Two subtractions: top + log(total) would lose the small part beside a large one.
      const R shift = top[r], log_total = total[r];
      R* to = in_place(out + r * n + at, work);
      VELLUM_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) to[i] = (values[i] - shift) - log_total;
      store(to, out + r * n + at, count);
    });
  }
}

// Neighbouring columns of an [n, inner] matrix side by side, at most kBlock of them.
template <typename T>
void log_softmax_columns(const T* x, T* out, int64_t n, int64_t inner, int64_t columns) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = RealOf<T>;
  HWY_ALIGN R in[kBlock];
  HWY_ALIGN R work[kBlock];
  HWY_ALIGN R top[kBlock];
  double total[kBlock];
  std::fill_n(top, columns, -std::numeric_limits<R>::infinity());
  std::fill_n(total, columns, 0.0);
  for (int64_t k = 0; k < n; ++k) {
    const R* row = load(x + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) top[j] = ((row[j] > top[j]) | (row[j] != row[j])) ? row[j] : top[j];
  }
  for (int64_t k = 0; k < n; ++k) {
    const R* row = load(x + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) work[j] = row[j] - top[j];
    map_lanes(work, work, columns, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
    for (int64_t j = 0; j < columns; ++j) total[j] += work[j];
  }
  for (int64_t j = 0; j < columns; ++j) total[j] = std::log(total[j]);
  for (int64_t k = 0; k < n; ++k) {
    const R* row = load(x + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) work[j] = (row[j] - top[j]) - R(total[j]);
    store(work, out + k * inner, columns);
  }
}

// out = g - exp(y) * sum(g).
template <typename T>
void log_softmax_backward_row(const T* g, const T* y, T* out, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = RealOf<T>;
  HWY_ALIGN R in[kBlock];
  HWY_ALIGN R work[kBlock];
  double total = 0;
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR { sum_lanes<1>(load(g + at, count, in), count, &total); });
  const R factor = R(total);
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* log_p = load(y + at, count, in);
    map_lanes(log_p, work, count, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
    const R* slope = load(g + at, count, in);
    R* to = in_place(out + at, work);
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] = slope[i] - work[i] * factor;
    store(to, out + at, count);
  });
}

template <typename T>
void log_softmax_backward_columns(const T* g, const T* y, T* out, int64_t n, int64_t inner, int64_t columns) {
  using R = RealOf<T>;
  HWY_ALIGN R in[kBlock];
  HWY_ALIGN R work[kBlock];
  double total[kBlock];
  std::fill_n(total, columns, 0.0);
  for (int64_t k = 0; k < n; ++k) {
    const R* slope = load(g + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) total[j] += slope[j];
  }
  for (int64_t k = 0; k < n; ++k) {
    map_lanes(load(y + k * inner, columns, in), work, columns, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
    const R* slope = load(g + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) work[j] = slope[j] - work[j] * R(total[j]);
    store(work, out + k * inner, columns);
  }
}

template <typename T>
Status run_log_softmax(const KernelContext& context) noexcept {
  const TensorArg& x = context.inputs[0];
  const T* from = x.as<const T>();
  T* out = context.outputs[0].as<T>();
  run_split(
      DimSplit(x.sizes, x.rank, context.attributes<SoftmaxAttrs>().dim.dim),
      [=](int64_t at, int64_t n, int64_t count) HWY_ATTR { log_softmax_rows(from + at, out + at, n, count); },
      [=](int64_t at, int64_t n, int64_t inner, int64_t count)
          HWY_ATTR { log_softmax_columns(from + at, out + at, n, inner, count); });
  return ok_status();
}

template <typename T>
Status run_log_softmax_backward(const KernelContext& context) noexcept {
  const TensorArg& y = context.inputs[1];
  const T *g = context.inputs[0].as<const T>(), *log_p = y.as<const T>();
  T* out = context.outputs[0].as<T>();
  run_split(
      DimSplit(y.sizes, y.rank, context.attributes<DimAttrs>().dim),
      [=](int64_t at, int64_t n, int64_t count) HWY_ATTR {
        for (int64_t last = at + count * n; at < last; at += n)
          log_softmax_backward_row(g + at, log_p + at, out + at, n);
      },
      [=](int64_t at, int64_t n, int64_t inner, int64_t count)
          HWY_ATTR { log_softmax_backward_columns(g + at, log_p + at, out + at, n, inner, count); });
  return ok_status();
}

template <typename... Ts>
constexpr auto log_softmax_entries_of() {
  return std::array{
      KernelEntry{"log_softmax", dtype_of<Ts>, run_log_softmax<Ts>, nullptr, nullptr, true}...,
      KernelEntry{"log_softmax_backward", dtype_of<Ts>, run_log_softmax_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = log_softmax_entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> log_softmax_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(log_softmax_entries);
std::span<const KernelEntry> log_softmax_kernels() { return HWY_DYNAMIC_DISPATCH(log_softmax_entries)(); }
}  // namespace vellum::cpu
#endif
