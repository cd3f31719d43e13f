#include <algorithm>
#include <array>
#include <limits>

#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// One load for each row: nothing to vectorise, so this family is compiled once.

namespace vellum::cpu {
namespace {

constexpr Status kBadTarget{StatusCode::kInvalidArgument,
                            "a target is outside [0, C) and is not ignore_index; check the class indices"};

template <typename T>
using Accumulator = std::conditional_t<sizeof(T) == 2, float, T>;

// The rows that count, or -1 where a target is out of range.
int64_t count_targets(const int64_t* target, int64_t rows, int64_t classes, int64_t ignore) {
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (target[i] == ignore) continue;
    if (target[i] < 0 || target[i] >= classes) return -1;
    ++count;
  }
  return count;
}

template <typename T>
Status run_nll_loss(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<NllLossAttrs>();
  const TensorArg& x = context.inputs[0];
  const int64_t rows = x.sizes[0], classes = x.sizes[1];
  const T* log_p = x.as<const T>();
  const int64_t* target = context.inputs[1].as<const int64_t>();
  T* out = context.outputs[0].as<T>();
  const int64_t count = count_targets(target, rows, classes, attrs.ignore_index);
  if (count < 0) return kBadTarget;
  double total = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const bool counts = target[i] != attrs.ignore_index;
    const Accumulator<T> loss = counts ? -Accumulator<T>(log_p[i * classes + target[i]]) : Accumulator<T>(0);
    if (attrs.reduction == Reduction::kNone) out[i] = T(loss);
    total += loss;
  }
  if (attrs.reduction == Reduction::kMean) total /= static_cast<double>(count);
  if (attrs.reduction != Reduction::kNone) out[0] = T(Accumulator<T>(total));
  return ok_status();
}

template <typename T>
Status run_nll_loss_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<NllLossBackwardAttrs>();
  const int64_t rows = attrs.shape[0], classes = attrs.shape[1];
  const T* g = context.inputs[0].as<const T>();
  const int64_t* target = context.inputs[1].as<const int64_t>();
  T* out = context.outputs[0].as<T>();
  const int64_t count = count_targets(target, rows, classes, attrs.loss.ignore_index);
  if (count < 0) return kBadTarget;
  const bool each = attrs.loss.reduction == Reduction::kNone;
  const double share = attrs.loss.reduction == Reduction::kMean ? 1.0 / static_cast<double>(count) : 1.0;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, classes));
  parallel_for(0, rows, grain, [&](int64_t first, int64_t last) {
    std::fill(out + first * classes, out + last * classes, T(0));
    for (int64_t i = first; i < last; ++i)
      if (target[i] != attrs.loss.ignore_index)
        out[i * classes + target[i]] = T(Accumulator<T>(-share * static_cast<double>(g[each ? i : 0])));
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
