#ifndef VELLUM_BACKENDS_CPU_KERNELS_INDEX_ROWS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_INDEX_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "vellum/tensor/kernel.h"

// What kernels that index have in common.

namespace vellum::cpu {

inline constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread
inline constexpr Status kBadIndex{StatusCode::kInvalidArgument,
                                  "index out of range: an entry is outside [0, size of the indexed dimension)"};

inline int64_t grain_for(int64_t elements_each) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements_each));
}

// The rows of an index tensor (its last dimension), and where each begins in the indexed tensor when the indexed
// dimension counts nothing.
class IndexRows {
 public:
  IndexRows(const TensorArg& index, const int64_t* shape, int rank, int dim) : index_(index), dim_(dim), rank_(rank) {
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      stride_[d] = stride;
      stride *= shape[d];
    }
    size_ = rank > 0 ? shape[dim] : 1;
    width_ = rank > 0 ? index.sizes[rank - 1] : 1;
    count_ = width_ > 0 ? index.numel / width_ : 0;
    step_ = rank > 0 ? stride_[dim] : 1;
    inner_ = rank > 0 && dim != rank - 1 ? 1 : 0;
  }

  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  int64_t size() const { return size_; }  // of the indexed dimension
  const int64_t* row(int64_t r) const { return index_.as<const int64_t>() + r * width_; }
  // Where element j of a row with entry `at` lies: start(r) + at * step() + j * inner().
  int64_t step() const { return step_; }
  int64_t inner() const { return inner_; }
  bool is_valid(int64_t at) const { return at >= 0 && at < size_; }
  int64_t start(int64_t r) const {
    int64_t offset = 0;
    for (int d = rank_ - 2; d >= 0; --d) {
      const int64_t i = r % index_.sizes[d];
      r /= index_.sizes[d];
      if (d != dim_) offset += i * stride_[d];
    }
    return offset;
  }
  // Rows from one multiple of this to the next write apart from those of other multiples.
  int64_t independent_rows() const {
    int64_t rows = 1;
    for (int d = std::max(dim_, 0); d < rank_ - 1; ++d) rows *= index_.sizes[d];
    return std::max<int64_t>(rows, 1);
  }

  bool all_valid() const {
    const int64_t* entries = index_.as<const int64_t>();
    return std::all_of(entries, entries + index_.numel, [this](int64_t at) { return is_valid(at); });
  }

 private:
  const TensorArg& index_;
  int dim_, rank_;
  int64_t stride_[kMaxRank];
  int64_t size_, width_, count_, step_, inner_;
};

struct Bytes16 {
  uint64_t halves[2];
};

// Calls f with an unsigned type of an element's size: what only moves bytes is compiled once a size.
template <typename F>
Status for_width(DType dtype, F f) {
  switch (dtype_size(dtype)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_INDEX_ROWS_H_
