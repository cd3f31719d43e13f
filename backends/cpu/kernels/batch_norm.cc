#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/batch_norm.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/blocks-inl.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/moments-inl.h"
#include "vellum/backends/cpu/kernels/statistic.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// x is [N, C, inner]. With places inside, a channel is a set of rows; without, it is a column, and neighbouring columns
// are worked on side by side.

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kColumns = 128;  // that are worked on side by side
constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread

// Calls channel(c) for each channel, or columns(first, count) for blocks of them, on several threads.
template <typename Channel, typename Columns>
HWY_INLINE void run_channels(const DimSplit& s, const Channel& channel, const Columns& columns) {
  if (s.inner == 1) {
    const int64_t blocks = (s.n + kColumns - 1) / kColumns;
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / (std::max<int64_t>(1, s.outer) * kColumns)),
                 [&](int64_t first, int64_t last) HWY_ATTR {
                   for (int64_t b = first; b < last; ++b) columns(b * kColumns, std::min(kColumns, s.n - b * kColumns));
                 });
    return;
  }
  parallel_for(0, s.n, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.outer * s.inner)),
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t c = first; c < last; ++c) channel(c);
               });
}

template <typename T>
Real<T> parameter(const TensorArg& operand, int64_t c, double otherwise) {
  return operand.defined ? Real<T>(operand.as<const T>()[c]) : Real<T>(otherwise);
}

// out = (x - centre) * scale + offset, of one row.
template <typename T>
HWY_INLINE void map_row(const T* x, T* out, int64_t n, Real<T> centre, Real<T> scale, Real<T> offset, Real<T>* buffer) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  const auto from = hn::Set(d, centre), by = hn::Set(d, scale), plus = hn::Set(d, offset);
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* values = load_block(x + at, count, buffer);
    R* to = block_target(out + at, buffer);
    each_vector<R>(count, [&](auto v) HWY_ATTR { v.store(hn::MulAdd(hn::Sub(v.load(values), from), by, plus), to); });
    store_block(to, out + at, count);
  });
}

// --- Forward

template <typename T>
struct BatchNorm {
  using R = Real<T>;

  const KernelContext& context;
  const BatchNormAttrs& attrs;
  DimSplit s;
  const T* x;
  T* y;

  explicit BatchNorm(const KernelContext& call)
      : context(call),
        attrs(call.attributes<BatchNormAttrs>()),
        s(call.inputs[0].sizes, call.inputs[0].rank, 1),
        x(call.inputs[0].as<const T>()),
        y(call.outputs[0].as<T>()) {}

  // What a channel is scaled by. In training the statistics are those of the batch, and kept.
  R scale(int64_t c, double variance) const {
    return R(1 / std::sqrt(variance + attrs.eps)) * parameter<T>(context.inputs[3], c, 1);
  }
  R offset(int64_t c) const { return parameter<T>(context.inputs[4], c, 0); }
  void keep(int64_t c, double mean, double variance) const {
    context.outputs[1].as<R>()[c] = R(mean);
    context.outputs[2].as<R>()[c] = R(variance);
  }

  void channel(int64_t c) const {
    HWY_ALIGN R buffer[kBlockSize];
    double mean, variance;
    if (attrs.training) {
      Moments moments;
      for (int64_t i = 0; i < s.outer; ++i)
        each_block(s.inner, [&](int64_t at, int64_t count) HWY_ATTR {
          moments.add_block(load_block(x + (i * s.n + c) * s.inner + at, count, buffer), count);
        });
      mean = moments.mean, variance = moments.variance();
      keep(c, mean, variance);
    } else {
      mean = statistic(context.inputs[1], c), variance = statistic(context.inputs[2], c);
    }
    const R by = scale(c, variance), plus = offset(c);
    for (int64_t i = 0; i < s.outer; ++i) {
      const int64_t at = (i * s.n + c) * s.inner;
      map_row(x + at, y + at, s.inner, R(mean), by, plus, buffer);
    }
  }

  void column_moments(int64_t first, int64_t columns, double* mean, double* variance) const {
    HWY_ALIGN R buffer[kColumns];
    std::fill_n(mean, columns, 0.0);
    std::fill_n(variance, columns, 0.0);
    const double count = static_cast<double>(s.outer);
    for (int64_t i = 0; i < s.outer; ++i) {
      const R* row = load_block(x + i * s.n + first, columns, buffer);
      for (int64_t j = 0; j < columns; ++j) mean[j] += static_cast<double>(row[j]);
    }
    for (int64_t j = 0; j < columns; ++j) mean[j] /= count;
    for (int64_t i = 0; i < s.outer; ++i) {
      const R* row = load_block(x + i * s.n + first, columns, buffer);
      for (int64_t j = 0; j < columns; ++j) {
        const double deviation = static_cast<double>(row[j]) - mean[j];
        variance[j] += deviation * deviation;
      }
    }
    for (int64_t j = 0; j < columns; ++j) variance[j] /= count;
  }

  void columns(int64_t first, int64_t count) const {
    HWY_ALIGN R buffer[kColumns];
    R centre[kColumns], by[kColumns], plus[kColumns];
    double mean[kColumns], variance[kColumns];
    if (attrs.training) column_moments(first, count, mean, variance);
    for (int64_t j = 0; j < count; ++j) {
      const int64_t c = first + j;
      if (attrs.training)
        keep(c, mean[j], variance[j]);
      else
        mean[j] = statistic(context.inputs[1], c), variance[j] = statistic(context.inputs[2], c);
      centre[j] = R(mean[j]), by[j] = scale(c, variance[j]), plus[j] = offset(c);
    }
    for (int64_t i = 0; i < s.outer; ++i) {
      const R* row = load_block(x + i * s.n + first, count, buffer);
      T* out = y + i * s.n + first;
      R* to = block_target(out, buffer);
      VELLUM_INDEPENDENT
      for (int64_t j = 0; j < count; ++j) to[j] = (row[j] - centre[j]) * by[j] + plus[j];
      store_block(to, out, count);
    }
  }
};

template <typename T>
Status run_batch_norm(const KernelContext& context) noexcept {
  const BatchNorm<T> norm(context);
  run_channels(
      norm.s, [&](int64_t c) HWY_ATTR { norm.channel(c); },
      [&](int64_t first, int64_t count) HWY_ATTR { norm.columns(first, count); });
  return ok_status();
}

// --- Backward. With z = (x - mean) * rstd, gweight = sum grad z and gbias = sum grad over the n elements of a channel,
// gx = rstd weight (grad - gbias / n - z gweight / n) in training, and rstd weight grad in evaluation.

template <typename T>
struct BatchNormBackward {
  using R = Real<T>;

  const KernelContext& context;
  const BatchNormBackwardAttrs& attrs;
  DimSplit s;
  const T *g, *x;
  T* gx;
  double count;

  explicit BatchNormBackward(const KernelContext& call)
      : context(call),
        attrs(call.attributes<BatchNormBackwardAttrs>()),
        s(call.inputs[1].sizes, call.inputs[1].rank, 1),
        g(call.inputs[0].as<const T>()),
        x(call.inputs[1].as<const T>()),
        gx(call.outputs[0].as<T>()),
        count(static_cast<double>(s.outer * s.inner)) {}

  // gx = (grad - average) * scale - (x - mean) * slope
  struct Factors {
    R mean, average, scale, slope;
  };

  // From the sums of grad and of grad * (x - mean).
  Factors finish(int64_t c, double sum, double sum_deviation) const {
    const double rstd = statistic(context.inputs[3], c), gweight = sum_deviation * rstd;
    if (attrs.wanted & kWantsWeight) context.outputs[1].as<T>()[c] = T(R(gweight));
    if (attrs.wanted & kWantsBias) context.outputs[2].as<T>()[c] = T(R(sum));
    const double scale = rstd * static_cast<double>(parameter<T>(context.inputs[4], c, 1));
    const R mean = R(statistic(context.inputs[2], c));
    if (!attrs.training) return {mean, 0, R(scale), 0};
    return {mean, R(sum / count), R(scale), R(scale * rstd * gweight / count)};
  }

  void channel(int64_t c) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<R> d;
    HWY_ALIGN R first_buffer[kBlockSize];
    HWY_ALIGN R second_buffer[kBlockSize];
    const auto centre = hn::Set(d, R(statistic(context.inputs[2], c)));
    double sum = 0, sum_deviation = 0;
    for (int64_t i = 0; i < s.outer; ++i)
      each_block(s.inner, [&](int64_t at, int64_t n) HWY_ATTR {
        const int64_t from = (i * s.n + c) * s.inner + at;
        const R *slope = load_block(g + from, n, first_buffer), *values = load_block(x + from, n, second_buffer);
        sum_pairs<R>(n, &sum, &sum_deviation, [&](auto v, auto& a, auto& b) HWY_ATTR {
          const auto term = v.load(slope);
          a = hn::Add(a, term);
          b = hn::MulAdd(term, hn::Sub(v.load(values), centre), b);
        });
      });
    const Factors f = finish(c, sum, sum_deviation);
    if (!(attrs.wanted & kWantsInput)) return;
    const auto average = hn::Set(d, f.average), scale = hn::Set(d, f.scale), steep = hn::Set(d, f.slope);
    for (int64_t i = 0; i < s.outer; ++i)
      each_block(s.inner, [&](int64_t at, int64_t n) HWY_ATTR {
        const int64_t from = (i * s.n + c) * s.inner + at;
        const R *slope = load_block(g + from, n, first_buffer), *values = load_block(x + from, n, second_buffer);
        R* to = block_target(gx + from, first_buffer);
        each_vector<R>(n, [&](auto v) HWY_ATTR {
          const auto own = hn::Mul(hn::Sub(v.load(slope), average), scale);
          v.store(hn::NegMulAdd(hn::Sub(v.load(values), centre), steep, own), to);
        });
        store_block(to, gx + from, n);
      });
  }

  void columns(int64_t first, int64_t n) const {
    HWY_ALIGN R first_buffer[kColumns];
    HWY_ALIGN R second_buffer[kColumns];
    double sum[kColumns] = {}, sum_deviation[kColumns] = {}, mean[kColumns];
    for (int64_t j = 0; j < n; ++j) mean[j] = statistic(context.inputs[2], first + j);
    for (int64_t i = 0; i < s.outer; ++i) {
      const int64_t from = i * s.n + first;
      const R *slope = load_block(g + from, n, first_buffer), *values = load_block(x + from, n, second_buffer);
      for (int64_t j = 0; j < n; ++j) {
        sum[j] += static_cast<double>(slope[j]);
        sum_deviation[j] += static_cast<double>(slope[j]) * (static_cast<double>(values[j]) - mean[j]);
      }
    }
    R centre[kColumns], average[kColumns], scale[kColumns], steep[kColumns];
    for (int64_t j = 0; j < n; ++j) {
      const Factors f = finish(first + j, sum[j], sum_deviation[j]);
      centre[j] = f.mean, average[j] = f.average, scale[j] = f.scale, steep[j] = f.slope;
    }
    if (!(attrs.wanted & kWantsInput)) return;
    for (int64_t i = 0; i < s.outer; ++i) {
      const int64_t from = i * s.n + first;
      const R *slope = load_block(g + from, n, first_buffer), *values = load_block(x + from, n, second_buffer);
      R* to = block_target(gx + from, first_buffer);
      VELLUM_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) to[j] = (slope[j] - average[j]) * scale[j] - (values[j] - centre[j]) * steep[j];
      store_block(to, gx + from, n);
    }
  }
};

template <typename T>
Status run_batch_norm_backward(const KernelContext& context) noexcept {
  const BatchNormBackward<T> backward(context);
  run_channels(
      backward.s, [&](int64_t c) HWY_ATTR { backward.channel(c); },
      [&](int64_t first, int64_t count) HWY_ATTR { backward.columns(first, count); });
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{
      KernelEntry{"batch_norm", dtype_of<Ts>, run_batch_norm<Ts>, nullptr, nullptr, true}...,
      KernelEntry{"batch_norm_backward", dtype_of<Ts>, run_batch_norm_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> batch_norm_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(batch_norm_entries);
std::span<const KernelEntry> batch_norm_kernels() { return HWY_DYNAMIC_DISPATCH(batch_norm_entries)(); }
}  // namespace vellum::cpu
#endif
