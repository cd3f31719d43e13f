#ifndef VELLUM_TENSOR_OPS_OPS_H_
#define VELLUM_TENSOR_OPS_OPS_H_

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/ops/indexing.h"
#include "vellum/tensor/ops/linalg.h"
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
// [start, end) by steps; int64 when all are integers, else float32, unless a dtype is given.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options = {});
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, const TensorOptions& options = {});
Tensor rand(const Dims& shape, const TensorOptions& options = {});   // uniform [0, 1)
Tensor randn(const Dims& shape, const TensorOptions& options = {});  // normal (0, 1); complex: variance 1 in all
Tensor randperm(int64_t n, const TensorOptions& options = {});       // int64
// With x's shape, and its dtype and device where `options` leaves them open.
Tensor empty_like(const Tensor& x, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {});
Tensor ones_like(const Tensor& x, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {});
Tensor rand_like(const Tensor& x, const TensorOptions& options = {});
Tensor randn_like(const Tensor& x, const TensorOptions& options = {});
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

// --- Reductions. Negative dimensions count from the end, an empty `dims` means all; with `keepdim` reduced dimensions
// stay with size 1. Forms with `out` write as those above. Floating-point sums are taken in many lanes that meet in
// double, so they do not depend on the number of threads.
// Integers give int64 unless `dtype` says otherwise: x is converted to it first. mean takes integers only with a dtype.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
// Of real numbers; NaN wins. Equal elements share the gradient. Throws ShapeError where there is nothing to choose
// from.
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
// Values and int64 indices; of equal values the first, which has the gradient.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
// int64; without a dimension the index into all elements in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
// Whether any element, or each, is not zero (NaN is not): bool, for uint8 uint8.
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor all(const Tensor& x);
Tensor all(const Tensor& x, const Dims& dims, bool keepdim = false);
// Sums of |x - mean|^2 over n - correction, and their square roots: real.
Tensor var(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
Tensor std(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
// (sum |x|^ord)^(1/ord), real. Order 0 counts the elements that are not 0; infinity and -infinity are the largest and
// the smallest magnitude. The gradient at 0 is 0.
Tensor vector_norm(const Tensor& x, double ord = 2, const Dims& dims = {}, bool keepdim = false);
Tensor norm(const Tensor& x, double p = 2, const Dims& dims = {}, bool keepdim = false);        // vector_norm
Tensor norm(const Tensor& x, std::string_view p, const Dims& dims = {}, bool keepdim = false);  // "fro": order 2
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& sum_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& mean_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& prod_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& amax_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& amin_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& argmax_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor& argmin_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor& any_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& all_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& var_out(Tensor& out, const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
Tensor& std_out(Tensor& out, const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
Tensor& vector_norm_out(Tensor& out, const Tensor& x, double ord = 2, const Dims& dims = {}, bool keepdim = false);
Tensor& logsumexp_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
// Sums over the dimensions that broadcasting added or stretched, so that the result has `shape`.
Tensor sum_to(const Tensor& x, const Dims& shape);

// --- Along a dimension.
// Running sums; integers give int64 unless `dtype` says otherwise.
Tensor cumsum(const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
Tensor& cumsum_out(Tensor& out, const Tensor& x, int64_t dim);
// Values and int64 indices. Equal elements keep their order, NaN counts as larger than every number.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
// The k largest or smallest elements with their int64 indices, in their order or, not `sorted`, in the order of their
// indices; of equal ones the first. Throws IndexError when there are fewer than k.
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);

// --- Neural network functions.
// Of floating dtypes; `dtype` is what x is converted to first.
Tensor softmax(const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim);
Tensor& softmax_out(Tensor& out, const Tensor& x, int64_t dim);
Tensor& log_softmax_out(Tensor& out, const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
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
// of [C] and [N, C] without weight a backward pass keeps the input, the target and 8 bytes for each row; else also the
// log-probabilities. Throws ShapeError, DTypeError, and InvalidArgumentError when a target is neither in [0, C) nor
// ignore_index.
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
