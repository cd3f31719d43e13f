#ifndef VELLUM_TENSOR_TENSOR_H_
#define VELLUM_TENSOR_TENSOR_H_

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/scalar.h"
#include "vellum/tensor/tensor_impl.h"

namespace vellum {

class Tensor;

// The node that produced a tensor, as users look at it: `x.grad_fn().name()`. Keeps the node alive.
class GradFn {
 public:
  GradFn() = default;
  explicit GradFn(internal::GraphNode* node) : node_(node) {
    if (node_) node_->retain();
  }
  ~GradFn() {
    if (node_) node_->release();
  }
  GradFn(const GradFn& other) : GradFn(other.node_) {}
  GradFn(GradFn&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  GradFn& operator=(GradFn other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }

  explicit operator bool() const { return node_ != nullptr; }
  std::string name() const;                    // "MulBackward"
  std::vector<GradFn> next_functions() const;  // one for each input; empty handles where no gradient flows
  internal::GraphNode* node() const { return node_; }

 private:
  internal::GraphNode* node_ = nullptr;
};

// One index of t.index({...}): a number, a slice, None (a new axis), an ellipsis, or a tensor: integers pick positions
// along one dimension, a mask of bool those where it is true along as many as it has.
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
};
struct EllipsisType {};
struct NoneType {};
inline constexpr EllipsisType kEllipsis{};
inline constexpr NoneType kNone{};

class TensorIndex;

struct BackwardOptions {
  std::optional<bool> retain_graph = {};  // default: as create_graph
  // Records the backward pass itself, for higher derivatives. The gradients in .grad then have a history that leads
  // back to their leaves: a cycle that keeps the whole graph alive until set_grad({}) or zero_grad(). grad() has none.
  bool create_graph = false;
};

// A handle to (storage, shape, strides, offset, dtype, autograd state). Copying a handle shares the tensor. A default
// handle is undefined. Distinct threads may read one tensor; writing needs the caller's own order. Work is enqueued on
// the device's current stream; reading a value (item, data on the host, printing) waits for it.
//
// Every method throws Error (see device/error.h) naming the operator and operands when they do not fit, and then
// changes nothing. Methods that need the graph throw NotImplementedError naming //autograd when it is not linked.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : impl_(other.impl_) {
    if (impl_) impl_->retain();
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  ~Tensor() {
    if (impl_) impl_->release();
  }
  Tensor& operator=(const Tensor& other) {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  void swap(Tensor& other) noexcept { std::swap(impl_, other.impl_); }
  void reset() { Tensor().swap(*this); }

  // --- What it is.
  bool defined() const { return impl_ != nullptr; }
  DType dtype() const { return impl().dtype; }
  Device device() const { return impl().device; }
  int dim() const { return impl().rank; }
  int64_t numel() const { return impl().numel; }
  Dims shape() const { return impl().shape_span(); }
  Dims sizes() const { return shape(); }
  int64_t size(int64_t dim) const;
  Dims strides() const { return impl().stride_span(); }  // in elements
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const { return impl().offset; }  // in elements
  int64_t element_size() const { return static_cast<int64_t>(dtype_size(dtype())); }
  int64_t nbytes() const { return numel() * element_size(); }
  bool is_contiguous() const { return impl().is_contiguous(); }
  bool is_complex() const { return vellum::is_complex(dtype()); }
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_view() const { return impl().base != nullptr; }
  Tensor base() const;  // what this is a view of; undefined for other tensors
  uint32_t version() const { return impl().storage->version(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  bool shares_storage_with(const Tensor& other) const { return impl().storage == other.impl().storage; }
  int64_t use_count() const { return impl_ ? impl_->refs.load(std::memory_order_relaxed) : 0; }

  // A label for people: reports of memory, leaks and errors use it.
  Tensor& set_name(std::string_view name);
  std::string_view name() const { return impl().name ? std::string_view(*impl().name) : std::string_view(); }

  // --- The elements. `data` and `mutable_data` point to host-accessible memory of the first element and throw
  // DTypeError when T is not the dtype. `mutable_data` counts as a write: it bumps the version, so that a backward
  // pass that needs the old values reports it.
  template <typename T>
  const T* data() const {
    check_data_access("data", dtype_of<T>);
    return static_cast<const T*>(impl_->data);
  }
  template <typename T>
  T* mutable_data() {
    check_data_access("mutable_data", dtype_of<T>);
    check_host_write();
    impl_->storage->bump_version();
    return static_cast<T*>(impl_->data);
  }
  // Makes known that work on `stream` uses this tensor's memory, which belongs to the stream that was current when it
  // was made. Once the last handle is gone it is not reused before the work that was enqueued on `stream` by then has
  // finished; without this, it may be as soon as its own stream gets there. Of memory that is not Vellum's (from_blob)
  // the caller takes care. Throws DeviceError for a stream of another device.
  void record_stream(const Stream& stream) const;

  // The only element, converted to T. Throws InvalidArgumentError when there are more or none.
  template <typename T = double>
  T item() const {
    return item_scalar().to<T>();
  }
  Scalar item_scalar() const;
  // All elements in row-major order, converted to T.
  template <typename T>
  std::vector<T> to_vector() const;

  // --- Views: they share this tensor's storage and version counter. Gradients flow through.
  Tensor select(int64_t dim, int64_t index) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;        // start may count from the end
  Tensor narrow(int64_t dim, const Tensor& start, int64_t length) const;  // an integer of rank 0; waits for the device
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor t() const;  // of a matrix; rank 0 and 1 as they are
  Tensor permute(const Dims& dims) const;
  Tensor view(const Dims& shape) const;     // one size may be -1; throws ShapeError when a copy would be needed
  Tensor reshape(const Dims& shape) const;  // a view where possible, else a copy
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor expand(const Dims& shape) const;  // -1 keeps a size
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> offset = {}) const;
  Tensor real() const;             // of a real tensor: itself
  Tensor imag() const;             // complex only
  Tensor view_as_real() const;     // complex [...] -> real [..., 2]
  Tensor view_as_complex() const;  // real [..., 2] -> complex [...]
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(const std::vector<int64_t>& sizes, int64_t dim = 0) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  // x.index({0, kEllipsis, Slice{1, 3}}). A view, unless a tensor is among the indices: then a copy, shaped as in
  // NumPy.
  Tensor index(std::initializer_list<TensorIndex> indices) const;
  Tensor index(std::span<const TensorIndex> indices) const;

  // --- Copies and conversions. `to` returns this tensor when nothing changes.
  Tensor to(DType dtype) const;
  //
  // With `non_blocking` the host does not wait for a copy between pinned memory and the device that it is pinned for;
  // from the device the result is in pinned memory, and undetermined until the device's stream is synchronized. Pinned
  // memory may be freed meanwhile, not changed. Other copies wait all the same.
  Tensor to(Device device, bool non_blocking = false) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false) const;
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor clone() const;
  Tensor contiguous() const;  // itself when it is
  // A row-major copy in page-locked host memory, for copies to `device` that the host need not wait for; itself when it
  // is pinned already. Default: see default_pinning_device(). Differentiable. Throws DeviceError unless on the CPU.
  Tensor pin_memory(std::optional<Device> device = {}) const;
  bool is_pinned() const;
  Tensor repeat(const Dims& counts) const;  // how often along each dimension; more numbers than dimensions add some
  Tensor flip(const Dims& dims) const;
  Tensor roll(const Dims& shifts, const Dims& dims = {}) const;  // without dims: of the flattened tensor

  // --- Arithmetic. Shapes broadcast, dtypes promote.
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& other) const;
  Tensor div(const Tensor& other) const;
  Tensor add(const Scalar& other) const;
  Tensor sub(const Scalar& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor div(const Scalar& other) const;
  Tensor div(const Tensor& other, std::string_view rounding_mode) const;  // "trunc" or "floor"
  Tensor div(const Scalar& other, std::string_view rounding_mode) const;
  Tensor fmod(const Tensor& other) const;
  Tensor fmod(const Scalar& other) const;
  Tensor remainder(const Tensor& other) const;
  Tensor remainder(const Scalar& other) const;
  Tensor pow(const Tensor& exponent) const;
  Tensor pow(const Scalar& exponent) const;
  Tensor neg() const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor sgn() const;
  Tensor square() const;
  Tensor reciprocal() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor exp() const;
  Tensor expm1() const;
  Tensor log() const;
  Tensor log1p() const;
  Tensor log2() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor erf() const;
  Tensor angle() const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor trunc() const;
  Tensor round(int64_t decimals = 0) const;
  Tensor relu() const;
  Tensor conj() const;  // a copy with the imaginary part negated; itself when real
  Tensor maximum(const Tensor& other) const;
  Tensor minimum(const Tensor& other) const;
  Tensor clamp(const std::optional<Scalar>& min = {}, const std::optional<Scalar>& max = {}) const;
  Tensor clamp(const Tensor& min) const;
  Tensor clamp(const Tensor& min, const Tensor& max) const;  // an undefined one is no bound
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor eq(const Tensor& other) const;
  Tensor eq(const Scalar& other) const;
  Tensor ne(const Tensor& other) const;
  Tensor ne(const Scalar& other) const;
  Tensor lt(const Tensor& other) const;
  Tensor lt(const Scalar& other) const;
  Tensor le(const Tensor& other) const;
  Tensor le(const Scalar& other) const;
  Tensor gt(const Tensor& other) const;
  Tensor gt(const Scalar& other) const;
  Tensor ge(const Tensor& other) const;
  Tensor ge(const Scalar& other) const;
  Tensor logical_and(const Tensor& other) const;
  Tensor logical_or(const Tensor& other) const;
  Tensor logical_xor(const Tensor& other) const;
  Tensor logical_not() const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& other) const { return matmul(other); }

  // --- Reductions over all elements or over `dims`.
  Tensor sum() const;
  Tensor sum(const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined) const;
  Tensor mean() const;
  Tensor mean(const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined) const;
  Tensor prod() const;
  Tensor prod(const Dims& dims, bool keepdim = false, DType dtype = DType::kUndefined) const;
  Tensor amax(const Dims& dims = {}, bool keepdim = false) const;
  Tensor amin(const Dims& dims = {}, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  std::pair<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;  // values, indices (int64)
  std::pair<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any() const;
  Tensor any(const Dims& dims, bool keepdim = false) const;
  Tensor all() const;
  Tensor all(const Dims& dims, bool keepdim = false) const;
  Tensor var(const Dims& dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor std(const Dims& dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor norm(double p = 2, const Dims& dims = {}, bool keepdim = false) const;
  Tensor logsumexp(const Dims& dims, bool keepdim = false) const;

  // --- Along a dimension.
  Tensor cumsum(int64_t dim, DType dtype = DType::kUndefined) const;
  Tensor cumprod(int64_t dim, DType dtype = DType::kUndefined) const;
  Tensor softmax(int64_t dim, DType dtype = DType::kUndefined) const;
  Tensor log_softmax(int64_t dim, DType dtype = DType::kUndefined) const;
  std::pair<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;  // values, indices (int64)
  Tensor argsort(int64_t dim = -1, bool descending = false) const;
  std::pair<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;

  // --- In place. They bump the version and record themselves in the graph.
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1);
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1);
  Tensor& mul_(const Tensor& other);
  Tensor& div_(const Tensor& other);
  Tensor& add_(const Scalar& other);
  Tensor& sub_(const Scalar& other);
  Tensor& mul_(const Scalar& other);
  Tensor& div_(const Scalar& other);
  Tensor& div_(const Tensor& other, std::string_view rounding_mode);
  Tensor& div_(const Scalar& other, std::string_view rounding_mode);
  Tensor& fmod_(const Tensor& other);
  Tensor& fmod_(const Scalar& other);
  Tensor& remainder_(const Tensor& other);
  Tensor& remainder_(const Scalar& other);
  Tensor& pow_(const Tensor& exponent);
  Tensor& pow_(const Scalar& exponent);
  Tensor& neg_();
  Tensor& abs_();
  Tensor& sign_();
  Tensor& sgn_();
  Tensor& square_();
  Tensor& reciprocal_();
  Tensor& sqrt_();
  Tensor& rsqrt_();
  Tensor& exp_();
  Tensor& expm1_();
  Tensor& log_();
  Tensor& log1p_();
  Tensor& log2_();
  Tensor& sin_();
  Tensor& cos_();
  Tensor& tanh_();
  Tensor& sigmoid_();
  Tensor& erf_();
  Tensor& floor_();
  Tensor& ceil_();
  Tensor& trunc_();
  Tensor& round_(int64_t decimals = 0);
  Tensor& relu_();
  Tensor& clamp_(const std::optional<Scalar>& min = {}, const std::optional<Scalar>& max = {});
  Tensor& clamp_(const Tensor& min);
  Tensor& clamp_(const Tensor& min, const Tensor& max);
  Tensor& lerp_(const Tensor& end, const Scalar& weight);
  Tensor& lerp_(const Tensor& end, const Tensor& weight);
  Tensor& addcmul_(const Tensor& a, const Tensor& b, const Scalar& value = 1);
  Tensor& addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value = 1);
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value);
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value);
  // Truth values in this tensor's own dtype: 0 and 1. No gradient passes.
  Tensor& eq_(const Tensor& other);
  Tensor& eq_(const Scalar& other);
  Tensor& ne_(const Tensor& other);
  Tensor& ne_(const Scalar& other);
  Tensor& lt_(const Tensor& other);
  Tensor& lt_(const Scalar& other);
  Tensor& le_(const Tensor& other);
  Tensor& le_(const Scalar& other);
  Tensor& gt_(const Tensor& other);
  Tensor& gt_(const Scalar& other);
  Tensor& ge_(const Tensor& other);
  Tensor& ge_(const Scalar& other);
  Tensor& logical_and_(const Tensor& other);
  Tensor& logical_or_(const Tensor& other);
  Tensor& logical_xor_(const Tensor& other);
  Tensor& logical_not_();
  Tensor& copy_(const Tensor& source, bool non_blocking = false);
  Tensor& fill_(const Scalar& value);
  Tensor& zero_();
  // Indices are int64; where one repeats, index_copy_ and scatter_ keep the last, the others add up.
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1);
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source);
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& source);
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value);
  // reduce is "add" or "multiply"; the latter has no gradient.
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce);
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce);
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source);
  // x.index({...}) = values; values broadcast and are converted. With accumulate they are added.
  Tensor& index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values, bool accumulate = false);
  Tensor& index_put_(std::span<const TensorIndex> indices, const Tensor& values, bool accumulate = false);
  Tensor& tril_(int64_t diagonal = 0);
  Tensor& triu_(int64_t diagonal = 0);
  Tensor& uniform_(double from = 0, double to = 1);
  Tensor& normal_(double mean = 0, double std = 1);

  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator/=(const Tensor& other) { return div_(other); }
  Tensor& operator+=(const Scalar& other) { return add_(other); }
  Tensor& operator-=(const Scalar& other) { return sub_(other); }
  Tensor& operator*=(const Scalar& other) { return mul_(other); }
  Tensor& operator/=(const Scalar& other) { return div_(other); }

  // --- The graph.
  bool requires_grad() const { return impl().needs_grad(); }
  Tensor& requires_grad_(bool requires_grad = true);
  bool is_leaf() const {
    return impl().flags & internal::TensorImpl::kRequiresGrad ? impl().grad_fn == nullptr : !requires_grad();
  }
  GradFn grad_fn() const;
  uint32_t output_nr() const { return impl().output_nr; }
  Tensor grad() const;                // undefined before the first backward pass
  void set_grad(const Tensor& grad);  // undefined clears it
  // Adds dL/dleaf into .grad of every leaf that this tensor depends on. `gradient` is dL/dthis and may be left out for
  // a real scalar. Frees what the graph saved unless it is retained.
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;
  void backward(BackwardOptions options = {}) const { backward(Tensor(), options); }
  Tensor detach() const;  // the same storage and version counter, no graph
  Tensor& detach_();
  void retain_grad();  // keeps .grad of a tensor that is not a leaf
  bool retains_grad() const;

  // Makes this leaf refer to the memory, shape, dtype and device of `source`; every handle to it follows. For moving
  // parameters (Module::to). The gradient is left alone. Throws AutogradError on views and on tensors with a history.
  void set_data(const Tensor& source);

  // --- For the library and its extensions.
  internal::TensorImpl& impl() const {
    if (!impl_) [[unlikely]]
      throw_undefined();
    return *impl_;
  }
  internal::TensorImpl* impl_or_null() const { return impl_; }
  // Takes over one reference.
  static Tensor adopt(internal::TensorImpl* impl) {
    Tensor t;
    t.impl_ = impl;
    return t;
  }
  static Tensor share(internal::TensorImpl* impl) {
    if (impl) impl->retain();
    return adopt(impl);
  }

 private:
  [[noreturn]] static void throw_undefined();
  void check_data_access(const char* what, DType wanted) const;
  void check_host_write() const;

  internal::TensorImpl* impl_ = nullptr;
};

class TensorIndex {
 public:
  enum class Kind : uint8_t { kNumber, kSlice, kNone, kEllipsis, kTensor };
  template <std::integral T>
  TensorIndex(T number) : kind(Kind::kNumber), number(static_cast<int64_t>(number)) {}
  TensorIndex(Slice s) : kind(Kind::kSlice), slice(s) {}
  TensorIndex(NoneType) : kind(Kind::kNone) {}
  TensorIndex(EllipsisType) : kind(Kind::kEllipsis) {}
  TensorIndex(const Tensor& t) : kind(Kind::kTensor), tensor(t) {}

  Kind kind;
  int64_t number = 0;
  Slice slice;
  Tensor tensor;
};

// Prints like PyTorch: aligned columns, four digits, "..." beyond 1,000 elements, dtype and grad_fn where they matter.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::string to_string(const Tensor& tensor);

}  // namespace vellum

#endif  // VELLUM_TENSOR_TENSOR_H_
