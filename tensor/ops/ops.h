#ifndef VELLUM_TENSOR_OPS_OPS_H_
#define VELLUM_TENSOR_OPS_OPS_H_

#include <span>
#include <utility>
#include <vector>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/tensor.h"

// The public operators as free functions. Shapes broadcast as in NumPy, dtypes promote as in PyTorch. Every function
// throws ShapeError, DTypeError, DeviceError or IndexError naming itself and its operands, before anything is changed.
// Gradients follow PyTorch; for complex inputs they are dL/dRe + i dL/dIm.

namespace vellum {

struct TensorOptions {
  DType dtype = DType::kUndefined;  // undefined: float32, or what the values say
  std::optional<Device> device;     // none: current_device()
  bool requires_grad = false;

  TensorOptions() = default;
  TensorOptions(DType t) : dtype(t) {}
  TensorOptions(Device d) : device(d) {}
  TensorOptions(DType t, Device d) : dtype(t), device(d) {}
};

// --- Factories.
Tensor empty(const Dims& shape, const TensorOptions& options = {});  // contents are undetermined
Tensor zeros(const Dims& shape, const TensorOptions& options = {});
Tensor ones(const Dims& shape, const TensorOptions& options = {});
Tensor full(const Dims& shape, const Scalar& value, const TensorOptions& options = {});
Tensor arange(int64_t end, const TensorOptions& options = {});       // int64 unless a dtype is given
Tensor rand(const Dims& shape, const TensorOptions& options = {});   // uniform [0, 1)
Tensor randn(const Dims& shape, const TensorOptions& options = {});  // normal (0, 1); complex: variance 1 in all
Tensor randperm(int64_t n, const TensorOptions& options = {});       // int64
Tensor empty_like(const Tensor& x);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
// Copies values. A braced list gives rank 1: tensor({1.f, 2.f, 3.f}).
template <typename T>
Tensor tensor(std::span<const T> values, const Dims& shape, const TensorOptions& options = {});
template <typename T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(std::span<const T>(values), {static_cast<int64_t>(values.size())}, options);
}
template <typename T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return tensor(std::span<const T>(values.begin(), values.size()), {static_cast<int64_t>(values.size())}, options);
}
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
// Borrows host memory, which must stay valid as long as any tensor refers to it; `deleter(context)` then runs. When an
// error is thrown the memory stays with the caller and the deleter does not run.
Tensor from_blob(void* data, const Dims& shape, const TensorOptions& options, void (*deleter)(void*) = nullptr,
                 void* context = nullptr);

// --- Pointwise.
Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);  // a + alpha * b
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);  // true division: integers become float32
Tensor add(const Tensor& a, const Scalar& b);
Tensor sub(const Tensor& a, const Scalar& b);
Tensor mul(const Tensor& a, const Scalar& b);
Tensor div(const Tensor& a, const Scalar& b);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor pow(const Tensor& base, const Scalar& exponent);
Tensor pow(const Scalar& base, const Tensor& exponent);
Tensor neg(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor conj(const Tensor& x);
Tensor complex(const Tensor& real, const Tensor& imag);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor relu_backward(const Tensor& grad, const Tensor& output);

// Forms that write into `out`: it must have the result's shape, or no elements (it is then resized).
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& exp_out(Tensor& out, const Tensor& x);
Tensor& sqrt_out(Tensor& out, const Tensor& x);
Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& sum_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);

// --- Reductions. An empty `dims` means all of them.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim = false);  // ties share the gradient
Tensor max(const Tensor& x);
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);  // first of equal values
Tensor argmax(const Tensor& x, int64_t dim, bool keepdim = false);
// Sums over the dimensions that broadcasting added or stretched, so that the result has `shape`.
Tensor sum_to(const Tensor& x, const Dims& shape);

// --- Linear algebra.
Tensor matmul(const Tensor& a, const Tensor& b);  // PyTorch's rules for rank 1 and for batches
// x [..., K] times weight [M, K] transposed, plus bias [M] when defined: [..., M].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// --- Shape and indexing.
Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim = 0);
// out[i][j] = x[index[i][j]][j] for dim 0 and so on; index is int64 with x's rank.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
Tensor gather_backward(const Tensor& grad, const Tensor& index, int64_t dim, const Dims& shape);
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);  // index [n], int64
Tensor as_strided_backward(const Tensor& grad, const AsStridedBackwardAttrs& geometry);

// --- Neural network functions.
Tensor log_softmax(const Tensor& x, int64_t dim);
Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim);
// Zeroes each element with probability p and scales the rest by 1 / (1 - p). Keeps 16 bytes for the gradient.
Tensor dropout(const Tensor& x, double p, bool training = true);
Tensor dropout_backward(const Tensor& grad, const Tensor& state, double p);

// --- Losses. All take floating tensors and give a scalar, or one value for each sample without reduction. A mean over
// nothing is NaN.

struct NllLossOptions {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;  // targets that do not count, in the mean neither
  Tensor weight = {};           // [C], of each class; the mean is the weighted one
};
// -weight[target] * log_probabilities[target]: log_probabilities [C], [N, C] or [N, C, d1, ...], target int64 [], [N]
// or [N, d1, ...] with entries in [0, C) or ignore_index. Throws InvalidArgumentError for other entries.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossOptions& options = {});
Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const NllLossBackwardAttrs& attrs,
                         const Tensor& weight = {});

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;  // class indices that do not count, in the mean neither
  Tensor weight = {};           // [C], of each class
  double label_smoothing = 0;   // in [0, 1]: the share of each target that is spread over all classes
};
// nll_loss(log_softmax(input, 1), target): how badly the scores `input` [C], [N, C] or [N, C, d1, ...] predict the
// target. That is class indices, int64 [], [N] or [N, d1, ...], or class probabilities, floating, of the input's shape;
// the mean over probabilities divides by the number of samples, whatever the weights (as in PyTorch). For class indices
// of [C] and [N, C] without weight a backward pass keeps the input, the target and 8 bytes for each row; else the
// log-probabilities instead of the input. Throws ShapeError, DTypeError, and InvalidArgumentError when a target is
// neither in [0, C) nor ignore_index.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options = {});

// The losses below compare elements. Unlike PyTorch, which warns, they throw ShapeError rather than compare every pair
// of [N, 1] with [N]. A backward pass keeps both operands.

struct MseLossOptions {
  Reduction reduction = Reduction::kMean;
};
Tensor mse_loss(const Tensor& input, const Tensor& target, const MseLossOptions& options = {});  // (input - target)^2

struct L1LossOptions {
  Reduction reduction = Reduction::kMean;
};
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossOptions& options = {});  // |input - target|

struct SmoothL1LossOptions {
  Reduction reduction = Reduction::kMean;
  double beta = 1;  // 0 or more; with 0 this is l1_loss
};
// d^2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossOptions& options = {});

struct BinaryCrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  Tensor weight = {};      // of each element; broadcasts to the input
  Tensor pos_weight = {};  // of the positive class; broadcasts to the input
};
// -(pos_weight * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input))), stable for any input.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options = {});

// --- Normalization: (x - mean) / sqrt(variance + eps) * weight + bias, with the biased variance. Statistics of half
// types are float32. Weight and bias may be undefined; they are read in x's dtype.

// Over the last dimensions of x, which are `normalized_shape`, as are weight and bias. A backward pass keeps x, weight,
// and mean and 1 / standard deviation of each row.
Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// Over the batch, for each channel of x [N, C] or [N, C, d1, ...]; all others [C]. In training with the batch's own
// statistics; the running ones, where defined, then move by the share `momentum` towards the mean and the unbiased
// variance, in place and unrecorded. Else with the running ones, which must be defined; a backward pass then keeps x
// only if the weight needs a gradient. Throws InvalidArgumentError when a training batch has a single value for each
// channel.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-5);

// --- Operators.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(b, a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(b, a); }
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator/(const Scalar& a, const Tensor& b);
inline Tensor operator-(const Tensor& x) { return neg(x); }
Tensor operator<(const Tensor& a, const Scalar& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator>(const Tensor& a, const Scalar& b);
Tensor operator>=(const Tensor& a, const Scalar& b);
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
Tensor operator==(const Tensor& a, const Scalar& b);
Tensor operator!=(const Tensor& a, const Scalar& b);

}  // namespace vellum

#endif  // VELLUM_TENSOR_OPS_OPS_H_
