#ifndef VELLUM_TENSOR_OPS_ATTRIBUTES_H_
#define VELLUM_TENSOR_OPS_ATTRIBUTES_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/scalar.h"

// The attribute structs of the operators, as kernels, gradients and references read them. Dimensions are already
// wrapped to [0, rank).

namespace vellum {

struct AlphaAttrs {  // add, sub: a + alpha * b
  Scalar alpha = 1;
};

struct CopyAttrs {  // copy: a fresh row-major tensor
  DType dtype;
};

struct FillAttrs {  // fill_
  Scalar value;
};

struct ToDeviceAttrs {
  Device device;
};

struct ReduceAttrs {  // sum, mean, amax
  uint32_t dims = 0;  // bit mask
  bool keepdim = false;
};

struct DimAttrs {  // log_softmax, cat, gather, max with indices
  int dim = 0;
  bool keepdim = false;
};

struct GatherBackwardAttrs {  // scatter-add along `dim` into zeros of `shape`
  int dim;
  Dims shape;
};

struct IndexSelectAttrs {
  int dim;
  int64_t without_gradient = -1;  // the slice that gets none (embedding's padding_idx)
};

struct IndexSelectBackwardAttrs {  // adds slices into zeros of `shape`
  int dim;
  Dims shape;
  int64_t without_gradient = -1;
};

struct IndexWriteAttrs {  // index_add: self[index] += alpha * source; index_copy
  int dim;
  Scalar alpha = 1;
};

struct NonzeroAttrs {
  int64_t count;
};

struct TriangleAttrs {
  int64_t diagonal;
};

struct DiagonalAttrs {
  int64_t offset;
  int dim1, dim2;
};

struct ConstantPadAttrs {
  Dims before, after;  // one number a dimension, 0 or more
  Scalar value;
};

enum class PadMode : uint8_t { kConstant, kReflect, kReplicate, kCircular };

enum class Reduction : uint8_t { kNone, kMean, kSum };

struct NllLossAttrs {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;
};

struct NllLossBackwardAttrs {
  NllLossAttrs loss;
  Dims shape;  // of the log-probabilities, [N, C]
};

struct DropoutAttrs {
  double p;  // probability that an element is zeroed
};

struct UniformAttrs {
  double from, to;
};

struct NormalAttrs {
  double mean, std;
};

struct SelectAttrs {
  int dim;
  int64_t index;
};

struct SliceAttrs {
  int dim;
  int64_t start, stop, step;  // clamped to the size; step >= 1
};

struct PermuteAttrs {
  Dims dims;
};

struct ShapeAttrs {  // view, expand, squeeze, unsqueeze: the resulting shape
  Dims shape;
};

struct SplitAttrs {
  int dim;
  std::vector<int64_t> sizes;
};

struct AsStridedAttrs {
  Dims size, stride;
  int64_t offset;  // elements from the start of the storage
  Dims input_stride;
  int64_t input_offset;
};

struct AsStridedBackwardAttrs {  // adds a cotangent into zeros of `shape` through this geometry of a row-major tensor
  Dims shape;
  Dims size, stride;
  int64_t offset;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_OPS_ATTRIBUTES_H_
