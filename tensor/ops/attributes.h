#ifndef VELLUM_TENSOR_OPS_ATTRIBUTES_H_
#define VELLUM_TENSOR_OPS_ATTRIBUTES_H_

#include <complex>
#include <cstdint>
#include <optional>
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

struct RoundAttrs {
  int64_t decimals = 0;  // negative: to tens, hundreds, ...
};

struct ClampAttrs {  // clamp, clamp_backward: at least one is given
  std::optional<Scalar> min, max;
};

struct LerpAttrs {
  Scalar weight;
};

struct FactorAttrs {  // addcmul, addcdiv: self + value * a * b, self + value * a / b
  Scalar value = 1;
};

struct GeluAttrs {
  bool tanh = false;  // by tanh rather than erf
};

struct SoftplusAttrs {
  double beta = 1, threshold = 20;  // the identity where beta * x exceeds the threshold
};

struct LeakyReluAttrs {
  double negative_slope = 0.01;
};

struct EluAttrs {
  double alpha = 1;
};

struct EluBackwardAttrs {
  double alpha = 1;
  bool is_result = false;  // operand 1 is elu's output rather than its input
};

struct CopyAttrs {  // copy: a fresh row-major tensor
  DType dtype;
};

struct FillAttrs {  // fill_
  Scalar value;
};

struct ToDeviceAttrs {
  Device device;
  bool non_blocking = false;
};

struct ReduceAttrs {  // sum, mean, prod, amax, amin, any, all, logsumexp
  uint32_t dims = 0;  // bit mask
  bool keepdim = false;
  DType dtype = DType::kUndefined;  // sum, mean, prod: of the result; undefined: by the input's
};

struct VarAttrs {  // var, std
  ReduceAttrs reduce;
  double correction = 1;  // the sum of squares is divided by n - correction
};

struct VectorNormAttrs {
  ReduceAttrs reduce;
  double ord = 2;  // any number, infinities included
};

inline constexpr int kAllDims = -1;  // argmax, argmin

struct DimAttrs {  // cat, gather, max and min with indices, argmax, argmin
  int dim = 0;
  bool keepdim = false;
};

struct SoftmaxAttrs {  // softmax, log_softmax
  DimAttrs dim;
  DType dtype = DType::kUndefined;  // of the computation and the result; undefined: the input's
};

struct ScanAttrs {  // cumsum, cumprod
  DimAttrs dim;
  bool reverse = false;             // from the last element to the first
  DType dtype = DType::kUndefined;  // of the result; undefined: by the input's
};

struct SortAttrs {
  DimAttrs dim;
  bool descending = false;
};

struct TopKAttrs {
  DimAttrs dim;
  int64_t k = 1;
  bool largest = true;
  bool sorted = true;  // else in the order of their indices
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
