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
// The same, written into `out` in its dtype and on its device; it has that shape, or no elements (it is then resized).
Tensor& zeros_out(Tensor& out, const Dims& shape);
Tensor& ones_out(Tensor& out, const Dims& shape);
Tensor& full_out(Tensor& out, const Dims& shape, const Scalar& value);
Tensor& arange_out(Tensor& out, const Scalar& end);
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step = 1);
Tensor& linspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps);
Tensor& eye_out(Tensor& out, int64_t rows, std::optional<int64_t> columns = {});
Tensor& rand_out(Tensor& out, const Dims& shape);
Tensor& randn_out(Tensor& out, const Dims& shape);
Tensor& randperm_out(Tensor& out, int64_t n);
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
// With rounding_mode "trunc" (towards 0) or "floor"; integers stay integers, and a divisor of 0 among them throws
// InvalidArgumentError before anything is changed. The gradient is 0.
Tensor div(const Tensor& a, const Tensor& b, std::string_view rounding_mode);
Tensor div(const Tensor& a, const Scalar& b, std::string_view rounding_mode);
Tensor fmod(const Tensor& a, const Tensor& b);  // the remainder with the sign of a
Tensor fmod(const Tensor& a, const Scalar& b);
Tensor remainder(const Tensor& a, const Tensor& b);  // with the sign of b
Tensor remainder(const Tensor& a, const Scalar& b);
Tensor remainder(const Scalar& a, const Tensor& b);
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

// --- Activations, of floats (relu of integers too, silu of complex numbers, where it keeps input and sigmoid). Each
// keeps for the gradient what its comment says.
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
Tensor& add_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& mul_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b, std::string_view rounding_mode);
Tensor& div_out(Tensor& out, const Tensor& a, const Scalar& b, std::string_view rounding_mode);
Tensor& fmod_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& fmod_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& remainder_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& remainder_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& pow_out(Tensor& out, const Tensor& base, const Tensor& exponent);
Tensor& pow_out(Tensor& out, const Tensor& base, const Scalar& exponent);
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent);
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
Tensor& complex_out(Tensor& out, const Tensor& real, const Tensor& imag);
Tensor& polar_out(Tensor& out, const Tensor& abs, const Tensor& angle);
Tensor& maximum_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& minimum_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& clamp_out(Tensor& out, const Tensor& x, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max = {});
Tensor& clamp_out(Tensor& out, const Tensor& x, const Tensor& min, const Tensor& max = {});
Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Scalar& weight);
Tensor& lerp_out(Tensor& out, const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor& addcmul_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor& addcdiv_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor& where_out(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor& eq_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& eq_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& ne_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& ne_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& lt_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& lt_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& le_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& le_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& gt_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& gt_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& ge_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& ge_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& logical_and_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_or_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_xor_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logical_not_out(Tensor& out, const Tensor& x);
Tensor& gelu_out(Tensor& out, const Tensor& x, std::string_view approximate = "none");
Tensor& silu_out(Tensor& out, const Tensor& x);
Tensor& softplus_out(Tensor& out, const Tensor& x, double beta = 1, double threshold = 20);
Tensor& leaky_relu_out(Tensor& out, const Tensor& x, double negative_slope = 0.01);
Tensor& elu_out(Tensor& out, const Tensor& x, double alpha = 1);

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
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
// (sum |x|^ord)^(1/ord), real. Order 0 counts the elements that are not 0; infinity and -infinity are the largest and
// the smallest magnitude. The gradient at 0 is 0.
Tensor vector_norm(const Tensor& x, double ord = 2, const Dims& dims = {}, bool keepdim = false);
Tensor norm(const Tensor& x, double p = 2, const Dims& dims = {}, bool keepdim = false);        // vector_norm
Tensor norm(const Tensor& x, std::string_view p, const Dims& dims = {}, bool keepdim = false);  // "fro": order 2
// Of matrices that lie along two dimensions: the order "fro" is the 2-norm of all elements; 1 and -1 are the largest
// and the smallest sum of magnitudes of a column, infinity and -infinity of a row. Throws NotImplementedError for 2, -2
// and "nuc", which need singular values.
Tensor matrix_norm(const Tensor& x, double ord, const Dims& dims = {-2, -1}, bool keepdim = false);
Tensor matrix_norm(const Tensor& x, std::string_view ord = "fro", const Dims& dims = {-2, -1}, bool keepdim = false);
// log sum exp(x); also of complex numbers.
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& sum_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
Tensor& mean_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
Tensor& prod_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined);
Tensor& amax_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor& amin_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim = false);
// Two results are written into two tensors, which share no storage.
std::pair<Tensor&, Tensor&> max_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim,
                                    bool keepdim = false);
std::pair<Tensor&, Tensor&> min_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim,
                                    bool keepdim = false);
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
Tensor& cumsum_out(Tensor& out, const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
// Running products, likewise. The gradient is right beside zeros.
Tensor cumprod(const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
Tensor& cumprod_out(Tensor& out, const Tensor& x, int64_t dim, DType dtype = DType::kUndefined);
// Values and int64 indices. Equal elements keep their order, NaN counts as larger than every number.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
// The k largest or smallest elements with their int64 indices, in their order or, not `sorted`, in the order of their
// indices; of equal ones the first. Throws IndexError when there are fewer than k.
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);
std::pair<Tensor&, Tensor&> sort_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim = -1,
                                     bool descending = false);
std::pair<Tensor&, Tensor&> topk_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t k, int64_t dim = -1,
                                     bool largest = true, bool sorted = true);

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
// of [C] and [N, C] a backward pass keeps the input, the target, the weights and 8 bytes for each row; else the
// log-probabilities instead of the input. The weights are read in the input's dtype. Throws ShapeError, DTypeError, and
// InvalidArgumentError when a target is neither in [0, C) nor ignore_index.
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
// |input - target|, also of complex numbers, where a backward pass keeps the difference.
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossOptions& options = {});

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
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return remainder(a, b); }
inline Tensor operator%(const Scalar& a, const Tensor& b) { return remainder(a, b); }
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
