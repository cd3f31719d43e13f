#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/cross_entropy.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/blocks-inl.h"
#include "vellum/backends/cpu/kernels/class_targets.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes-inl.h"
#include "vellum/backends/cpu/kernels/statistic.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kGrain = 8192;  // elements that are not worth a second thread

struct RowLoss {
  double loss, log_sum_exp;
};

// One row of n scores; `smoothing` is the share of the target that is spread over all of them.
template <typename T>
RowLoss row_loss(const T* x, int64_t n, int64_t target, double smoothing) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  HWY_ALIGN R buffer[kBlockSize];
  R top = -std::numeric_limits<R>::infinity();
  each_block(
      n, [&](int64_t at, int64_t count) HWY_ATTR { top = max_lanes(load_block(x + at, count, buffer), count, top); });
  const auto shift = hn::Set(d, top);
  double total = 0, below = 0;  // sums of exp(x - top) and of x - top
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* scores = load_block(x + at, count, buffer);
    sum_pairs<R>(count, &total, &below, [&](auto v, auto& a, auto& b) HWY_ATTR {
      const auto shifted = hn::Sub(v.load(scores), shift);
      a = hn::Add(a, v.keep(exp_lanes(d, shifted)));
      b = hn::Add(b, v.keep(shifted));
    });
  });
  const double log_total = std::log(total), own = static_cast<double>(R(x[target])) - top;
  double loss = log_total - own;
  if (smoothing > 0) loss = log_total - (1 - smoothing) * own - smoothing / static_cast<double>(n) * below;
  return {loss, top + log_total};
}

size_t cross_entropy_workspace(const KernelContext& context) noexcept {
  return static_cast<size_t>(context.inputs[0].sizes[0]) * sizeof(double);
}

template <typename T>
Status run_cross_entropy(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<CrossEntropyAttrs>();
  const int64_t rows = context.inputs[0].sizes[0], n = context.inputs[0].sizes[1];
  const T* x = context.inputs[0].as<const T>();
  const int64_t* target = context.inputs[1].as<const int64_t>();
  T* out = context.outputs[0].as<T>();
  double* sums = by_product<double>(context, 1);
  double* losses = static_cast<double*>(context.workspace);
  const int64_t count = count_targets(target, rows, n, attrs.ignore_index);
  if (count < 0) return kBadTarget;
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t i = first; i < last; ++i) {
                   RowLoss row{0, 0};
                   if (target[i] != attrs.ignore_index) row = row_loss(x + i * n, n, target[i], attrs.label_smoothing);
                   losses[i] = row.loss;
                   if (sums) sums[i] = row.log_sum_exp;
                 }
               });
  if (attrs.reduction == Reduction::kNone) {
    for (int64_t i = 0; i < rows; ++i) out[i] = T(Real<T>(losses[i]));
    return ok_status();
  }
  double total = 0;
  for (int64_t i = 0; i < rows; ++i) total += losses[i];
  out[0] = T(Real<T>(attrs.reduction == Reduction::kMean ? total / static_cast<double>(count) : total));
  return ok_status();
}

// out = slope * (exp(x - lse) - target)
template <typename T>
void backward_row(const T* x, T* out, int64_t n, int64_t target, double lse, double slope, double smoothing) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  HWY_ALIGN R buffer[kBlockSize];
  // In two parts: one would lose the small part beside a large one.
  const R high = R(lse), low = std::isfinite(high) ? R(lse - static_cast<double>(high)) : R(0);
  const auto first = hn::Set(d, high), second = hn::Set(d, low), factor = hn::Set(d, R(slope));
  const R uniform = R(smoothing / static_cast<double>(n));
  const auto everywhere = hn::Set(d, uniform);
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* scores = load_block(x + at, count, buffer);
    R* to = block_target(out + at, buffer);
    each_vector<R>(count, [&](auto v) HWY_ATTR {
      const auto softmax = exp_lanes(d, hn::Sub(hn::Sub(v.load(scores), first), second));
      v.store(hn::Mul(hn::Sub(softmax, everywhere), factor), to);
    });
    store_block(to, out + at, count);
  });
  const double softmax = std::exp(static_cast<double>(R(x[target])) - lse);
  out[target] = T(R(slope * (softmax - (1 - smoothing) - smoothing / static_cast<double>(n))));
}

template <typename T>
Status run_cross_entropy_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<CrossEntropyAttrs>();
  const int64_t rows = context.inputs[1].sizes[0], n = context.inputs[1].sizes[1];
  const T *g = context.inputs[0].as<const T>(), *x = context.inputs[1].as<const T>();
  const int64_t* target = context.inputs[2].as<const int64_t>();
  const TensorArg& lse = context.inputs[3];
  T* out = context.outputs[0].as<T>();
  const int64_t count = count_targets(target, rows, n, attrs.ignore_index);
  if (count < 0) return kBadTarget;
  const bool each = attrs.reduction == Reduction::kNone;
  const double share = attrs.reduction == Reduction::kMean ? 1.0 / static_cast<double>(count) : 1.0;
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t i = first; i < last; ++i) {
                   if (target[i] == attrs.ignore_index)
                     std::fill_n(out + i * n, n, T(0));
                   else
                     backward_row(x + i * n, out + i * n, n, target[i], statistic(lse, i),
                                  share * static_cast<double>(Real<T>(g[each ? i : 0])), attrs.label_smoothing);
                 }
               });
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{
      KernelEntry{"cross_entropy", dtype_of<Ts>, run_cross_entropy<Ts>, nullptr, cross_entropy_workspace, true}...,
      KernelEntry{"cross_entropy_backward", dtype_of<Ts>, run_cross_entropy_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> cross_entropy_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(cross_entropy_entries);
std::span<const KernelEntry> cross_entropy_kernels() { return HWY_DYNAMIC_DISPATCH(cross_entropy_entries)(); }
}  // namespace vellum::cpu
#endif
