#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/copy_runs.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/index_rows.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// Slices and elements at computed places, positions, triangles. Loads and stores: compiled once.

namespace vellum::cpu {
namespace {

bool all_within(const TensorArg& index, int64_t n) {
  const int64_t* at = index.as<const int64_t>();
  return std::all_of(at, at + index.numel, [n](int64_t i) { return i >= 0 && i < n; });
}

// --- index_select

template <typename T>
Status index_select_as(const KernelContext& context) {
  const TensorArg &x = context.inputs[0], &index = context.inputs[1], &out = context.outputs[0];
  const DimSplit from(x.sizes, x.rank, context.attributes<IndexSelectAttrs>().dim);
  if (!all_within(index, from.n)) return kBadIndex;
  if (out.numel == 0) return ok_status();
  const int64_t* at = index.as<const int64_t>();
  const int64_t picks = index.numel, inner = from.inner;
  const T* source = x.as<const T>();
  T* to = out.as<T>();
  parallel_for(0, from.outer * picks, grain_for(inner), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const T* slice = source + (r / picks * from.n + at[r % picks]) * inner;
      if (inner == 1)
        to[r] = *slice;
      else
        std::memcpy(to + r * inner, slice, static_cast<size_t>(inner) * sizeof(T));
    }
  });
  return ok_status();
}

Status run_index_select(const KernelContext& context) noexcept {
  return for_width(context.inputs[0].dtype, [&]<typename T>(T) { return index_select_as<T>(context); });
}

// --- Writing slices. Threads share the inner dimension, so that repeated entries never meet.

template <typename F>
void for_each_slice(const DimSplit& to, const TensorArg& index, F slice) {
  const int64_t* at = index.as<const int64_t>();
  const int64_t entries = index.numel;
  if (to.outer != 1) {
    parallel_for(0, to.outer, grain_for(entries * to.inner), [&](int64_t first, int64_t last) {
      for (int64_t o = first; o < last; ++o)
        for (int64_t k = 0; k < entries; ++k)
          slice((o * to.n + at[k]) * to.inner, (o * entries + k) * to.inner, to.inner, at[k]);
    });
    return;
  }
  parallel_for(0, to.inner, grain_for(entries), [&](int64_t first, int64_t last) {
    for (int64_t k = 0; k < entries; ++k) slice(at[k] * to.inner + first, k * to.inner + first, last - first, at[k]);
  });
}

template <typename T>
void add_slice(T* to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = T(to[i] + from[i]);
}

template <typename T>
Status run_index_select_backward(const KernelContext& context) noexcept {
  const auto& a = context.attributes<IndexSelectBackwardAttrs>();
  const TensorArg &g = context.inputs[0], &index = context.inputs[1], &out = context.outputs[0];
  const DimSplit to(a.shape.data(), a.shape.size(), a.dim);
  if (!all_within(index, to.n)) return kBadIndex;
  if (out.numel == 0) return ok_status();
  std::memset(out.data, 0, static_cast<size_t>(out.numel) * sizeof(T));
  for_each_slice(to, index, [&](int64_t into, int64_t from, int64_t n, int64_t entry) {
    if (entry != a.without_gradient) add_slice(out.as<T>() + into, g.as<const T>() + from, n);
  });
  return ok_status();
}

// The result starts as self, unless it is self.
void start_from_self(const KernelContext& context) {
  const TensorArg &self = context.inputs[0], &out = context.outputs[0];
  if (out.data == self.data || out.numel == 0) return;
  copy_bytes(out.data, self.data, out.numel * static_cast<int64_t>(dtype_size(out.dtype)));
}

// What a factor and its product are computed in: a half dtype would round the factor first.
template <typename T>
struct ScaledIn {
  using type = T;
};
template <>
struct ScaledIn<float16> {
  using type = float;
};
template <>
struct ScaledIn<bfloat16> {
  using type = float;
};

template <typename T>
Status run_index_add(const KernelContext& context) noexcept {
  const auto& a = context.attributes<IndexWriteAttrs>();
  const TensorArg &index = context.inputs[1], &source = context.inputs[2], &out = context.outputs[0];
  const DimSplit to(out.sizes, out.rank, a.dim);
  if (!all_within(index, to.n)) return kBadIndex;
  if (out.numel == 0) return ok_status();
  start_from_self(context);
  using Wide = typename ScaledIn<T>::type;
  const Wide alpha = a.alpha.to<Wide>();
  const bool plain = a.alpha.value() == 1.0;
  for_each_slice(to, index, [&](int64_t into, int64_t from, int64_t n, int64_t) {
    T* sum = out.as<T>() + into;
    const T* change = source.as<const T>() + from;
    if (plain) return add_slice(sum, change, n);
    for (int64_t i = 0; i < n; ++i) sum[i] = T(Wide(sum[i]) + Wide(alpha * Wide(change[i])));
  });
  return ok_status();
}

template <typename T>
Status index_copy_as(const KernelContext& context) {
  const TensorArg &index = context.inputs[1], &source = context.inputs[2], &out = context.outputs[0];
  const DimSplit to(out.sizes, out.rank, context.attributes<IndexWriteAttrs>().dim);
  if (!all_within(index, to.n)) return kBadIndex;
  if (out.numel == 0) return ok_status();
  start_from_self(context);
  for_each_slice(to, index, [&](int64_t into, int64_t from, int64_t n, int64_t) {
    std::memcpy(out.as<T>() + into, source.as<const T>() + from, static_cast<size_t>(n) * sizeof(T));
  });
  return ok_status();
}

Status run_index_copy(const KernelContext& context) noexcept {
  return for_width(context.outputs[0].dtype, [&]<typename T>(T) { return index_copy_as<T>(context); });
}

// --- Writing elements

enum class Meeting : uint8_t { kReplace, kAdd, kMultiply };

template <typename T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));  // wraps
  else
    return T(multiply(static_cast<typename ScaledIn<T>::type>(a), static_cast<typename ScaledIn<T>::type>(b)));
}

template <typename T, Meeting kMeeting>
void write_elements(const IndexRows& rows, const T* from, T* to) {
  const int64_t group = rows.independent_rows();
  parallel_for(0, rows.count() / group, grain_for(group * rows.width()), [&](int64_t first, int64_t last) {
    for (int64_t r = first * group; r < last * group; ++r) {
      const int64_t* entries = rows.row(r);
      const int64_t start = rows.start(r);
      for (int64_t j = 0; j < rows.width(); ++j) {
        T& value = to[start + entries[j] * rows.step() + j * rows.inner()];
        const T change = from[r * rows.width() + j];
        if constexpr (kMeeting == Meeting::kAdd)
          value = T(value + change);
        else if constexpr (kMeeting == Meeting::kMultiply)
          value = product_of(value, change);
        else
          value = change;
      }
    }
  });
}

template <typename T, Meeting kMeeting>
Status scatter_as(const KernelContext& context) {
  const TensorArg &source = context.inputs[2], &out = context.outputs[0];
  const IndexRows rows(context.inputs[1], out.sizes, out.rank, context.attributes<DimAttrs>().dim);
  if (!rows.all_valid()) return kBadIndex;
  start_from_self(context);
  write_elements<T, kMeeting>(rows, source.as<const T>(), out.as<T>());
  return ok_status();
}

Status run_scatter(const KernelContext& context) noexcept {
  return for_width(context.outputs[0].dtype, [&]<typename T>(T) { return scatter_as<T, Meeting::kReplace>(context); });
}

template <typename T>
Status run_scatter_add(const KernelContext& context) noexcept {
  return scatter_as<T, Meeting::kAdd>(context);
}

template <typename T>
Status run_scatter_multiply(const KernelContext& context) noexcept {
  return scatter_as<T, Meeting::kMultiply>(context);
}

template <typename T>
Status run_gather_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<GatherBackwardAttrs>();
  const TensorArg &g = context.inputs[0], &out = context.outputs[0];
  const IndexRows rows(context.inputs[1], attrs.shape.data(), attrs.shape.size(), attrs.dim);
  if (!rows.all_valid()) return kBadIndex;
  if (out.numel > 0) std::memset(out.data, 0, static_cast<size_t>(out.numel) * sizeof(T));
  write_elements<T, Meeting::kAdd>(rows, g.as<const T>(), out.as<T>());
  return ok_status();
}

// --- Positions

Status run_flatten_index(const KernelContext& context) noexcept {
  const Dims& sizes = context.attributes<ShapeAttrs>().shape;
  const TensorArg& out = context.outputs[0];
  std::atomic<bool> bad{false};
  parallel_for(0, out.numel, kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      int64_t position = 0;
      for (int d = 0; d < sizes.size(); ++d) {
        int64_t at = context.inputs[static_cast<size_t>(d)].as<const int64_t>()[i];
        if (at < -sizes[d] || at >= sizes[d]) return bad.store(true, std::memory_order_relaxed);
        if (at < 0) at += sizes[d];
        position = position * sizes[d] + at;
      }
      out.as<int64_t>()[i] = position;
    }
  });
  return bad.load(std::memory_order_relaxed) ? kBadIndex : ok_status();
}

// Sequential: each position depends on how many came before.
Status run_nonzero(const KernelContext& context) noexcept {
  const TensorArg &x = context.inputs[0], &out = context.outputs[0];
  const int64_t count = context.attributes<NonzeroAttrs>().count;
  const bool* values = x.as<const bool>();
  int64_t found = 0;
  for (int64_t i = 0; i < x.numel; ++i) {
    if (!values[i]) continue;
    if (found++ == count) break;
    int64_t* to = out.as<int64_t>() + (found - 1) * x.rank;
    int64_t rest = i;
    for (int d = x.rank - 1; d >= 0; --d) {
      to[d] = rest % x.sizes[d];
      rest /= x.sizes[d];
    }
  }
  if (found == count) return ok_status();
  return {StatusCode::kInvalidArgument, "the number of nonzero elements is not the one that was counted"};
}

// --- Triangles

template <typename T, bool kUpper>
Status triangle_as(const KernelContext& context) {
  const TensorArg &x = context.inputs[0], &out = context.outputs[0];
  const int64_t rows = x.sizes[x.rank - 2], columns = x.sizes[x.rank - 1];
  const int64_t diagonal = std::clamp(context.attributes<TriangleAttrs>().diagonal, -rows, columns);
  if (out.numel == 0) return ok_status();
  parallel_for(0, out.numel / columns, grain_for(columns), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const T* from = x.as<const T>() + r * columns;
      T* to = out.as<T>() + r * columns;
      // [0, edge) is kept below, [edge, columns) above.
      const int64_t edge = std::clamp<int64_t>(r % rows + diagonal + (kUpper ? 0 : 1), 0, columns);
      const int64_t start = kUpper ? edge : 0, stop = kUpper ? columns : edge;
      std::fill(to, to + start, T{});
      if (to != from) std::copy(from + start, from + stop, to + start);
      std::fill(to + stop, to + columns, T{});
    }
  });
  return ok_status();
}

template <bool kUpper>
Status run_triangle(const KernelContext& context) noexcept {
  return for_width(context.outputs[0].dtype, [&]<typename T>(T) { return triangle_as<T, kUpper>(context); });
}

template <typename... Ts>
constexpr auto backward_entries() {
  return std::array{
      KernelEntry{"index_select_backward", dtype_of<Ts>, run_index_select_backward<Ts>, nullptr, nullptr, true}...,
      KernelEntry{"gather_backward", dtype_of<Ts>, run_gather_backward<Ts>, nullptr, nullptr, true}...};
}

template <typename... Ts>
constexpr auto combining_entries() {
  return std::array{KernelEntry{"index_add", dtype_of<Ts>, run_index_add<Ts>, nullptr, nullptr, true}...,
                    KernelEntry{"scatter_add", dtype_of<Ts>, run_scatter_add<Ts>, nullptr, nullptr, true}...,
                    KernelEntry{"scatter_multiply", dtype_of<Ts>, run_scatter_multiply<Ts>, nullptr, nullptr, true}...};
}

constexpr KernelEntry moving(std::string_view name, Status (*run)(const KernelContext&) noexcept,
                             DTypeSet dtypes = kAllDTypes) {
  return {name, dtypes, run, nullptr, nullptr, true};
}

constexpr auto kEntries =
    join(std::array{moving("index_select", run_index_select), moving("index_copy", run_index_copy),
                    moving("scatter", run_scatter), moving("flatten_index", run_flatten_index, kInt64),
                    moving("nonzero", run_nonzero, kBool), moving("tril", run_triangle<false>),
                    moving("triu", run_triangle<true>)},
         backward_entries<float16, bfloat16, float, double, complex64, complex128>(),
         combining_entries<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double,
                           complex64, complex128>());

}  // namespace

std::span<const KernelEntry> scatter_kernels() { return kEntries; }

}  // namespace vellum::cpu
