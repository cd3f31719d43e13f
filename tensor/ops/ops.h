#ifndef VELLUM_TENSOR_OPS_OPS_H_
#define VELLUM_TENSOR_OPS_OPS_H_

#include <optional>
#include <span>
#include <string_view>
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
// Borrows host memory, which must stay valid as long as any tensor refers to it; `deleter(context)` then runs.
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
// With rounding_mode "trunc" (towards 0) or "floor"; integers stay integers, and a divisor of 0 among them throws
// InvalidArgumentError before anything is changed. The gradient is 0.
Tensor div(const Tensor& a, const Tensor& b, std::string_view rounding_mode);
Tensor div(const Tensor& a, const Scalar& b, std::string_view rounding_mode);
Tensor fmod(const Tensor& a, const Tensor& b);  // the remainder with the sign of a
Tensor fmod(const Tensor& a, const Scalar& b);
Tensor remainder(const Tensor& a, const Tensor& b);  // with the sign of b
Tensor remainder(const Tensor& a, const Scalar& b);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor pow(const Tensor& base, const Scalar& exponent);
Tensor pow(const Scalar& base, const Tensor& exponent);
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);   // of complex numbers real
Tensor sign(const Tensor& x);  // real only; of NaN 0
Tensor sgn(const Tensor& x);   // complex too: x / |x|, and 0 at 0
Tensor square(const Tensor& x);
Tensor conj(const Tensor& x);
Tensor angle(const Tensor& x);                           // radians; of negative real numbers pi
Tensor complex(const Tensor& real, const Tensor& imag);  // float32 or float64
Tensor polar(const Tensor& abs, const Tensor& angle);    // abs (cos angle + i sin angle), float32 or float64
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// x where the mask (bool, broadcastable) is false, else the value, a number or of rank 0. The result has x's dtype;
// throws DTypeError where the value's category is above it.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value);

// Integers become float32.
Tensor reciprocal(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor erf(const Tensor& x);  // real only

// Of real numbers; integers are returned as they are. The gradient is 0.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor round(const Tensor& x, int64_t decimals = 0);  // half to even; to tens, hundreds, ... where negative

// Of real numbers; NaN wins. Where operands are equal they share the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
// min(max(x, min), max); at least one bound is given. On a bound the gradient goes to x.
Tensor clamp(const Tensor& x, const std::optional<Scalar>& min = {}, const std::optional<Scalar>& max = {});
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max = {});

// start + weight (end - start); floating and complex.
Tensor lerp(const Tensor& start, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);  // x + value a b
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);  // x + value a / b

// Truth values, bool. Whatever is not 0 counts as true.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, const Scalar& b);
Tensor ne(const Tensor& a, const Scalar& b);
Tensor lt(const Tensor& a, const Scalar& b);
Tensor le(const Tensor& a, const Scalar& b);
Tensor gt(const Tensor& a, const Scalar& b);
Tensor ge(const Tensor& a, const Scalar& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

// --- Activations, of floats (relu of integers too). Each keeps for the gradient what its comment says.
Tensor relu(const Tensor& x);                                              // the output
Tensor gelu(const Tensor& x, std::string_view approximate = "none");       // the input; or approximate = "tanh"
Tensor silu(const Tensor& x);                                              // the input
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);  // the input
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);          // the output; of a negative slope the input
Tensor elu(const Tensor& x, double alpha = 1);                             // the output; of a negative alpha the input
Tensor& relu_(Tensor& x);
Tensor& silu_(Tensor& x);
Tensor& leaky_relu_(Tensor& x, double negative_slope = 0.01);
Tensor& elu_(Tensor& x, double alpha = 1);

// Gradients in one pass: `grad` is that of the output.
Tensor relu_backward(const Tensor& grad, const Tensor& output);
Tensor tanh_backward(const Tensor& grad, const Tensor& output);
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output);
Tensor gelu_backward(const Tensor& grad, const Tensor& x, const GeluAttrs& attrs);
Tensor silu_backward(const Tensor& grad, const Tensor& x);
Tensor softplus_backward(const Tensor& grad, const Tensor& x, const SoftplusAttrs& attrs);
Tensor leaky_relu_backward(const Tensor& grad, const Tensor& signs, const LeakyReluAttrs& attrs);
Tensor elu_backward(const Tensor& grad, const Tensor& saved, const EluBackwardAttrs& attrs);
Tensor clamp_backward(const Tensor& grad, const Tensor& x, const ClampAttrs& attrs);
Tensor maximum_backward(const Tensor& grad, const Tensor& a, const Tensor& b);  // the share of a

// Forms that write into `out`: it must have the result's shape, or no elements (it is then resized).
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b, std::string_view rounding_mode);
Tensor& fmod_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& remainder_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& pow_out(Tensor& out, const Tensor& base, const Tensor& exponent);
Tensor& neg_out(Tensor& out, const Tensor& x);
Tensor& abs_out(Tensor& out, const Tensor& x);
Tensor& sign_out(Tensor& out, const Tensor& x);
Tensor& sgn_out(Tensor& out, const Tensor& x);
Tensor& square_out(Tensor& out, const Tensor& x);
Tensor& reciprocal_out(Tensor& out, const Tensor& x);
Tensor& sqrt_out(Tensor& out, const Tensor& x);
Tensor& rsqrt_out(Tensor& out, const Tensor& x);
Tensor& exp_out(Tensor& out, const Tensor& x);
Tensor& expm1_out(Tensor& out, const Tensor& x);
Tensor& log_out(Tensor& out, const Tensor& x);
Tensor& log1p_out(Tensor& out, const Tensor& x);
Tensor& log2_out(Tensor& out, const Tensor& x);
Tensor& sin_out(Tensor& out, const Tensor& x);
Tensor& cos_out(Tensor& out, const Tensor& x);
Tensor& tanh_out(Tensor& out, const Tensor& x);
Tensor& sigmoid_out(Tensor& out, const Tensor& x);
Tensor& erf_out(Tensor& out, const Tensor& x);
Tensor& angle_out(Tensor& out, const Tensor& x);
Tensor& floor_out(Tensor& out, const Tensor& x);
Tensor& ceil_out(Tensor& out, const Tensor& x);
Tensor& trunc_out(Tensor& out, const Tensor& x);
Tensor& round_out(Tensor& out, const Tensor& x, int64_t decimals = 0);
Tensor& polar_out(Tensor& out, const Tensor& abs, const Tensor& angle);
Tensor& maximum_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& minimum_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& clamp_out(Tensor& out, const Tensor& x, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max = {});
Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Scalar& weight);
Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor& addcmul_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor& addcdiv_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor& eq_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& ne_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& lt_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& le_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& gt_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& ge_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_and_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_or_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_xor_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_not_out(Tensor& out, const Tensor& x);
Tensor& gelu_out(Tensor& out, const Tensor& x, std::string_view approximate = "none");
Tensor& silu_out(Tensor& out, const Tensor& x);
Tensor& softplus_out(Tensor& out, const Tensor& x, double beta = 1, double threshold = 20);
Tensor& leaky_relu_out(Tensor& out, const Tensor& x, double negative_slope = 0.01);
Tensor& elu_out(Tensor& out, const Tensor& x, double alpha = 1);
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
// log_probabilities [N, C], target int64 [N] with entries in [0, C) or ignore_index. Scalar, or [N] without reduction.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossAttrs& options = {});
Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const NllLossBackwardAttrs& attrs);
// Zeroes each element with probability p and scales the rest by 1 / (1 - p). Keeps 16 bytes for the gradient.
Tensor dropout(const Tensor& x, double p, bool training = true);
Tensor dropout_backward(const Tensor& grad, const Tensor& state, double p);

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
