#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/index_rows.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// Bound by loads and stores at computed places: nothing to vectorise, so this family is compiled once.

namespace vellum::cpu {
namespace {

// --- gather

template <typename T>
Status gather_as(const KernelContext& context) {
  const TensorArg &x = context.inputs[0], &index = context.inputs[1];
  const IndexRows rows(index, x.sizes, x.rank, context.attributes<DimAttrs>().dim);
  const T* from = x.as<const T>();
  T* out = context.outputs[0].as<T>();
  std::atomic<bool> bad{false};
  parallel_for(0, rows.count(), grain_for(rows.width()), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t* entries = rows.row(r);
      const int64_t start = rows.start(r);
      for (int64_t j = 0; j < rows.width(); ++j) {
        if (!rows.is_valid(entries[j])) return bad.store(true, std::memory_order_relaxed);
        out[r * rows.width() + j] = from[start + entries[j] * rows.step() + j * rows.inner()];
      }
    }
  });
  return bad.load(std::memory_order_relaxed) ? kBadIndex : ok_status();
}

Status run_gather(const KernelContext& context) noexcept {
  switch (dtype_size(context.inputs[0].dtype)) {
    case 1:
      return gather_as<uint8_t>(context);
    case 2:
      return gather_as<uint16_t>(context);
    case 4:
      return gather_as<uint32_t>(context);
    case 8:
      return gather_as<uint64_t>(context);
    default:
      return gather_as<Bytes16>(context);
  }
}

template <typename T>
Status run_gather_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<GatherBackwardAttrs>();
  const TensorArg &g = context.inputs[0], &out = context.outputs[0];
  const IndexRows rows(context.inputs[1], attrs.shape.data(), attrs.shape.size(), attrs.dim);
  if (!rows.all_valid()) return kBadIndex;
  if (out.numel > 0) std::memset(out.data, 0, static_cast<size_t>(out.numel) * sizeof(T));
  const T* from = g.as<const T>();
  T* to = out.as<T>();
  const int64_t group = rows.independent_rows();
  parallel_for(0, rows.count() / group, grain_for(group * rows.width()), [&](int64_t first, int64_t last) {
    for (int64_t r = first * group; r < last * group; ++r) {
      const int64_t* entries = rows.row(r);
      const int64_t start = rows.start(r);
      for (int64_t j = 0; j < rows.width(); ++j) {
        T& sum = to[start + entries[j] * rows.step() + j * rows.inner()];
        sum = T(sum + from[r * rows.width() + j]);
      }
    }
  });
  return ok_status();
}

// --- cat

Status run_cat(const KernelContext& context) noexcept {
  const TensorArg& out = context.outputs[0];
  const DimSplit whole(out.sizes, out.rank, context.attributes<DimAttrs>().dim);
  const int64_t bytes = static_cast<int64_t>(dtype_size(out.dtype));
  const int64_t out_run = whole.n * whole.inner * bytes;
  int64_t at = 0;  // bytes into each run of the output
  for (const TensorArg& t : context.inputs) {
    if (t.numel == 0) continue;
    const int64_t run = t.numel / whole.outer * bytes;
    char* to = out.as<char>() + at;
    const char* from = t.as<const char>();
    // Split by byte, so that one long run is shared, too.
    parallel_for(0, whole.outer * run, 256 << 10, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last;) {
        const int64_t column = i % run, n = std::min(run - column, last - i);
        std::memcpy(to + i / run * out_run + column, from + i, static_cast<size_t>(n));
        i += n;
      }
    });
    at += run;
  }
  return ok_status();
}

// --- as_strided_backward

// Sequential: elements may overlap.
template <typename T>
Status run_as_strided_backward(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<AsStridedBackwardAttrs>();
  const TensorArg &g = context.inputs[0], &out = context.outputs[0];
  if (out.numel > 0) std::memset(out.data, 0, static_cast<size_t>(out.numel) * sizeof(T));
  const T* from = g.as<const T>();
  T* to = out.as<T>();
  const int rank = attrs.size.size();
  int64_t index[kMaxRank] = {}, at = attrs.offset;
  for (int64_t i = 0; i < g.numel; ++i) {
    to[at] = T(to[at] + from[i]);
    for (int d = rank - 1; d >= 0; --d) {
      at += attrs.stride[d];
      if (++index[d] < attrs.size[d]) break;
      at -= attrs.size[d] * attrs.stride[d];
      index[d] = 0;
    }
  }
  return ok_status();
}

template <typename... Ts>
constexpr auto backward_entries() {
  return std::array{
      KernelEntry{"gather_backward", dtype_of<Ts>, run_gather_backward<Ts>, nullptr, nullptr, true}...,
      KernelEntry{"as_strided_backward", dtype_of<Ts>, run_as_strided_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = join(std::array{KernelEntry{"gather", kAllDTypes, run_gather, nullptr, nullptr, true},
                                          KernelEntry{"cat", kAllDTypes, run_cat, nullptr, nullptr, true}},
                               backward_entries<float16, bfloat16, float, double, complex64, complex128>());

}  // namespace

std::span<const KernelEntry> indexing_kernels() { return kEntries; }

}  // namespace vellum::cpu
