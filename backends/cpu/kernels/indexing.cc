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

// Bound by loads and stores at computed places: nothing to vectorise, so this family is compiled once.

namespace vellum::cpu {
namespace {

// --- gather

// One row of the index: to[j] = from[entries[j] * step + j * inner]. False where an entry is out of range.
template <typename T>
bool gather_row(T* to, const T* from, const int64_t* entries, const IndexRows& rows) {
  const int64_t width = rows.width(), step = rows.step(), inner = rows.inner();
  const uint64_t size = static_cast<uint64_t>(rows.size());
  int64_t j = 0;
  if (step == 1 && inner == 0) {  // along the last dimension: one branch for eight entries
    for (; j + 8 <= width; j += 8) {
      bool bad = false;
      for (int k = 0; k < 8; ++k) bad |= static_cast<uint64_t>(entries[j + k]) >= size;
      if (bad) return false;
      for (int k = 0; k < 8; ++k) to[j + k] = from[entries[j + k]];
    }
  }
  for (; j < width; ++j) {
    if (static_cast<uint64_t>(entries[j]) >= size) return false;
    to[j] = from[entries[j] * step + j * inner];
  }
  return true;
}

template <typename T>
Status gather_as(const KernelContext& context) {
  const TensorArg &x = context.inputs[0], &index = context.inputs[1];
  const IndexRows rows(index, x.sizes, x.rank, context.attributes<DimAttrs>().dim);
  const T* from = x.as<const T>();
  T* out = context.outputs[0].as<T>();
  std::atomic<bool> bad{false};
  parallel_for(0, rows.count(), grain_for(rows.width()), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      if (!gather_row(out + r * rows.width(), from + rows.start(r), rows.row(r), rows))
        return bad.store(true, std::memory_order_relaxed);
  });
  return bad.load(std::memory_order_relaxed) ? kBadIndex : ok_status();
}

Status run_gather(const KernelContext& context) noexcept {
  return for_width(context.inputs[0].dtype, [&]<typename T>(T) { return gather_as<T>(context); });
}

// --- cat

Status run_cat(const KernelContext& context) noexcept {
  const TensorArg& out = context.outputs[0];
  if (out.numel == 0) return ok_status();
  const int dim = context.attributes<DimAttrs>().dim;
  const DimSplit whole(out.sizes, out.rank, dim);
  const int64_t unit = whole.inner * static_cast<int64_t>(dtype_size(out.dtype)), out_run = whole.n * unit;
  if (whole.outer == 1) {
    char* to = out.as<char>();
    for (const TensorArg& t : context.inputs) {
      const int64_t bytes = t.numel * static_cast<int64_t>(dtype_size(t.dtype));
      copy_bytes(to, t.data, bytes);
      to += bytes;
    }
    return ok_status();
  }
  parallel_for(0, whole.outer, std::max<int64_t>(1, kCopyGrain / out_run), [&](int64_t first, int64_t last) {
    constexpr size_t kTogether = 16;  // inputs
    Run runs[kTogether];
    char* to = out.as<char>() + first * out_run;
    for (size_t i = 0; i < context.inputs.size(); i += kTogether) {
      int count = 0;
      int64_t bytes = 0;
      for (const TensorArg& t : context.inputs.subspan(i, std::min(kTogether, context.inputs.size() - i))) {
        if (t.numel == 0) continue;
        const int64_t run = t.sizes[dim] * unit;
        runs[count++] = {t.as<const char>() + first * run, run};
        bytes += run;
      }
      interleave_runs(to, out_run, runs, count, last - first);
      to += bytes;
    }
  });
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
      KernelEntry{"as_strided_backward", dtype_of<Ts>, run_as_strided_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = join(std::array{KernelEntry{"gather", kAllDTypes, run_gather, nullptr, nullptr, true},
                                          KernelEntry{"cat", kAllDTypes, run_cat, nullptr, nullptr, true}},
                               backward_entries<float16, bfloat16, float, double, complex64, complex128>());

}  // namespace

std::span<const KernelEntry> indexing_kernels() { return kEntries; }

}  // namespace vellum::cpu
