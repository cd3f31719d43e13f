#ifndef VELLUM_TENSOR_INTERNAL_NORM_GRADIENT_H_
#define VELLUM_TENSOR_INTERNAL_NORM_GRADIENT_H_

#include <array>
#include <vector>

#include "vellum/tensor/op_def.h"

// What normalizations share: y = (x - mean) * rstd * weight + bias, where mean and rstd are constant along some
// dimensions of x, weight and bias along others. Their fused gradient is an operator
//   (grad, x, mean, rstd, weight or undefined) -> (gx, gweight, gbias),
// of which an attribute says which outputs are wanted. It is a function of five operands: mean and rstd have
// derivatives of their own, so that a history that leads from them back to x is followed there.

namespace vellum::internal {

// How a normalization lies over x.
struct NormLayout {
  Dims stat_dims;    // dimensions that share one mean
  Dims stat_shape;   // of mean and rstd, as they broadcast against x
  Dims param_dims;   // dimensions along which weight and bias repeat; may be empty
  Dims param_shape;  // of weight and bias, as they broadcast against x
};
NormLayout layer_norm_layout(const Dims& x, int rank);
NormLayout batch_norm_layout(const Dims& x);

// The dtype that statistics of x are kept in.
inline DType statistics_dtype(DType x) { return x == kFloat64 ? kFloat64 : kFloat32; }

struct Statistics {
  Tensor mean, var;  // of stat_shape
};
// Written with operators, so that they have a history.
Statistics recorded_statistics(const Tensor& x, const NormLayout& layout);
// 1 / sqrt(var + eps)
Tensor reciprocal_deviation(const Tensor& var, double eps);

// Sums over `dims`, of which there may be none.
Tensor sum_over(const Tensor& x, const Dims& dims, bool keepdim = false);

// Throws ShapeError or DTypeError unless `t`, where defined, is real and has `expected`.
void check_operand(const OpCall& call, const char* what, const Tensor& t, const Dims& expected);

// The compute dtype of the fused gradient is x's, input 1.
DTypes norm_backward_dtypes(const OpCall& call);
// Shapes of the fused gradient; `statistics` and `parameters` are those of inputs 2, 3 and 4.
void infer_norm_backward(Inference& call, const Dims& statistics, const Dims& parameters, uint8_t wanted);
// The fused gradient's own gradient. `centred` says that mean and rstd are those of x itself, whose part in them the
// gradient takes into account; else they are constants, as in evaluation.
void norm_backward_vjp(Vjp& v, const NormLayout& layout, uint8_t wanted, bool centred);
inline constexpr std::array<Saves, kMaxInputs> kNormBackwardSaves{Saves{0b11110}, Saves{0b11111}, Saves{0b11111},
                                                                  Saves{0b11111}, Saves{0b01111}};

// --- For references

// The position of each element of x in its statistics and in its parameters.
struct NormIndex {
  NormIndex(const Dims& x, const NormLayout& layout);
  std::vector<size_t> stat, param;
  size_t stats, params;
  double count;  // elements of one mean
};
std::vector<RefTensor> norm_backward_reference(const RefCall& call, const NormLayout& layout, const Dims& parameters,
                                               uint8_t wanted, bool centred);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_NORM_GRADIENT_H_
