#include <cstring>

#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

// Kernels that move elements: bound by memory, so they are not compiled for each instruction set.

namespace vellum::cpu {
namespace {

constexpr int64_t kGrain = 32 << 10;  // elements

// A shape seen as [outer, n, inner] around a dimension.
struct Split {
  int64_t outer = 1, n = 1, inner = 1;
  Split(const int64_t* sizes, int rank, int dim) {
    for (int d = 0; d < rank; ++d) (d < dim ? outer : d == dim ? n : inner) *= sizes[d];
  }
};

// Elements that are only moved, by their size.
struct Wide {
  uint64_t a, b;
};

template <typename F>
void visit_size(DType t, F f) {
  switch (dtype_size(t)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Wide{});
  }
}

// --- cat

Status cat(const KernelContext& c) noexcept {
  const TensorArg& out = c.outputs[0];
  const Split whole(out.sizes, out.rank, c.attributes<DimAttrs>().dim);
  const int64_t bytes = static_cast<int64_t>(dtype_size(out.dtype));
  const int64_t out_run = whole.n * whole.inner * bytes;
  char* start = out.as<char>();
  for (const TensorArg& in : c.inputs) {
    if (in.numel == 0) continue;
    const int64_t run = in.numel / whole.outer * bytes;
    const char* from = in.as<char>();
    for (int64_t o = 0; o < whole.outer; ++o)
      std::memcpy(start + o * out_run, from + o * run, static_cast<size_t>(run));
    start += run;
  }
  return ok_status();
}

// --- gather

// Walks the positions of a row-major index and the matching offsets in a row-major tensor, beside dimension `dim`.
class GatherWalk {
 public:
  GatherWalk(const int64_t* index_sizes, const int64_t* sizes, int rank, int dim) : rank_(rank), sizes_(index_sizes) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; --d) {
      strides_[d] = d == dim ? 0 : step;
      if (d == dim) {
        along_ = step;
        n_ = sizes[d];
      }
      step *= sizes[d];
    }
  }

  int64_t n() const { return n_; }
  int64_t along() const { return along_; }

  // Calls f(position in the index, offset in the tensor without the indexed dimension) over [first, last).
  template <typename F>
  void walk(int64_t first, int64_t last, F f) const {
    int64_t at[kMaxRank];
    int64_t offset = 0, rest = first;
    for (int d = rank_ - 1; d >= 0; --d) {
      at[d] = rest % sizes_[d];
      rest /= sizes_[d];
      offset += at[d] * strides_[d];
    }
    for (int64_t i = first; i < last; ++i) {
      f(i, offset);
      for (int d = rank_ - 1; d >= 0; --d) {
        offset += strides_[d];
        if (++at[d] < sizes_[d]) break;
        offset -= at[d] * strides_[d];
        at[d] = 0;
      }
    }
  }

 private:
  int rank_;
  const int64_t* sizes_;
  int64_t strides_[kMaxRank];
  int64_t along_ = 1, n_ = 1;
};

Status check_indices(const TensorArg& index, int64_t n) {
  const int64_t* at = index.as<int64_t>();
  for (int64_t i = 0; i < index.numel; ++i)
    if (at[i] < 0 || at[i] >= n)
      return {StatusCode::kInvalidArgument, "an index is out of range; indices lie in [0, size of the dimension)"};
  return ok_status();
}

Status gather(const KernelContext& c) noexcept {
  const TensorArg &x = c.inputs[0], &index = c.inputs[1], &out = c.outputs[0];
  const GatherWalk walk(index.sizes, x.sizes, x.rank, c.attributes<DimAttrs>().dim);
  if (const Status status = check_indices(index, walk.n()); !status.ok()) return status;
  visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(0, index.numel, kGrain, [&](int64_t first, int64_t last) {
      const int64_t* at = index.as<int64_t>();
      const T* from = x.as<T>();
      T* to = out.as<T>();
      walk.walk(first, last, [&](int64_t i, int64_t offset) { to[i] = from[offset + at[i] * walk.along()]; });
    });
  });
  return ok_status();
}

template <typename T>
Status gather_backward(const KernelContext& c) noexcept {
  const TensorArg &g = c.inputs[0], &index = c.inputs[1], &out = c.outputs[0];
  const GatherWalk walk(index.sizes, out.sizes, out.rank, c.attributes<GatherBackwardAttrs>().dim);
  if (const Status status = check_indices(index, walk.n()); !status.ok()) return status;
  const int64_t* at = index.as<int64_t>();
  const T* from = g.as<T>();
  T* to = out.as<T>();
  std::fill_n(to, out.numel, T{});
  if (index.numel == 0) return ok_status();
  walk.walk(0, index.numel, [&](int64_t i, int64_t offset) {  // several elements may meet: one thread
    T& into = to[offset + at[i] * walk.along()];
    into = T(into + from[i]);
  });
  return ok_status();
}

// --- as_strided_backward

template <typename T>
Status as_strided_backward(const KernelContext& c) noexcept {
  const auto& a = c.attributes<AsStridedBackwardAttrs>();
  const TensorArg &g = c.inputs[0], &out = c.outputs[0];
  const T* from = g.as<T>();
  T* to = out.as<T>();
  std::fill_n(to, out.numel, T{});
  if (g.numel == 0) return ok_status();
  const int rank = a.size.size();
  const int64_t inner = rank ? a.size[rank - 1] : 1, step = rank ? a.stride[rank - 1] : 0;
  int64_t at[kMaxRank] = {};
  int64_t offset = a.offset;
  for (int64_t done = 0; done < g.numel; done += inner) {
    for (int64_t i = 0; i < inner; ++i) {
      T& into = to[offset + i * step];
      into = T(into + from[done + i]);
    }
    for (int d = rank - 2; d >= 0; --d) {
      offset += a.stride[d];
      if (++at[d] < a.size[d]) break;
      offset -= at[d] * a.stride[d];
      at[d] = 0;
    }
  }
  return ok_status();
}

// --- max along a dimension

template <typename T>
bool is_nan(T x) {
  return x != x;
}

template <typename T>
Status max_with_indices(const KernelContext& c) noexcept {
  const TensorArg& x = c.inputs[0];
  const Split s(x.sizes, x.rank, c.attributes<DimAttrs>().dim);
  T* values = c.outputs[0].as<T>();
  int64_t* indices = c.outputs[1].as<int64_t>();
  parallel_for(0, s.outer * s.inner, std::max<int64_t>(kGrain / std::max<int64_t>(s.n, 1), 1),
               [&](int64_t first, int64_t last) {
                 for (int64_t k = first; k < last; ++k) {
                   const T* column = x.as<T>() + k / s.inner * s.n * s.inner + k % s.inner;
                   int64_t best = 0;
                   T top = column[0];
                   for (int64_t i = 1; i < s.n && !is_nan(top); ++i) {
                     const T v = column[i * s.inner];
                     if (v > top || is_nan(v)) {
                       top = v;
                       best = i;
                     }
                   }
                   values[k] = top;
                   indices[k] = best;
                 }
               });
  return ok_status();
}

template <typename T>
constexpr std::array<KernelEntry, 2> scatter_entries() {
  return {
      KernelEntry{.op = "gather_backward", .dtypes = dtype_of<T>, .run = gather_backward<T>, .contiguous_inputs = true},
      KernelEntry{.op = "as_strided_backward",
                  .dtypes = dtype_of<T>,
                  .run = as_strided_backward<T>,
                  .contiguous_inputs = true}};
}

template <typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> max_entries() {
  return {KernelEntry{.op = "max", .dtypes = dtype_of<Ts>, .run = max_with_indices<Ts>, .contiguous_inputs = true}...};
}

constexpr std::array<KernelEntry, 2> kMoves = {
    KernelEntry{.op = "cat", .dtypes = kAllDTypes, .run = cat, .contiguous_inputs = true},
    KernelEntry{.op = "gather", .dtypes = kAllDTypes, .run = gather, .contiguous_inputs = true}};

constexpr auto kEntries =
    join(kMoves, scatter_entries<float16>(), scatter_entries<bfloat16>(), scatter_entries<float>(),
         scatter_entries<double>(), scatter_entries<complex64>(), scatter_entries<complex128>(),
         max_entries<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>());

}  // namespace

std::span<const KernelEntry> indexing_kernels() { return kEntries; }

}  // namespace vellum::cpu
