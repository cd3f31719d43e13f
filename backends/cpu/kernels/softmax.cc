#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/softmax.cc"
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

// Whether exponentials can be kept where the result goes, rather than be taken twice.
template <typename T>
constexpr bool kKeeps = sizeof(T) > 2;

// to[i] = exp(x[i] - shift), for x <= shift; returns the sum.
template <typename R>
HWY_INLINE double exponentials(const R* x, R* to, int64_t n, R shift) {
  namespace hn = hwy::HWY_NAMESPACE;
  map_lanes(x, to, n, [shift](auto d, auto v) HWY_ATTR { return hn::Exp(d, hn::Sub(v, hn::Set(d, shift))); });
  double total = 0;
  sum_lanes<1>(to, n, &total);
  return total;
}

template <typename T>
void softmax_row(const T* x, T* out, int64_t n) {
  using R = RealOf<T>;
  HWY_ALIGN R in[kBlock];
  HWY_ALIGN R work[kBlock];
  R top = -std::numeric_limits<R>::infinity();
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR { top = max_lanes(load(x + at, count, in), count, top); });
  // A NaN, an infinity or nothing but -infinity.
  if (!(std::abs(top) < std::numeric_limits<R>::infinity())) {
    std::fill_n(out, n, T(std::numeric_limits<R>::quiet_NaN()));
    return;
  }
  double total = 0;
  for_blocks(n, [&](int64_t at, int64_t count)
                    HWY_ATTR { total += exponentials(load(x + at, count, in), in_place(out + at, work), count, top); });
  const R scale = R(1 / total);
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR {
    R* to = in_place(out + at, work);
    if (!kKeeps<T>) exponentials(load(x + at, count, in), to, count, top);
    for (int64_t i = 0; i < count; ++i) to[i] *= scale;
    store(to, out + at, count);
  });
}

// Neighbouring columns of an [n, inner] matrix side by side, at most kBlock of them.
template <typename T>
void softmax_columns(const T* x, T* out, int64_t n, int64_t inner, int64_t columns) {
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
  const auto exponentials_of = [&](int64_t k) HWY_ATTR {
    const R* row = load(x + k * inner, columns, in);
    for (int64_t j = 0; j < columns; ++j) work[j] = row[j] - top[j];
    map_lanes(work, work, columns, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
  };
  for (int64_t k = 0; k < n; ++k) {
    exponentials_of(k);
    for (int64_t j = 0; j < columns; ++j) total[j] += work[j];
    if (kKeeps<T>) store(work, out + k * inner, columns);
  }
  for (int64_t j = 0; j < columns; ++j) top[j] = kKeeps<T> ? R(1 / total[j]) : top[j];
  for (int64_t k = 0; k < n; ++k) {
    if constexpr (kKeeps<T>) {
      for (int64_t j = 0; j < columns; ++j) out[k * inner + j] *= top[j];
    } else {
      exponentials_of(k);
      for (int64_t j = 0; j < columns; ++j) work[j] /= R(total[j]);
      store(work, out + k * inner, columns);
    }
  }
}

// out = y * (g - sum(g * y)).
template <typename T>
void softmax_backward_row(const T* g, const T* y, T* out, int64_t n) {
  using R = RealOf<T>;
  HWY_ALIGN R left[kBlock];
  HWY_ALIGN R right[kBlock];
  HWY_ALIGN R work[kBlock];
  double total = 0;
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R *slope = load(g + at, count, left), *p = load(y + at, count, right);
    for (int64_t i = 0; i < count; ++i) work[i] = slope[i] * p[i];
    sum_lanes<1>(work, count, &total);
  });
  const R dot = R(total);
  for_blocks(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R *slope = load(g + at, count, left), *p = load(y + at, count, right);
    R* to = in_place(out + at, work);
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] = p[i] * (slope[i] - dot);
    store(to, out + at, count);
  });
}

template <typename T>
void softmax_backward_columns(const T* g, const T* y, T* out, int64_t n, int64_t inner, int64_t columns) {
  using R = RealOf<T>;
  HWY_ALIGN R left[kBlock];
  HWY_ALIGN R right[kBlock];
  HWY_ALIGN R work[kBlock];
  double total[kBlock];
  std::fill_n(total, columns, 0.0);
  for (int64_t k = 0; k < n; ++k) {
    const R *slope = load(g + k * inner, columns, left), *p = load(y + k * inner, columns, right);
    for (int64_t j = 0; j < columns; ++j) total[j] += slope[j] * p[j];
  }
  for (int64_t k = 0; k < n; ++k) {
    const R *slope = load(g + k * inner, columns, left), *p = load(y + k * inner, columns, right);
    for (int64_t j = 0; j < columns; ++j) work[j] = p[j] * (slope[j] - R(total[j]));
    store(work, out + k * inner, columns);
  }
}

template <typename T>
Status run_softmax(const KernelContext& context) noexcept {
  const TensorArg& x = context.inputs[0];
  const T* from = x.as<const T>();
  T* out = context.outputs[0].as<T>();
  run_split(
      DimSplit(x.sizes, x.rank, context.attributes<SoftmaxAttrs>().dim.dim),
      [=](int64_t at, int64_t n, int64_t count) HWY_ATTR {
        for (int64_t last = at + count * n; at < last; at += n) softmax_row(from + at, out + at, n);
      },
      [=](int64_t at, int64_t n, int64_t inner, int64_t count)
          HWY_ATTR { softmax_columns(from + at, out + at, n, inner, count); });
  return ok_status();
}

template <typename T>
Status run_softmax_backward(const KernelContext& context) noexcept {
  const TensorArg& y = context.inputs[1];
  const T *g = context.inputs[0].as<const T>(), *p = y.as<const T>();
  T* out = context.outputs[0].as<T>();
  run_split(
      DimSplit(y.sizes, y.rank, context.attributes<DimAttrs>().dim),
      [=](int64_t at, int64_t n, int64_t count) HWY_ATTR {
        for (int64_t last = at + count * n; at < last; at += n) softmax_backward_row(g + at, p + at, out + at, n);
      },
      [=](int64_t at, int64_t n, int64_t inner, int64_t count)
          HWY_ATTR { softmax_backward_columns(g + at, p + at, out + at, n, inner, count); });
  return ok_status();
}

template <typename... Ts>
constexpr auto softmax_entries_of() {
  return std::array{KernelEntry{"softmax", dtype_of<Ts>, run_softmax<Ts>, nullptr, nullptr, true}...,
                    KernelEntry{"softmax_backward", dtype_of<Ts>, run_softmax_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = softmax_entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> softmax_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(softmax_entries);
std::span<const KernelEntry> softmax_kernels() { return HWY_DYNAMIC_DISPATCH(softmax_entries)(); }
}  // namespace vellum::cpu
#endif
