#include "vellum/tensor/view_geometry.h"

#include <algorithm>

#include "vellum/device/error.h"

namespace vellum {

bool view_strides(const Dims& shape, const Dims& stride, const Dims& target, Dims* out) {
  if (numel_of(shape) == 0) {
    *out = contiguous_strides(target);
    return true;
  }
  *out = Dims::of_size(target.size());
  int t = target.size() - 1;
  int64_t chunk = 1, placed = 1;  // elements of the run of dimensions that lie together, and how many are used up
  int64_t step = shape.empty() ? 1 : stride.back();
  for (int d = shape.size() - 1; d >= 0; --d) {
    chunk *= shape[d];
    const bool ends = d == 0 || (shape[d - 1] != 1 && stride[d - 1] != chunk * step);
    if (!ends) continue;
    while (t >= 0 && (placed < chunk || target[t] == 1)) {
      (*out)[t] = placed * step;
      placed *= target[t--];
    }
    if (placed != chunk) return false;
    if (d > 0) {
      step = stride[d - 1];
      chunk = placed = 1;
    }
  }
  for (; t >= 0 && target[t] == 1; --t) (*out)[t] = placed * step;
  return t < 0;
}

Dims infer_size(const char* op, const Dims& target, int64_t numel, const Dims& input_shape) {
  Dims shape = target;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && unknown < 0)
      unknown = i;
    else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
      known = -1;
    if (known < 0) break;
  }
  if (unknown >= 0 && known > 0 && numel % known == 0) {
    shape[unknown] = numel / known;
    known = numel;
  }
  if (known != numel || (unknown >= 0 && shape[unknown] < 0))
    throw_error<ShapeError>(op, ": shape ", target, " is invalid for the ", numel, " elements of shape ", input_shape,
                            "; sizes must multiply to that number, one may be -1");
  return shape;
}

void check_geometry(std::string_view op, const ViewGeometry& g, int64_t available) {
  bool fits = g.shape.size() == g.stride.size() && g.offset >= 0;
  int64_t last = g.offset;
  for (int i = 0; fits && i < g.shape.size(); ++i) {
    int64_t span = 0;
    fits = g.stride[i] >= 0 && g.shape[i] >= 0 &&
           !__builtin_mul_overflow(std::max<int64_t>(g.shape[i] - 1, 0), g.stride[i], &span) &&
           !__builtin_add_overflow(last, span, &last);
  }
  if (!fits || (numel_of(g.shape) > 0 && last >= available))
    throw_error<ShapeError>(op, ": size ", g.shape, ", stride ", g.stride, " and offset ", g.offset, " do not lie in ",
                            available, " elements; strides and offset are 0 or more, one stride a size");
}

int64_t reach(const Dims& shape, const Dims& stride) {
  int64_t last = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * stride[i];
  }
  return last + 1;
}

}  // namespace vellum
