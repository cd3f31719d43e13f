#ifndef VELLUM_TENSOR_OPS_OPS_H_
#define VELLUM_TENSOR_OPS_OPS_H_

#include <span>
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
