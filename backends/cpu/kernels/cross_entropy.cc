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

// What a target says: `sharp` of its own class and `spread` of each class, times the weights of the classes, if any.
template <typename T>
struct TargetParts {
  TargetParts(const CrossEntropyAttrs& attrs, const TensorArg& weight, int64_t n)
      : weights(weight.defined ? weight.as<const T>() : nullptr),
        sharp(1 - attrs.label_smoothing),
        spread(attrs.label_smoothing / static_cast<double>(n)) {
    for (int64_t c = 0; weights && c < n; ++c) all_weights += weight_of(c);
  }

  double weight_of(int64_t c) const { return weights ? static_cast<double>(Real<T>(weights[c])) : 1; }
  // Summed up over the classes.
  double of_row(int64_t target) const { return weights ? sharp * weight_of(target) + spread * all_weights : 1; }
  // What a sum over the rows is divided by; `count` of their targets count.
  double divisor(const CrossEntropyAttrs& attrs, const int64_t* target, int64_t rows, int64_t count) const {
    if (attrs.reduction != Reduction::kMean) return 1;
    if (!weights) return static_cast<double>(count);
    double total = 0;
    for (int64_t i = 0; i < rows; ++i) total += target[i] == attrs.ignore_index ? 0 : weight_of(target[i]);
    return total;
  }

  const T* weights;
  double sharp, spread, all_weights = 0;
};

// One row of n scores.
template <bool kWeighted, typename T>
RowLoss row_loss(const T* x, int64_t n, int64_t target, const TargetParts<T>& parts) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  HWY_ALIGN R buffer[kBlockSize], weight_buffer[kWeighted ? kBlockSize : 1];
  R top = -std::numeric_limits<R>::infinity();
  each_block(
      n, [&](int64_t at, int64_t count) HWY_ATTR { top = max_lanes(load_block(x + at, count, buffer), count, top); });
  const auto shift = hn::Set(d, top);
  double total = 0, below = 0;  // sums of exp(x - top) and of weight (x - top)
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* scores = load_block(x + at, count, buffer);
    const R* weights = kWeighted ? load_block(parts.weights + at, count, weight_buffer) : nullptr;
    sum_pairs<R>(count, &total, &below, [&](auto v, auto& a, auto& b) HWY_ATTR {
      auto shifted = hn::Sub(v.load(scores), shift);
      a = hn::Add(a, v.keep(exp_lanes(d, shifted)));
      if constexpr (kWeighted) shifted = hn::Mul(shifted, v.load(weights));
      b = hn::Add(b, v.keep(shifted));
    });
  });
  const double log_total = std::log(total), own = static_cast<double>(R(x[target])) - top;
  double loss = parts.of_row(target) * log_total - parts.sharp * parts.weight_of(target) * own;
  if (parts.spread > 0) loss -= parts.spread * below;
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
  const TargetParts<T> parts(attrs, context.inputs[2], n);
  const auto of_row = parts.weights ? row_loss<true, T> : row_loss<false, T>;
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t i = first; i < last; ++i) {
                   RowLoss row{0, 0};
                   if (target[i] != attrs.ignore_index) row = of_row(x + i * n, n, target[i], parts);
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
  out[0] = T(Real<T>(total / parts.divisor(attrs, target, rows, count)));
  return ok_status();
}

// out = slope * (parts of all classes * exp(x - lse) - part of the class)
template <bool kWeighted, typename T>
void backward_row(const T* x, T* out, int64_t n, int64_t target, double lse, double slope,
                  const TargetParts<T>& parts) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  HWY_ALIGN R buffer[kBlockSize], weight_buffer[kWeighted ? kBlockSize : 1];
  // In two parts: one would lose the small part beside a large one.
  const R high = R(lse), low = std::isfinite(high) ? R(lse - static_cast<double>(high)) : R(0);
  const auto first = hn::Set(d, high), second = hn::Set(d, low), factor = hn::Set(d, R(slope));
  const auto everywhere = hn::Set(d, R(parts.spread)), all = hn::Set(d, R(parts.of_row(target)));
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* scores = load_block(x + at, count, buffer);
    const R* weights = kWeighted ? load_block(parts.weights + at, count, weight_buffer) : nullptr;
    R* to = block_target(out + at, buffer);
    each_vector<R>(count, [&](auto v) HWY_ATTR {
      auto softmax = exp_lanes(d, hn::Sub(hn::Sub(v.load(scores), first), second)), part = everywhere;
      if constexpr (kWeighted) softmax = hn::Mul(softmax, all), part = hn::Mul(part, v.load(weights));
      v.store(hn::Mul(hn::Sub(softmax, part), factor), to);
    });
    store_block(to, out + at, count);
  });
  const double softmax = std::exp(static_cast<double>(R(x[target])) - lse);
  const double own = parts.weight_of(target);
  out[target] = T(R(slope * (parts.of_row(target) * softmax - parts.sharp * own - parts.spread * own)));
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
  const TargetParts<T> parts(attrs, context.inputs[4], n);
  const auto of_row = parts.weights ? backward_row<true, T> : backward_row<false, T>;
  const bool each = attrs.reduction == Reduction::kNone;
  const double share = 1 / parts.divisor(attrs, target, rows, count);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t i = first; i < last; ++i) {
                   if (target[i] == attrs.ignore_index)
                     std::fill_n(out + i * n, n, T(0));
                   else
                     of_row(x + i * n, out + i * n, n, target[i], statistic(lse, i),
                            share * static_cast<double>(Real<T>(g[each ? i : 0])), parts);
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
