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

// A fold is an object with the types Element (in memory), Work (of the arithmetic), Lane (a real part of it), Partial
// (in which a column is accumulated over a few rows), Total (what blocks are combined in) and Out, kParts (2 where the
// real and the imaginary part are folded apart), and
//   Total identity(), Total combine(Total, Total), Out finish(parts, count);
//   void fold_row(x, n, parts): n Lanes, Lane j into part j % kParts;
//   either Partial lane_identity() and Partial fold(Partial, Lane),
//   or void fold_columns(row_at, rows, n, totals): `rows` rows of n Lanes each, row_at(k) is row k until the next call.
// Results do not depend on the number of threads: how elements are grouped follows from the shape alone.
inline constexpr int64_t kReduceGrain = 32768;   // elements that are not worth a second thread
inline constexpr int64_t kFoldBlock = 1024;      // elements that are folded before they meet the total
inline constexpr int64_t kMaxChunks = 256;       // of the elements of one output
inline constexpr int64_t kColumns = 256;         // that are folded side by side
inline constexpr int64_t kMaxColumnChunks = 16;  // of the rows of one block of columns
inline constexpr int64_t kRowsPerFlush = 64;     // rows that are folded before they meet the totals

template <typename T>
using WorkOf = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                  std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

template <typename W>
struct LaneOf {
  using type = W;
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
HWY_INLINE void clear(const Fold& f, typename Fold::Total* parts, int64_t n) {
  std::fill_n(parts, n, f.identity());
}

// Whether elements beside each other are folded where they are.
template <typename Fold>
inline constexpr bool kInPlace = sizeof(typename Fold::Element) == sizeof(typename Fold::Work);

// How many elements are folded at once. A fold that keeps none of them on its stack may say more, for rows in place.
template <typename Fold>
constexpr int64_t longest_row(int64_t stride) {
  if constexpr (requires { Fold::kLongestRow; })
    if (kInPlace<Fold> && stride == sizeof(typename Fold::Element)) return Fold::kLongestRow;
  return kFoldBlock;
}

// Folds positions [first, last) of `folded` into the parts.
template <typename Fold>
void fold_range(const Fold& f, const char* from, const Walk& folded, int64_t first, int64_t last,
                typename Fold::Total* parts) {
  typename Fold::Work buffer[kFoldBlock];
  const int64_t width = folded.ndim > 0 ? folded.sizes[folded.ndim - 1] : 1;
  const int64_t stride = folded.ndim > 0 ? folded.in[folded.ndim - 1] : int64_t{sizeof(typename Fold::Element)};
  const int64_t most = longest_row<Fold>(stride);
  typename Fold::Total block[Fold::kParts];
  int64_t folds = 0;  // into `block`, so that short rows do not pile up in the parts one by one
  clear(f, block, Fold::kParts);
  for (int64_t at = first; at < last;) {
    const int64_t n = std::min({width - at % width, last - at, most});
    const auto* row = load_row<Fold>(from + folded.in_offset(at), stride, n, buffer);
    f.fold_row(row, n * Fold::kParts, block);
    at += n;
    if (++folds % kRowsPerFlush != 0 && at < last) continue;
    for (int j = 0; j < Fold::kParts; ++j) parts[j] = f.combine(parts[j], block[j]);
    clear(f, block, Fold::kParts);
  }
}

// All of one output.
template <typename Fold>
void fold_output(const Fold& f, const char* from, const Walk& folded, typename Fold::Total* parts) {
  constexpr int kParts = Fold::kParts;
  clear(f, parts, kParts);
  if (folded.count <= kReduceGrain) return fold_range(f, from, folded, 0, folded.count, parts);
  const int64_t chunk = std::max(kReduceGrain, (folded.count + kMaxChunks - 1) / kMaxChunks);
  const int64_t chunks = (folded.count + chunk - 1) / chunk;
  typename Fold::Total partial[kMaxChunks][kParts];
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t c = first; c < last; ++c) {
      clear(f, partial[c], kParts);
      fold_range(f, from, folded, c * chunk, std::min(folded.count, (c + 1) * chunk), partial[c]);
    }
  });
  for (int64_t c = 0; c < chunks; ++c)
    for (int j = 0; j < kParts; ++j) parts[j] = f.combine(parts[j], partial[c][j]);
}

// Whether all of an output is folded at once and in place.
template <typename Fold>
bool is_short_row(const Walk& folded) {
  return kInPlace<Fold> && folded.ndim == 1 && folded.in[0] == sizeof(typename Fold::Element) &&
         folded.count <= longest_row<Fold>(folded.in[0]);
}

template <typename Fold>
void reduce_rows(const Fold& f, const LoopPlan& plan, const ReducePlan& p) {
  const int64_t outputs = p.kept.count, count = p.folded.count;
  const bool short_rows = is_short_row<Fold>(p.folded);
  const auto run = [&](int64_t first, int64_t last) HWY_ATTR {
    typename Fold::Total parts[Fold::kParts];
    for (int64_t i = first; i < last; ++i) {
      const char* from = static_cast<const char*>(plan.data[1]) + p.kept.in_offset(i);
      if (short_rows) {
        clear(f, parts, Fold::kParts);
        f.fold_row(reinterpret_cast<const typename Fold::Lane*>(from), count * Fold::kParts, parts);
      } else {
        fold_output(f, from, p.folded, parts);
      }
      const typename Fold::Out value = f.finish(parts, count);
      std::memcpy(static_cast<char*>(plan.data[0]) + p.kept.out_offset(i), static_cast<const void*>(&value),
                  sizeof(value));
    }
  };
  // Few outputs of many elements: threads share each.
  if (outputs < 16 && count > kReduceGrain) return run(0, outputs);
  parallel_for(0, outputs, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, count)), run);
}

// Folds a few rows of n Lanes into n totals.
template <typename Fold, typename RowAt>
HWY_INLINE void fold_few_rows(const Fold& f, const RowAt& row_at, int64_t rows, int64_t n,
                              typename Fold::Total* totals) {
  if constexpr (requires { f.fold_columns(row_at, rows, n, totals); }) {
    f.fold_columns(row_at, rows, n, totals);
  } else {
    typename Fold::Partial lanes[kColumns * Fold::kParts];
    std::fill_n(lanes, n, f.lane_identity());
    int64_t k = 0;
    // Rows in place are read four at a time, which loads and stores the lanes a quarter as often.
    if constexpr (kInPlace<Fold>) {
      for (; k + 4 <= rows; k += 4) {
        const typename Fold::Lane *a = row_at(k), *b = row_at(k + 1), *c = row_at(k + 2), *d = row_at(k + 3);
        VELLUM_INDEPENDENT
        for (int64_t j = 0; j < n; ++j) lanes[j] = f.fold(f.fold(f.fold(f.fold(lanes[j], a[j]), b[j]), c[j]), d[j]);
      }
    }
    for (; k < rows; ++k) {
      const typename Fold::Lane* x = row_at(k);
      VELLUM_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) lanes[j] = f.fold(lanes[j], x[j]);
    }
    for (int64_t j = 0; j < n; ++j) totals[j] = f.combine(totals[j], lanes[j]);
  }
}

// Folds rows [first, last), `width` elements each, into width * kParts totals.
template <typename Fold>
void fold_column_rows(const Fold& f, const char* from, const Walk& folded, int64_t first, int64_t last, int64_t width,
                      typename Fold::Total* totals) {
  typename Fold::Work buffer[kColumns];
  for (int64_t row = first; row < last; row += kRowsPerFlush) {
    const auto row_at = [&](int64_t k) HWY_ATTR {
      return load_row<Fold>(from + folded.in_offset(row + k), sizeof(typename Fold::Element), width, buffer);
    };
    fold_few_rows(f, row_at, std::min(kRowsPerFlush, last - row), width * Fold::kParts, totals);
  }
}

// One block of columns.
template <typename Fold>
void reduce_column_block(const Fold& f, const char* from, char* to, const Walk& folded, int64_t width) {
  using Total = typename Fold::Total;
  const int64_t n = width * Fold::kParts;
  Total totals[kMaxColumnChunks][kColumns * Fold::kParts];
  const int64_t least = std::max<int64_t>(kRowsPerFlush, kReduceGrain / width);
  const int64_t chunk = std::max(least, (folded.count + kMaxColumnChunks - 1) / kMaxColumnChunks);
  const int64_t chunks = std::max<int64_t>(1, (folded.count + chunk - 1) / chunk);
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t c = first; c < last; ++c) {
      clear(f, totals[c], n);
      fold_column_rows(f, from, folded, c * chunk, std::min(folded.count, (c + 1) * chunk), width, totals[c]);
    }
  });
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t j = 0; j < n; ++j) totals[0][j] = f.combine(totals[0][j], totals[c][j]);
  auto* out = reinterpret_cast<typename Fold::Out*>(to);
  for (int64_t j = 0; j < width; ++j) out[j] = f.finish(&totals[0][j * Fold::kParts], folded.count);
}

template <typename Fold>
void reduce_columns(const Fold& f, const LoopPlan& plan, const ReducePlan& p) {
  constexpr int64_t kIn = sizeof(typename Fold::Element), kOut = sizeof(typename Fold::Out);
  const int64_t blocks = (p.columns + kColumns - 1) / kColumns, tasks = p.kept.count * blocks;
  const auto run = [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % blocks * kColumns, kept = i / blocks;
      reduce_column_block(f, static_cast<const char*>(plan.data[1]) + p.kept.in_offset(kept) + column * kIn,
                          static_cast<char*>(plan.data[0]) + p.kept.out_offset(kept) + column * kOut, p.folded,
                          std::min(kColumns, p.columns - column));
    }
  };
  const int64_t work = p.folded.count * std::min(kColumns, p.columns);
  if (tasks < 16 && work > kReduceGrain) return run(0, tasks);
  parallel_for(0, tasks, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, work)), run);
}

template <typename Fold>
Status run_reduction(const KernelContext& context, const Fold& f) noexcept {
  const LoopPlan& plan = *context.loop;
  const ReducePlan p = make_reduce_plan(plan, sizeof(typename Fold::Element), sizeof(typename Fold::Out));
  if (p.columns > 0)
    reduce_columns(f, plan, p);
  else if (p.kept.count > 0)
    reduce_rows(f, plan, p);
  return ok_status();
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
