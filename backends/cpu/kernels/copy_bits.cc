#include "vellum/backends/cpu/kernels/copy_bits.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "vellum/backends/cpu/kernels/copy_runs.h"
#include "vellum/backends/cpu/parallel.h"

namespace vellum::cpu {
namespace {

constexpr int64_t kTile = 32;  // elements; a tile of both operands stays in the first-level cache
constexpr int64_t kLine = 64;  // bytes of a cache line

struct Bytes16 {
  uint64_t halves[2];
};

// Two dimensions of a copy; strides in bytes, [0] is the output's.
struct Plane {
  int64_t rows, columns;
  int64_t row_stride[2], column_stride[2];
};

template <typename T>
void copy_tile(const Plane& p, char* to, const char* from, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    char* target = to + r * p.row_stride[0];
    const char* source = from + r * p.row_stride[1];
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(target + c * p.column_stride[0], source + c * p.column_stride[1], sizeof(T));
  }
}

// A tile of a transposition, as wide and high as a cache line. Lines are read and written whole and turned in a buffer
// in between: at strides of a power of two they all compete for the same few places of the cache.
template <typename T>
void transpose_tile(const Plane& p, char* to, const char* from) {
  constexpr int64_t kSide = kLine / sizeof(T);
  T read[kSide][kSide], turned[kSide][kSide];
  for (int64_t c = 0; c < kSide; ++c) std::memcpy(read[c], from + c * p.column_stride[1], kLine);
  for (int64_t r = 0; r < kSide; ++r)
    for (int64_t c = 0; c < kSide; ++c) turned[r][c] = read[c][r];
  for (int64_t r = 0; r < kSide; ++r) std::memcpy(to + r * p.row_stride[0], turned[r], kLine);
}

template <typename T>
void transpose_rows(const Plane& p, char* to, const char* from, int64_t first, int64_t last) {
  constexpr int64_t kSide = kLine / sizeof(T);
  for (int64_t r = first; r < last; r += kSide)
    for (int64_t c = 0; c < p.columns; c += kSide) {
      char* target = to + r * p.row_stride[0] + c * p.column_stride[0];
      const char* source = from + r * p.row_stride[1] + c * p.column_stride[1];
      const int64_t rows = std::min(kSide, last - r), columns = std::min(kSide, p.columns - c);
      if (rows == kSide && columns == kSide)
        transpose_tile<T>(p, target, source);
      else
        copy_tile<T>(p, target, source, rows, columns);
    }
}

template <typename T>
void copy_rows(const Plane& p, char* to, const char* from, int64_t first, int64_t last) {
  constexpr int64_t kBytes = sizeof(T);
  if (p.column_stride[0] == kBytes && p.column_stride[1] == kBytes) {
    for (int64_t r = first; r < last; ++r)
      std::memcpy(to + r * p.row_stride[0], from + r * p.row_stride[1], static_cast<size_t>(p.columns * kBytes));
    return;
  }
  if (p.column_stride[0] == kBytes && p.row_stride[1] == kBytes) return transpose_rows<T>(p, to, from, first, last);
  for (int64_t r = first; r < last; r += kTile)
    for (int64_t c = 0; c < p.columns; c += kTile)
      copy_tile<T>(p, to + r * p.row_stride[0] + c * p.column_stride[0],
                   from + r * p.row_stride[1] + c * p.column_stride[1], std::min(kTile, last - r),
                   std::min(kTile, p.columns - c));
}

// The dimension beside the innermost one that makes up the plane: where the input steps least, if that is not the
// innermost, else the next one out.
int pick_rows(const LoopPlan& plan) {
  const int inner = plan.ndim - 1;
  int best = inner;
  for (int d = 0; d < plan.ndim; ++d) {
    const int64_t step = std::abs(plan.strides[1][d]);
    if (step != 0 && step < std::abs(plan.strides[1][best])) best = d;
  }
  return best == inner ? inner - 1 : best;
}

template <typename T>
void copy_as(const LoopPlan& plan) {
  char* to = static_cast<char*>(plan.data[0]);
  const char* from = static_cast<const char*>(plan.data[1]);
  if (plan.numel == 1) {
    std::memcpy(to, from, sizeof(T));
    return;
  }
  const int inner = plan.ndim - 1, rows = plan.ndim > 1 ? pick_rows(plan) : -1;
  if (rows < 0 && plan.strides[0][0] == sizeof(T) && plan.strides[1][0] == sizeof(T))
    return copy_bytes(to, from, plan.numel * int64_t{sizeof(T)});
  Plane p{rows < 0 ? 1 : plan.sizes[rows], plan.sizes[inner], {0, 0}, {plan.strides[0][inner], plan.strides[1][inner]}};
  if (rows >= 0) p.row_stride[0] = plan.strides[0][rows], p.row_stride[1] = plan.strides[1][rows];
  // Work is split by row, over all planes.
  const int64_t total = plan.numel / std::max<int64_t>(p.columns, 1);
  const int64_t grain = std::max<int64_t>(kCopyGrain / std::max<int64_t>(p.columns * int64_t{sizeof(T)}, 1), 1);
  parallel_for(0, total, grain, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last;) {
      int64_t rest = at / p.rows, offset[2] = {0, 0};
      for (int d = inner - 1; d >= 0; --d) {
        if (d == rows) continue;
        const int64_t index = rest % plan.sizes[d];
        rest /= plan.sizes[d];
        for (int k = 0; k < 2; ++k) offset[k] += index * plan.strides[k][d];
      }
      const int64_t row = at % p.rows, end = std::min(p.rows, row + last - at);
      copy_rows<T>(p, to + offset[0], from + offset[1], row, end);
      at += end - row;
    }
  });
}

}  // namespace

void copy_bits(const LoopPlan& plan, int64_t bytes) noexcept {
  if (plan.numel == 0) return;
  switch (bytes) {
    case 1:
      return copy_as<uint8_t>(plan);
    case 2:
      return copy_as<uint16_t>(plan);
    case 4:
      return copy_as<uint32_t>(plan);
    case 8:
      return copy_as<uint64_t>(plan);
    default:
      return copy_as<Bytes16>(plan);
  }
}

}  // namespace vellum::cpu
