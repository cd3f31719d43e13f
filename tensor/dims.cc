#include "vellum/tensor/dims.h"

#include <ostream>

#include "vellum/device/error.h"

namespace vellum {

void Dims::throw_too_long(size_t count) {
  throw_error<ShapeError>("a tensor has at most ", kMaxRank, " dimensions, ", count,
                          " were given; merge some with view()");
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (int i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << ']';
}

int64_t numel_of(const Dims& shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t n : shape) {
    if (n < 0) throw_error<ShapeError>("shape ", shape, " has a negative size; sizes are 0 or more");
    empty |= n == 0;
    // An empty shape has strides, too.
    if (n > 0 && __builtin_mul_overflow(count, n, &count))
      throw_error<ShapeError>("shape ", shape, " has more elements than 63 bits can count");
  }
  return empty ? 0 : count;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = Dims::of_size(shape.size());
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

int wrap_dim(const char* op, int64_t dim, int rank) {
  const int64_t limit = std::max(rank, 1);
  if (dim < -limit || dim >= limit)
    throw_error<IndexError>(op, ": dimension ", dim, " is out of range; a tensor of rank ", rank, " takes ", -limit,
                            " to ", limit - 1);
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    int64_t& n = out[i + shift];
    if (n == shorter[i] || shorter[i] == 1) continue;
    if (n != 1)
      throw_error<ShapeError>(op, ": shapes ", a, " and ", b, " do not broadcast: sizes ", n, " and ", shorter[i],
                              " differ at dimension ", i + shift, "; make them equal or 1");
    n = shorter[i];
  }
  return out;
}

bool is_broadcastable_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  const int shift = to.size() - from.size();
  for (int i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[i + shift]) return false;
  return true;
}

}  // namespace vellum
