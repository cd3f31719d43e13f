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

enum class Reduction : uint8_t { kNone, kMean, kSum };

struct NllLossAttrs {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;
};

struct NllLossBackwardAttrs {
  NllLossAttrs loss;
  Dims shape;  // of the log-probabilities
};

struct CrossEntropyAttrs {  // cross_entropy, cross_entropy_backward
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // the share of the target that is spread over all classes
};

struct SmoothL1LossAttrs {  // smooth_l1_loss, smooth_l1_loss_backward
  double beta = 1;          // below it the loss is quadratic
};

struct LayerNormAttrs {
  int rank = 1;  // how many of the last dimensions are normalized together
  double eps = 1e-5;
};

struct BatchNormAttrs {
  bool training = false;  // with the batch's own statistics
  double eps = 1e-5;
};

// What a fused gradient of a normalization gives: bits of x, weight and bias.
inline constexpr uint8_t kWantsInput = 1, kWantsWeight = 2, kWantsBias = 4;

struct LayerNormBackwardAttrs {
  int rank = 1;
  uint8_t wanted = 0;
};

struct BatchNormBackwardAttrs {
  bool training = false;
  uint8_t wanted = 0;
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
