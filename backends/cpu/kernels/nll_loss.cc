#include <algorithm>
#include <array>

#include "vellum/backends/cpu/kernels/class_targets.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// One load for each target: nothing to vectorise, so this family is compiled once.

namespace vellum::cpu {
namespace {

template <typename T>
using Accumulator = std::conditional_t<sizeof(T) == 2, float, T>;

// Scores as [outer, classes, inner], and what each target weighs.
template <typename T>
struct Classes {
  DimSplit split;
  const int64_t* target;
  const T* weight;
  int64_t ignore;

  Classes(const int64_t* sizes, int rank, const KernelContext& context, int64_t ignore_index)
      : split(sizes, rank, rank == 1 ? 0 : 1),
        target(context.inputs[1].as<const int64_t>()),
        weight(context.inputs[2].defined ? context.inputs[2].as<const T>() : nullptr),
        ignore(ignore_index) {}

  int64_t targets() const { return split.outer * split.inner; }
  bool counts(int64_t i) const { return target[i] != ignore; }
  Accumulator<T> weight_of(int64_t i) const { return weight ? Accumulator<T>(weight[target[i]]) : Accumulator<T>(1); }
  // Where the scores have the target's class.
  int64_t position(int64_t i) const { return (i / split.inner * split.n + target[i]) * split.inner + i % split.inner; }
  // What a mean divides by.
  double total_weight(int64_t count) const {
    if (!weight) return static_cast<double>(count);
    double total = 0;
    for (int64_t i = 0; i < targets(); ++i)
      if (counts(i)) total += static_cast<double>(weight_of(i));
    return total;
  }
};

template <typename T>
Status run_nll_loss(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<NllLossAttrs>();
  const TensorArg& x = context.inputs[0];
  const Classes<T> classes(x.sizes, x.rank, context, attrs.ignore_index);
  const T* log_p = x.as<const T>();
  T* out = context.outputs[0].as<T>();
  const int64_t count = count_targets(classes.target, classes.targets(), classes.split.n, attrs.ignore_index);
  if (count < 0) return kBadTarget;
  double total = 0;
  for (int64_t i = 0; i < classes.targets(); ++i) {
    Accumulator<T> loss = 0;
    if (classes.counts(i)) loss = -classes.weight_of(i) * Accumulator<T>(log_p[classes.position(i)]);
    if (attrs.reduction == Reduction::kNone) out[i] = T(loss);
    total += loss;
  }
  if (attrs.reduction == Reduction::kMean) total /= classes.total_weight(count);
  if (attrs.reduction != Reduction::kNone) out[0] = T(Accumulator<T>(total));
  return ok_status();
}

template <typename T>
Status run_nll_loss_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<NllLossBackwardAttrs>();
  const Classes<T> classes(attrs.shape.data(), attrs.shape.size(), context, attrs.loss.ignore_index);
  const DimSplit& s = classes.split;
  const T* g = context.inputs[0].as<const T>();
  T* out = context.outputs[0].as<T>();
  const int64_t count = count_targets(classes.target, classes.targets(), s.n, attrs.loss.ignore_index);
  if (count < 0) return kBadTarget;
  const bool each = attrs.loss.reduction == Reduction::kNone;
  const double share = attrs.loss.reduction == Reduction::kMean ? 1.0 / classes.total_weight(count) : 1.0;
  const int64_t sample = s.n * s.inner;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, sample));
  parallel_for(0, s.outer, grain, [&](int64_t first, int64_t last) {
    std::fill(out + first * sample, out + last * sample, T(0));
    for (int64_t i = first * s.inner; i < last * s.inner; ++i) {
      if (!classes.counts(i)) continue;
      const double slope = -share * static_cast<double>(classes.weight_of(i));
      out[classes.position(i)] = T(Accumulator<T>(slope * static_cast<double>(g[each ? i : 0])));
    }
  });
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{
      KernelEntry{"nll_loss", dtype_of<Ts>, run_nll_loss<Ts>, nullptr, nullptr, true}...,
      KernelEntry{"nll_loss_backward", dtype_of<Ts>, run_nll_loss_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = entries_of<float16, bfloat16, float, double>();

}  // namespace

std::span<const KernelEntry> nll_loss_kernels() { return kEntries; }

}  // namespace vellum::cpu
