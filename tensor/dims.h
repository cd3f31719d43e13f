#ifndef VELLUM_TENSOR_DIMS_H_
#define VELLUM_TENSOR_DIMS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <vector>

namespace vellum {

inline constexpr int kMaxRank = 8;

// A shape, strides or a list of dimensions: up to kMaxRank numbers without a heap allocation. Trivially copyable.
// Throws ShapeError when given more.
class Dims {
 public:
  constexpr Dims() : size_(0) {}
  Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  Dims(std::span<const int64_t> values) : size_(static_cast<int32_t>(values.size())) {
    if (values.size() > kMaxRank) throw_too_long(values.size());
    std::copy(values.begin(), values.end(), values_);
  }
  // `count` zeros.
  static Dims of_size(int count) {
    Dims dims;
    if (count > kMaxRank) throw_too_long(static_cast<size_t>(count));
    dims.size_ = count;
    return dims;
  }
  static Dims filled(int count, int64_t value) {
    Dims dims = of_size(count);
    std::fill_n(dims.values_, count, value);
    return dims;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t back() const { return values_[size_ - 1]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  const int64_t* data() const { return values_; }

  void push_back(int64_t value) {
    if (size_ == kMaxRank) throw_too_long(kMaxRank + 1);
    values_[size_++] = value;
  }
  void insert(int position, int64_t value) {
    push_back(value);
    std::rotate(begin() + position, end() - 1, end());
  }
  void erase(int position) {
    std::copy(begin() + position + 1, end(), begin() + position);
    --size_;
  }

  friend bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  [[noreturn]] static void throw_too_long(size_t count);

  int32_t size_;
  int64_t values_[kMaxRank] = {};
};

std::ostream& operator<<(std::ostream& out, const Dims& dims);  // [2, 3]

// Number of elements. Throws ShapeError on a negative size or when the product does not fit 63 bits.
int64_t numel_of(const Dims& shape);
// Row-major strides, in elements.
Dims contiguous_strides(const Dims& shape);
// Maps a dimension from [-rank, rank) to [0, rank); a scalar counts as rank 1. Throws IndexError naming `op`.
int wrap_dim(const char* op, int64_t dim, int rank);
// NumPy broadcasting of two shapes. Throws ShapeError naming `op` and both shapes.
Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);
bool is_broadcastable_to(const Dims& from, const Dims& to);

}  // namespace vellum

#endif  // VELLUM_TENSOR_DIMS_H_
