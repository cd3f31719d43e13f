#include "vellum/backends/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cstring>

#include "vellum/backends/cpu/parallel.h"

namespace vellum::cpu {
namespace {

constexpr int kOperands = 1 + kMaxElementInputs;
constexpr int64_t kBlock = 256;           // elements of a buffer
constexpr int64_t kMaxElementBytes = 16;  // complex128

template <typename T>
void gather_as(const void* from, int64_t stride, void* to, int64_t n) {
  const char* source = static_cast<const char*>(from);
  T* target = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) std::memcpy(&target[i], source + i * stride, sizeof(T));
}

template <typename T>
void scatter_as(const void* from, void* to, int64_t stride, int64_t n) {
  const T* source = static_cast<const T*>(from);
  char* target = static_cast<char*>(to);
  for (int64_t i = 0; i < n; ++i) std::memcpy(target + i * stride, &source[i], sizeof(T));
}

struct Bytes16 {
  uint64_t halves[2];
};

void gather(int64_t bytes, const void* from, int64_t stride, void* to, int64_t n) {
  switch (bytes) {
    case 1:
      return gather_as<uint8_t>(from, stride, to, n);
    case 2:
      return gather_as<uint16_t>(from, stride, to, n);
    case 4:
      return gather_as<uint32_t>(from, stride, to, n);
    case 8:
      return gather_as<uint64_t>(from, stride, to, n);
    default:
      return gather_as<Bytes16>(from, stride, to, n);
  }
}

void scatter(int64_t bytes, const void* from, void* to, int64_t stride, int64_t n) {
  switch (bytes) {
    case 1:
      return scatter_as<uint8_t>(from, to, stride, n);
    case 2:
      return scatter_as<uint16_t>(from, to, stride, n);
    case 4:
      return scatter_as<uint32_t>(from, to, stride, n);
    case 8:
      return scatter_as<uint64_t>(from, to, stride, n);
    default:
      return scatter_as<Bytes16>(from, to, stride, n);
  }
}

// One innermost dimension, by operand.
class Rows {
 public:
  Rows(const ElementLoop& loop, const LoopPlan& plan) : loop_(loop) {
    const int inner = plan.ndim - 1;
    for (int k = 0; k <= loop.inputs; ++k) stride_[k] = plan.ndim > 0 ? plan.strides[k][inner] : 0;
    direct_ = is_array(0) && !loop.store;
    bool all_single = true;
    for (int k = 1; k <= loop.inputs; ++k) {
      const bool single = stride_[k] == 0 && !loop.load[k - 1];
      if (single) single_ |= 1u << (k - 1);
      all_single = all_single && single;
      direct_ = direct_ && (single || is_array(k));
    }
    // The block wants at least one array: the first input is spread.
    if (all_single && loop.inputs > 0) {
      single_ &= ~1u;
      direct_ = false;
    }
  }

  void run(char* const* data, int64_t n) const {
    if (n == 1 && !loop_.store && !converts()) return run_direct(data, 1);
    if (direct_) return run_direct(data, n);
    for (int64_t i = 0; i < n; i += kBlock) run_buffered(data, i, std::min(kBlock, n - i));
  }

 private:
  bool is_array(int k) const {
    return stride_[k] == loop_.memory_bytes[k] && loop_.memory_bytes[k] == loop_.work_bytes[k] &&
           (k == 0 || !loop_.load[k - 1]);
  }

  bool converts() const {
    for (int k = 0; k < loop_.inputs; ++k)
      if (loop_.load[k]) return true;
    return false;
  }

  void run_direct(char* const* data, int64_t n) const {
    const void* in[kMaxElementInputs];
    for (int k = 0; k < loop_.inputs; ++k) in[k] = data[k + 1];
    loop_.block(loop_.op, data[0], in, n, single_);
  }

  // Input k as an array of count elements, in place where it is one.
  const void* array(int k, const char* data, int64_t count, char* buffer) const {
    if (is_array(k) || (single_ >> (k - 1) & 1)) return data;
    if (const ConvertIn load = loop_.load[k - 1])
      load(data, stride_[k], buffer, count);
    else
      gather(loop_.memory_bytes[k], data, stride_[k], buffer, count);
    return buffer;
  }

  void run_buffered(char* const* data, int64_t at, int64_t count) const {
    alignas(64) char buffers[kOperands][kBlock * kMaxElementBytes];
    const void* in[kMaxElementInputs];
    for (int k = 1; k <= loop_.inputs; ++k) in[k - 1] = array(k, data[k] + at * stride_[k], count, buffers[k]);
    char* out = data[0] + at * stride_[0];
    if (is_array(0) && !loop_.store) return loop_.block(loop_.op, out, in, count, single_);
    loop_.block(loop_.op, buffers[0], in, count, single_);
    if (loop_.store)
      loop_.store(buffers[0], out, stride_[0], count);
    else
      scatter(loop_.memory_bytes[0], buffers[0], out, stride_[0], count);
  }

  const ElementLoop& loop_;
  int64_t stride_[kOperands] = {};
  unsigned single_ = 0;
  bool direct_;
};

// Runs elements [first, last) of the row-major index space.
void run_range(const Rows& rows, const LoopPlan& plan, int operands, int64_t first, int64_t last) {
  const int inner = plan.ndim - 1;
  const int64_t width = plan.ndim > 0 ? plan.sizes[inner] : 1;
  int64_t index[kMaxRank] = {}, column = first % width, rest = first / width;
  char* data[kOperands];
  for (int k = 0; k < operands; ++k)
    data[k] = static_cast<char*>(plan.data[k]) + (inner >= 0 ? column * plan.strides[k][inner] : 0);
  for (int d = inner - 1; d >= 0; --d) {
    index[d] = rest % plan.sizes[d];
    rest /= plan.sizes[d];
    for (int k = 0; k < operands; ++k) data[k] += index[d] * plan.strides[k][d];
  }
  for (int64_t at = first; at < last;) {
    const int64_t n = std::min(width - column, last - at);
    rows.run(data, n);
    at += n;
    for (int k = 0; k < operands && inner >= 0; ++k) data[k] -= column * plan.strides[k][inner];
    column = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < operands; ++k) data[k] += plan.strides[k][d];
      if (++index[d] < plan.sizes[d]) break;
      for (int k = 0; k < operands; ++k) data[k] -= plan.sizes[d] * plan.strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace

void run_elements(const ElementLoop& loop, const LoopPlan& plan) noexcept {
  if (plan.numel == 0) return;
  const Rows rows(loop, plan);
  parallel_for(0, plan.numel, kElementGrain,
               [&](int64_t first, int64_t last) { run_range(rows, plan, 1 + loop.inputs, first, last); });
}

}  // namespace vellum::cpu
