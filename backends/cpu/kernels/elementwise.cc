#include "vellum/backends/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cstring>

#include "vellum/backends/cpu/parallel.h"

namespace vellum::cpu {
namespace {

constexpr int kOperands = 1 + kMaxElementInputs;
constexpr int64_t kBlock = 256;           // elements of a buffer
constexpr int64_t kMaxElementBytes = 16;  // complex128
constexpr int64_t kShortRow = 64;         // rows below this many elements are worked on several at a time

struct Bytes16 {
  uint64_t halves[2];
};

// Two dimensions of one operand; strides in bytes.
struct Patch {
  int64_t rows, columns;
  int64_t row_stride, stride;
};

template <typename T>
void gather_as(const Patch& p, const char* from, char* to) {
  T* target = reinterpret_cast<T*>(to);
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t i = 0; i < p.columns; ++i) std::memcpy(target++, from + r * p.row_stride + i * p.stride, sizeof(T));
}

template <typename T>
void scatter_as(const Patch& p, const char* from, char* to) {
  const T* source = reinterpret_cast<const T*>(from);
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t i = 0; i < p.columns; ++i) std::memcpy(to + r * p.row_stride + i * p.stride, source++, sizeof(T));
}

void gather(int64_t bytes, const Patch& p, const char* from, char* to) {
  switch (bytes) {
    case 1:
      return gather_as<uint8_t>(p, from, to);
    case 2:
      return gather_as<uint16_t>(p, from, to);
    case 4:
      return gather_as<uint32_t>(p, from, to);
    case 8:
      return gather_as<uint64_t>(p, from, to);
    default:
      return gather_as<Bytes16>(p, from, to);
  }
}

void scatter(int64_t bytes, const Patch& p, const char* from, char* to) {
  switch (bytes) {
    case 1:
      return scatter_as<uint8_t>(p, from, to);
    case 2:
      return scatter_as<uint16_t>(p, from, to);
    case 4:
      return scatter_as<uint32_t>(p, from, to);
    case 8:
      return scatter_as<uint64_t>(p, from, to);
    default:
      return scatter_as<Bytes16>(p, from, to);
  }
}

// Runs the block over the two innermost dimensions: where all operands are arrays or single values in place, else by
// way of buffers.
class Tile {
 public:
  Tile(const ElementLoop& loop, const LoopPlan& plan) : loop_(loop) {
    const int inner = plan.ndim - 1;
    for (int k = 0; k <= loop.inputs; ++k) {
      stride_[k] = inner >= 0 ? plan.strides[k][inner] : 0;
      row_stride_[k] = inner > 0 ? plan.strides[k][inner - 1] : 0;
    }
  }

  // `rows` rows of n elements that begin at data; they fit into a buffer if there are several.
  void run(char* const* data, int64_t rows, int64_t n) const {
    const void* in[kMaxElementInputs];
    unsigned single = 0;
    bool direct = is_array(0, rows, n);
    for (int k = 1; k <= loop_.inputs; ++k) {
      in[k - 1] = data[k];
      const bool is_single = stride_[k] == 0 && (rows == 1 || row_stride_[k] == 0) && !converts(k);
      if (is_single) single |= 1u << (k - 1);
      direct = direct && (is_single || is_array(k, rows, n));
    }
    // The block wants at least one array: the first input is spread.
    if (loop_.inputs > 0 && single == (1u << loop_.inputs) - 1 && rows * n > 1) {
      single &= ~1u;
      direct = false;
    }
    if (direct) return loop_.block(loop_.op, data[0], in, rows * n, single);
    if (rows > 1) return run_buffered(data, rows, n, single);
    char* at[kOperands];
    for (int64_t i = 0; i < n; i += kBlock) {
      for (int k = 0; k <= loop_.inputs; ++k) at[k] = data[k] + i * stride_[k];
      run_buffered(at, 1, std::min(kBlock, n - i), single);
    }
  }

 private:
  bool converts(int k) const { return k == 0 ? loop_.store != nullptr : loop_.load[k - 1] != nullptr; }

  bool is_array(int k, int64_t rows, int64_t n) const {
    const int64_t bytes = loop_.memory_bytes[k];
    if (converts(k) || bytes != loop_.work_bytes[k]) return false;
    return (n == 1 || stride_[k] == bytes) && (rows == 1 || row_stride_[k] == n * bytes);
  }

  // Input k as an array, in place where it is one.
  const void* array(int k, char* data, int64_t rows, int64_t n, char* buffer) const {
    if (is_array(k, rows, n)) return data;
    if (const ConvertIn load = loop_.load[k - 1]) {
      for (int64_t r = 0; r < rows; ++r)
        load(data + r * row_stride_[k], stride_[k], buffer + r * n * loop_.work_bytes[k], n);
    } else {
      gather(loop_.memory_bytes[k], {rows, n, row_stride_[k], stride_[k]}, data, buffer);
    }
    return buffer;
  }

  void run_buffered(char* const* data, int64_t rows, int64_t n, unsigned single) const {
    alignas(64) char buffers[kOperands][kBlock * kMaxElementBytes];
    const void* in[kMaxElementInputs];
    for (int k = 1; k <= loop_.inputs; ++k)
      in[k - 1] = single >> (k - 1) & 1 ? data[k] : array(k, data[k], rows, n, buffers[k]);
    if (is_array(0, rows, n)) return loop_.block(loop_.op, data[0], in, rows * n, single);
    loop_.block(loop_.op, buffers[0], in, rows * n, single);
    if (!loop_.store) return scatter(loop_.memory_bytes[0], {rows, n, row_stride_[0], stride_[0]}, buffers[0], data[0]);
    for (int64_t r = 0; r < rows; ++r)
      loop_.store(buffers[0] + r * n * loop_.work_bytes[0], data[0] + r * row_stride_[0], stride_[0], n);
  }

  const ElementLoop& loop_;
  int64_t stride_[kOperands], row_stride_[kOperands];
};

// Where each operand lies at a position of the row-major index space.
class Position {
 public:
  Position(const LoopPlan& plan, int operands, int64_t index) : plan_(plan), operands_(operands) {
    for (int k = 0; k < operands; ++k) data_[k] = static_cast<char*>(plan.data[k]);
    for (int d = plan.ndim - 1; d >= 0; --d) {
      index_[d] = index % plan.sizes[d];
      index /= plan.sizes[d];
      move(d, index_[d]);
    }
  }

  char* const* data() const { return data_; }
  int64_t index(int d) const { return index_[d]; }

  // Goes `count` along dimension d, at most to its end; there it carries into the outer dimensions.
  void advance(int d, int64_t count) {
    for (; d >= 0; --d, count = 1) {
      index_[d] += count;
      move(d, count);
      if (index_[d] < plan_.sizes[d]) return;
      move(d, -index_[d]);
      index_[d] = 0;
    }
  }

 private:
  void move(int d, int64_t count) {
    for (int k = 0; k < operands_; ++k) data_[k] += count * plan_.strides[k][d];
  }

  const LoopPlan& plan_;
  int operands_;
  int64_t index_[kMaxRank];
  char* data_[kOperands];
};

// Elements [first, last), row by row.
void run_rows(const Tile& tile, const LoopPlan& plan, int operands, int64_t first, int64_t last) {
  const int inner = plan.ndim - 1;
  Position at(plan, operands, first);
  for (int64_t i = first; i < last;) {
    const int64_t n = inner < 0 ? 1 : std::min(plan.sizes[inner] - at.index(inner), last - i);
    tile.run(at.data(), 1, n);
    at.advance(inner, n);
    i += n;
  }
}

// Rows [first, last), several at a time.
void run_short_rows(const Tile& tile, const LoopPlan& plan, int operands, int64_t first, int64_t last) {
  const int outer = plan.ndim - 2;
  const int64_t width = plan.sizes[outer + 1];
  Position at(plan, operands, first * width);
  for (int64_t i = first; i < last;) {
    const int64_t rows = std::min({kBlock / width, plan.sizes[outer] - at.index(outer), last - i});
    tile.run(at.data(), rows, width);
    at.advance(outer, rows);
    i += rows;
  }
}

}  // namespace

void run_elements(const ElementLoop& loop, const LoopPlan& plan) noexcept {
  if (plan.numel == 0) return;
  const int operands = 1 + loop.inputs;
  const Tile tile(loop, plan);
  const int64_t width = plan.ndim > 1 ? plan.sizes[plan.ndim - 1] : kShortRow;
  if (width < kShortRow) {
    parallel_for(0, plan.numel / width, kElementGrain / width,
                 [&](int64_t first, int64_t last) { run_short_rows(tile, plan, operands, first, last); });
  } else {
    parallel_for(0, plan.numel, kElementGrain,
                 [&](int64_t first, int64_t last) { run_rows(tile, plan, operands, first, last); });
  }
}

}  // namespace vellum::cpu
