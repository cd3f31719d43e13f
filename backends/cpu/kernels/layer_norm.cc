#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/layer_norm.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/blocks-inl.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/layer_norm_plan.h"
#include "vellum/backends/cpu/kernels/moments-inl.h"
#include "vellum/backends/cpu/kernels/statistic.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// A row of parameters as real numbers: the operand's own, or `scratch` filled with what it holds, or with `otherwise`
// where it was left out.
template <typename T>
const Real<T>* real_row(const TensorArg& operand, int64_t n, Real<T> otherwise, Real<T>* scratch) {
  if (!operand.defined) {
    std::fill_n(scratch, n, otherwise);
    return scratch;
  }
  return load_block(operand.as<const T>(), n, scratch);
}

// y = (x - mean) * rstd * weight + bias
template <typename T>
HWY_INLINE void normalize_row(const T* x, T* y, int64_t n, Real<T> mean, Real<T> rstd, const Real<T>* weight,
                              const Real<T>* bias, Real<T>* buffer) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  const auto centre = hn::Set(d, mean), scale = hn::Set(d, rstd);
  each_block(n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* values = load_block(x + at, count, buffer);
    const R *w = weight + at, *b = bias + at;
    R* to = block_target(y + at, buffer);
    each_vector<R>(count, [&](auto v) HWY_ATTR {
      const auto z = hn::Mul(hn::Sub(v.load(values), centre), scale);
      v.store(hn::MulAdd(z, v.load(w), v.load(b)), to);
    });
    store_block(to, y + at, count);
  });
}

template <typename T>
Status run_layer_norm(const KernelContext& context) noexcept {
  using R = Real<T>;
  const auto& attrs = context.attributes<LayerNormAttrs>();
  const TensorArg& x = context.inputs[0];
  const NormRows s(x, attrs.rank);
  if (x.numel == 0) return ok_status();
  R* scratch = static_cast<R*>(context.workspace);
  const R* weight = real_row<T>(context.inputs[1], s.n, R(1), scratch);
  const R* bias = real_row<T>(context.inputs[2], s.n, R(0), scratch + s.n);
  const T* from = x.as<const T>();
  T* y = context.outputs[0].as<T>();
  R *means = by_product<R>(context, 1), *rstds = by_product<R>(context, 2);
  parallel_for(0, s.rows, s.grain(), [&](int64_t first, int64_t last) HWY_ATTR {
    HWY_ALIGN R buffer[kBlockSize];
    for (int64_t i = first; i < last; ++i) {
      const T* row = from + i * s.n;
      Moments moments;
      each_block(s.n, [&](int64_t at, int64_t count)
                          HWY_ATTR { moments.add_block(load_block(row + at, count, buffer), count); });
      const R mean = R(moments.mean), rstd = R(1 / std::sqrt(moments.variance() + attrs.eps));
      normalize_row(row, y + i * s.n, s.n, mean, rstd, weight, bias, buffer);
      if (means) means[i] = mean;
      if (rstds) rstds[i] = rstd;
    }
  });
  return ok_status();
}

// --- Backward

// Sums over rows of grad * z and of grad, which are kept in Real<T> for some rows and in double for all.
template <typename R>
struct ParameterSums {
  R *weight, *bias;
  double *weight_total, *bias_total;

  void clear(int64_t n) const {
    std::fill_n(weight, 2 * n, R(0));
    std::fill_n(weight_total, 2 * n, 0.0);
  }
  HWY_INLINE void flush(int64_t n) const {
    for (int64_t j = 0; j < 2 * n; ++j) weight_total[j] += static_cast<double>(weight[j]);
    std::fill_n(weight, 2 * n, R(0));
  }
};

template <typename T>
struct BackwardRow {
  const T *g, *x;
  int64_t n;
  Real<T> mean, rstd;
};

// The averages of a = grad * weight and of a * z.
template <typename T>
HWY_INLINE void row_averages(const BackwardRow<T>& row, const Real<T>* weight, Real<T>* first_buffer,
                             Real<T>* second_buffer, double* a, double* az) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  const auto centre = hn::Set(d, row.mean);
  each_block(row.n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* g = load_block(row.g + at, count, first_buffer);
    const R* x = load_block(row.x + at, count, second_buffer);
    const R* w = weight + at;
    sum_pairs<R>(count, a, az, [&](auto v, auto& sum, auto& sum_z) HWY_ATTR {
      const auto term = hn::Mul(v.load(g), v.load(w));
      sum = hn::Add(sum, term);
      sum_z = hn::MulAdd(term, hn::Sub(v.load(x), centre), sum_z);
    });
  });
  *a /= static_cast<double>(row.n);
  *az *= static_cast<double>(row.rstd) / static_cast<double>(row.n);
}

// gx = rstd * (a - <a> - z <a z>), and this row's part of the parameters' gradients.
template <typename T, bool kInput, bool kParameters>
HWY_INLINE void backward_row(const BackwardRow<T>& row, const Real<T>* weight, T* gx,
                             const ParameterSums<Real<T>>& sums) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = Real<T>;
  const hn::ScalableTag<R> d;
  HWY_ALIGN R first_buffer[kBlockSize];
  HWY_ALIGN R second_buffer[kBlockSize];
  double a = 0, az = 0;
  if constexpr (kInput) row_averages(row, weight, first_buffer, second_buffer, &a, &az);
  const auto centre = hn::Set(d, row.mean), scale = hn::Set(d, row.rstd);
  const auto average = hn::Set(d, R(a)), average_z = hn::Set(d, R(az));
  each_block(row.n, [&](int64_t at, int64_t count) HWY_ATTR {
    const R* g = load_block(row.g + at, count, first_buffer);
    const R* x = load_block(row.x + at, count, second_buffer);
    R* to = kInput ? block_target(gx + at, first_buffer) : nullptr;
    each_vector<R>(count, [&](auto v) HWY_ATTR {
      const auto slope = v.load(g);
      const auto z = hn::Mul(hn::Sub(v.load(x), centre), scale);
      if constexpr (kParameters) {
        v.store(hn::MulAdd(slope, z, v.load(sums.weight + at)), sums.weight + at);
        v.store(hn::Add(slope, v.load(sums.bias + at)), sums.bias + at);
      }
      if constexpr (kInput) {
        const auto centred = hn::Sub(hn::Mul(slope, v.load(weight + at)), average);
        v.store(hn::Mul(scale, hn::NegMulAdd(z, average_z, centred)), to);
      }
    });
    if constexpr (kInput) store_block(to, gx + at, count);
  });
}

template <typename T>
struct LayerNormBackward {
  using R = Real<T>;

  const KernelContext& context;
  const LayerNormBackwardAttrs& attrs;
  NormRows s;
  const R* weight;
  char* sums_memory;

  explicit LayerNormBackward(const KernelContext& call)
      : context(call),
        attrs(call.attributes<LayerNormBackwardAttrs>()),
        s(call.inputs[1], attrs.rank),
        weight(real_row<T>(call.inputs[4], s.n, R(1), static_cast<R*>(call.workspace))),
        sums_memory(static_cast<char*>(call.workspace) + parameter_row_bytes(s.n)) {}

  ParameterSums<R> sums(int64_t chunk) const {
    double* totals = reinterpret_cast<double*>(sums_memory + static_cast<size_t>(chunk) * chunk_bytes(s.n));
    R* short_sums = reinterpret_cast<R*>(totals + 2 * s.n);
    return {short_sums, short_sums + s.n, totals, totals + s.n};
  }

  template <bool kInput, bool kParameters>
  void run_rows(int64_t first, int64_t last, const ParameterSums<R>& into) const {
    const T *g = context.inputs[0].as<const T>(), *x = context.inputs[1].as<const T>();
    T* gx = context.outputs[0].as<T>();
    for (int64_t i = first; i < last; ++i) {
      const BackwardRow<T> row{g + i * s.n, x + i * s.n, s.n, R(statistic(context.inputs[2], i)),
                               R(statistic(context.inputs[3], i))};
      backward_row<T, kInput, kParameters>(row, weight, kInput ? gx + i * s.n : nullptr, into);
      if (kParameters && (i - first) % kRowsInFloat == kRowsInFloat - 1) into.flush(s.n);
    }
    if (kParameters) into.flush(s.n);
  }

  // Chunks of rows add up for themselves and are then added in order, whatever the number of threads.
  void run_with_parameters() const {
    const int64_t chunks = s.chunks();
    const bool input = attrs.wanted & kWantsInput;
    parallel_for(0, chunks, 1, [&](int64_t from, int64_t to) HWY_ATTR {
      for (int64_t c = from; c < to; ++c) {
        const ParameterSums<R> into = sums(c);
        into.clear(s.n);
        const int64_t first = s.rows * c / chunks, last = s.rows * (c + 1) / chunks;
        input ? run_rows<true, true>(first, last, into) : run_rows<false, true>(first, last, into);
      }
    });
    for (const int output : {1, 2}) {
      if (!(attrs.wanted >> output & 1)) continue;
      T* out = context.outputs[static_cast<size_t>(output)].as<T>();
      for (int64_t j = 0; j < s.n; ++j) {
        double total = 0;
        for (int64_t c = 0; c < chunks; ++c) total += sums(c).weight_total[output == 1 ? j : s.n + j];
        out[j] = T(R(total));
      }
    }
  }

  void run_input_alone() const {
    parallel_for(0, s.rows, s.grain(),
                 [&](int64_t first, int64_t last) HWY_ATTR { run_rows<true, false>(first, last, {}); });
  }
};

template <typename T>
Status run_layer_norm_backward(const KernelContext& context) noexcept {
  const LayerNormBackward<T> backward(context);
  if (backward.s.n == 0) return ok_status();
  if (backward.attrs.wanted & (kWantsWeight | kWantsBias))
    backward.run_with_parameters();
  else if (backward.attrs.wanted & kWantsInput)
    backward.run_input_alone();
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{KernelEntry{"layer_norm", dtype_of<Ts>, run_layer_norm<Ts>, nullptr, layer_norm_workspace, true}...,
                    KernelEntry{"layer_norm_backward", dtype_of<Ts>, run_layer_norm_backward<Ts>, nullptr,
                                layer_norm_backward_workspace, true}...};
}

constexpr auto kEntries = entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> layer_norm_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(layer_norm_entries);
std::span<const KernelEntry> layer_norm_kernels() { return HWY_DYNAMIC_DISPATCH(layer_norm_entries)(); }
}  // namespace vellum::cpu
#endif
