#ifndef VELLUM_TENSOR_VIEW_GEOMETRY_H_
#define VELLUM_TENSOR_VIEW_GEOMETRY_H_

#include <cstdint>
#include <string_view>

#include "vellum/tensor/dims.h"

namespace vellum {

// How a view lies in its input: shape, strides and the offset of its first element from the input's, in elements.
struct ViewGeometry {
  Dims shape, stride;
  int64_t offset;
};

// The strides under which a tensor can be seen with another shape of as many elements; false when it would need a copy.
bool view_strides(const Dims& shape, const Dims& stride, const Dims& target, Dims* out);

// Replaces one size of -1 by what remains of `numel`. Throws ShapeError naming `op` and the input's shape.
Dims infer_size(const char* op, const Dims& target, int64_t numel, const Dims& input_shape);

// Throws ShapeError naming `op` unless the geometry lies within `available` elements from the start: one stride a size,
// nothing negative.
void check_geometry(std::string_view op, const ViewGeometry& geometry, int64_t available);

// How many elements lie between the first and one past the last that a geometry touches.
int64_t reach(const Dims& shape, const Dims& stride);

}  // namespace vellum

#endif  // VELLUM_TENSOR_VIEW_GEOMETRY_H_
