// Per-target (included once per instruction set): reductions from folds.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_REDUCE_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_REDUCE_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_REDUCE_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/half-inl.h"
#include "vellum/backends/cpu/kernels/lanes-inl.h"
#include "vellum/backends/cpu/kernels/reduce_plan.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// A fold is a struct with the types Element (in memory), Work (of the arithmetic), Lane (a real part of it) and Total
// (what blocks are combined in), kParts (2 for complex), lane_identity(), identity(), fold(), combine(), fold_row() and
// finish(). Results do not depend on the number of threads: how elements are grouped follows from the shape alone.
inline constexpr int64_t kReduceGrain = 32768;   // elements that are not worth a second thread
inline constexpr int64_t kFoldBlock = 1024;      // elements that are folded before they meet the total
inline constexpr int64_t kMaxChunks = 256;       // of the elements of one output
inline constexpr int64_t kColumns = 256;         // that are folded side by side
inline constexpr int64_t kMaxColumnChunks = 16;  // of the rows of one block of columns
inline constexpr int64_t kRowsPerFlush = 64;     // rows that are folded before they meet the totals

template <typename T>
using WorkOf = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                  std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

// int64 sums wrap.
template <typename W>
struct LaneOf {
  using type = std::conditional_t<std::is_same_v<W, int64_t>, uint64_t, W>;
};
template <typename R>
struct LaneOf<std::complex<R>> {
  using type = R;
};

// n elements at a stride in bytes as an array: in place, or gathered into the buffer.
template <typename Fold>
HWY_INLINE const typename Fold::Lane* load_row(const char* from, int64_t stride, int64_t n,
                                               typename Fold::Work* buffer) {
  using Element = typename Fold::Element;
  using Work = typename Fold::Work;
  using Lane = typename Fold::Lane;
  if constexpr (std::is_same_v<Work, float> && sizeof(Element) == 2) {
    load_half<Element>(from, stride, buffer, n);
  } else {
    if (stride == sizeof(Element)) return reinterpret_cast<const Lane*>(from);
    for (int64_t i = 0; i < n; ++i) std::memcpy(static_cast<void*>(&buffer[i]), from + i * stride, sizeof(Work));
  }
  return reinterpret_cast<const Lane*>(buffer);
}

template <typename Fold>
HWY_INLINE void clear(typename Fold::Total* parts, int64_t n) {
  std::fill_n(parts, n, Fold::identity());
}

// Folds positions [first, last) of `folded` into the parts.
template <typename Fold>
void fold_range(const char* from, const Walk& folded, int64_t first, int64_t last, typename Fold::Total* parts) {
  typename Fold::Work buffer[kFoldBlock];
  const int64_t width = folded.ndim > 0 ? folded.sizes[folded.ndim - 1] : 1;
  const int64_t stride = folded.ndim > 0 ? folded.in[folded.ndim - 1] : int64_t{sizeof(typename Fold::Element)};
  typename Fold::Total block[Fold::kParts];
  int64_t folds = 0;  // into `block`, so that short rows do not pile up in the parts one by one
  clear<Fold>(block, Fold::kParts);
  for (int64_t at = first; at < last;) {
    const int64_t n = std::min({width - at % width, last - at, kFoldBlock});
    const auto* row = load_row<Fold>(from + folded.in_offset(at), stride, n, buffer);
    Fold::fold_row(row, n * Fold::kParts, block);
    at += n;
    if (++folds % kRowsPerFlush != 0 && at < last) continue;
    for (int j = 0; j < Fold::kParts; ++j) parts[j] = Fold::combine(parts[j], block[j]);
    clear<Fold>(block, Fold::kParts);
  }
}

// All of one output.
template <typename Fold>
void fold_output(const char* from, const Walk& folded, typename Fold::Total* parts) {
  constexpr int kParts = Fold::kParts;
  constexpr bool kInPlace = sizeof(typename Fold::Element) == sizeof(typename Fold::Work);
  clear<Fold>(parts, kParts);
  if (kInPlace && folded.ndim == 1 && folded.count <= kFoldBlock && folded.in[0] == sizeof(typename Fold::Element))
    return Fold::fold_row(reinterpret_cast<const typename Fold::Lane*>(from), folded.count * kParts, parts);
  if (folded.count <= kReduceGrain) return fold_range<Fold>(from, folded, 0, folded.count, parts);
  const int64_t chunk = std::max(kReduceGrain, (folded.count + kMaxChunks - 1) / kMaxChunks);
  const int64_t chunks = (folded.count + chunk - 1) / chunk;
  typename Fold::Total partial[kMaxChunks][kParts];
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t c = first; c < last; ++c) {
      clear<Fold>(partial[c], kParts);
      fold_range<Fold>(from, folded, c * chunk, std::min(folded.count, (c + 1) * chunk), partial[c]);
    }
  });
  for (int64_t c = 0; c < chunks; ++c)
    for (int j = 0; j < kParts; ++j) parts[j] = Fold::combine(parts[j], partial[c][j]);
}

template <typename Fold>
void reduce_rows(const LoopPlan& plan, const ReducePlan& p) {
  const int64_t outputs = p.kept.count, count = p.folded.count;
  const auto run = [&](int64_t first, int64_t last) HWY_ATTR {
    typename Fold::Total parts[Fold::kParts];
    for (int64_t i = first; i < last; ++i) {
      fold_output<Fold>(static_cast<const char*>(plan.data[1]) + p.kept.in_offset(i), p.folded, parts);
      const auto value = Fold::finish(parts, count);
      std::memcpy(static_cast<char*>(plan.data[0]) + p.kept.out_offset(i), static_cast<const void*>(&value),
                  sizeof(value));
    }
  };
  // Few outputs of many elements: threads share each.
  if (outputs < 16 && count > kReduceGrain) return run(0, outputs);
  parallel_for(0, outputs, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, count)), run);
}

// Folds rows [first, last), `width` elements each, into width * kParts totals.
template <typename Fold>
void fold_column_rows(const char* from, const Walk& folded, int64_t first, int64_t last, int64_t width,
                      typename Fold::Total* totals) {
  using Lane = typename Fold::Lane;
  typename Fold::Work buffer[kColumns];
  Lane lanes[kColumns * Fold::kParts];
  const int64_t n = width * Fold::kParts;
  for (int64_t row = first; row < last;) {
    const int64_t end = std::min(last, row + kRowsPerFlush);
    std::fill_n(lanes, n, Fold::lane_identity());
    for (; row < end; ++row) {
      const Lane* x = load_row<Fold>(from + folded.in_offset(row), sizeof(typename Fold::Element), width, buffer);
      VELLUM_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) lanes[j] = Fold::fold(lanes[j], x[j]);
    }
    for (int64_t j = 0; j < n; ++j) totals[j] = Fold::combine(totals[j], lanes[j]);
  }
}

// One block of columns.
template <typename Fold>
void reduce_column_block(const char* from, char* to, const Walk& folded, int64_t width) {
  using Total = typename Fold::Total;
  const int64_t n = width * Fold::kParts;
  Total totals[kMaxColumnChunks][kColumns * Fold::kParts];
  const int64_t least = std::max<int64_t>(kRowsPerFlush, kReduceGrain / width);
  const int64_t chunk = std::max(least, (folded.count + kMaxColumnChunks - 1) / kMaxColumnChunks);
  const int64_t chunks = std::max<int64_t>(1, (folded.count + chunk - 1) / chunk);
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t c = first; c < last; ++c) {
      clear<Fold>(totals[c], n);
      fold_column_rows<Fold>(from, folded, c * chunk, std::min(folded.count, (c + 1) * chunk), width, totals[c]);
    }
  });
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t j = 0; j < n; ++j) totals[0][j] = Fold::combine(totals[0][j], totals[c][j]);
  auto* out = reinterpret_cast<typename Fold::Element*>(to);
  for (int64_t j = 0; j < width; ++j) out[j] = Fold::finish(&totals[0][j * Fold::kParts], folded.count);
}

template <typename Fold>
void reduce_columns(const LoopPlan& plan, const ReducePlan& p) {
  constexpr int64_t kBytes = sizeof(typename Fold::Element);
  const int64_t blocks = (p.columns + kColumns - 1) / kColumns, tasks = p.kept.count * blocks;
  const auto run = [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % blocks * kColumns, kept = i / blocks;
      reduce_column_block<Fold>(static_cast<const char*>(plan.data[1]) + p.kept.in_offset(kept) + column * kBytes,
                                static_cast<char*>(plan.data[0]) + p.kept.out_offset(kept) + column * kBytes, p.folded,
                                std::min(kColumns, p.columns - column));
    }
  };
  const int64_t work = p.folded.count * std::min(kColumns, p.columns);
  if (tasks < 16 && work > kReduceGrain) return run(0, tasks);
  parallel_for(0, tasks, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, work)), run);
}

template <typename Fold>
Status run_reduction(const KernelContext& context) noexcept {
  const LoopPlan& plan = *context.loop;
  const ReducePlan p = make_reduce_plan(plan, sizeof(typename Fold::Element));
  if (p.columns > 0)
    reduce_columns<Fold>(plan, p);
  else if (p.kept.count > 0)
    reduce_rows<Fold>(plan, p);
  return ok_status();
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
