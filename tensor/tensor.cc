#include "vellum/tensor/tensor.h"

#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/live_objects.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/recorder.h"

namespace vellum {

void Tensor::throw_undefined() {
  throw_error<InvalidArgumentError>("an undefined tensor was used; assign a tensor to the handle first");
}

int64_t Tensor::size(int64_t dim) const {
  const internal::TensorImpl& t = impl();
  const int d = wrap_dim("size", dim, t.rank);
  if (t.rank == 0) throw_error<IndexError>("size: a tensor of rank 0 has no dimensions");
  return t.sizes[d];
}

int64_t Tensor::stride(int64_t dim) const {
  const internal::TensorImpl& t = impl();
  const int d = wrap_dim("stride", dim, t.rank);
  if (t.rank == 0) throw_error<IndexError>("stride: a tensor of rank 0 has no dimensions");
  return t.strides[d];
}

Tensor Tensor::base() const { return share(impl().base); }

Tensor& Tensor::set_name(std::string_view name) {
  auto text = std::make_unique<std::string>(name);
  {
    const internal::LiveGuard guard(impl().live_slot);
    impl().name.swap(text);
  }
  if (impl().storage->origin().id) [[unlikely]]  // a recording keeps it beyond the tensor's end
    hooks().ledger->named(impl());
  return *this;
}

void Tensor::check_data_access(const char* what, DType wanted) const {
  const internal::TensorImpl& t = impl();
  if (t.dtype != wanted)
    throw_error<DTypeError>(what, "<", wanted, ">: the tensor ", t.dtype, shape(), " holds ", t.dtype,
                            "; ask for that or convert with to(", wanted, ")");
  internal::check_values(what, *this, *this);
  if (t.device.type == kCPU) return;
  if (!device_api(t.device.type).host_accessible)
    throw_error<DeviceError>(what, ": the tensor ", t.dtype, shape(), " is on ", t.device,
                             ", whose memory the host cannot reach; copy it with cpu()");
  current_stream(t.device).synchronize();
}

void Tensor::record_stream(const Stream& stream) const {
  if (stream.device != device())
    throw_error<DeviceError>("record_stream: the tensor ", dtype(), shape(), " is on ", device(), ", the stream on ",
                             stream.device, "; record a stream of the tensor's own device");
  impl().storage->record_stream(stream);
}

void Tensor::check_host_write() const { internal::check_dry_write("mutable_data", *this); }

Scalar Tensor::item_scalar() const {
  if (numel() != 1)
    throw_error<InvalidArgumentError>("item: a tensor with one element is needed, this one has shape ", shape(),
                                      "; reduce or index it first");
  const Tensor host = device().type == kCPU ? *this : internal::readable(*this, [this] { return detach().cpu(); });
  internal::check_values("item", *this, host);
  return internal::number_at(host.impl().data, dtype());
}

template <typename T>
std::vector<T> Tensor::to_vector() const {
  const Tensor host = internal::readable(*this, [this] { return detach().cpu().to(dtype_of<T>).contiguous(); });
  const T* data = static_cast<const T*>(host.impl().data);
  internal::check_values("to_vector", *this, host);
  return std::vector<T>(data, data + host.numel());
}

template std::vector<bool> Tensor::to_vector<bool>() const;
template std::vector<uint8_t> Tensor::to_vector<uint8_t>() const;
template std::vector<int8_t> Tensor::to_vector<int8_t>() const;
template std::vector<int16_t> Tensor::to_vector<int16_t>() const;
template std::vector<int32_t> Tensor::to_vector<int32_t>() const;
template std::vector<int64_t> Tensor::to_vector<int64_t>() const;
template std::vector<float16> Tensor::to_vector<float16>() const;
template std::vector<bfloat16> Tensor::to_vector<bfloat16>() const;
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;
template std::vector<complex64> Tensor::to_vector<complex64>() const;
template std::vector<complex128> Tensor::to_vector<complex128>() const;

void Tensor::set_data(const Tensor& source) {
  if (impl().grad_fn || impl().base)
    throw_error<AutogradError>("set_data: only leaves that are not views can be given other memory; this tensor ",
                               dtype(), shape(), " has a history or a base; use detach() or clone()");
  if (requires_grad() && !is_differentiable(source.dtype()))
    throw_error<DTypeError>("set_data: a tensor that requires grad cannot become ", source.dtype());
  internal::check_dry_write("set_data", *this);
  internal::replace_memory(impl(), source.impl());
}

// --- The graph, through the recorder.

Recorder& recorder() {
  if (!hooks().recorder)
    throw_error<NotImplementedError>("gradients need the graph: depend on //autograd (or //:vellum)");
  return *hooks().recorder;
}

std::string GradFn::name() const { return std::string(node_ ? node_->name() : "None"); }
std::vector<GradFn> GradFn::next_functions() const {
  return node_ ? recorder().next_functions(node_) : std::vector<GradFn>();
}

Tensor& Tensor::requires_grad_(bool value) {
  if (internal::is_dry_run() && value != requires_grad()) internal::check_dry_write("requires_grad_", *this);
  recorder().requires_grad(*this, value);
  return *this;
}
GradFn Tensor::grad_fn() const {
  const internal::TensorImpl& t = impl();
  return t.base || t.grad_fn ? recorder().grad_fn(*this) : GradFn();
}
Tensor Tensor::grad() const { return impl().autograd ? recorder().grad(*this) : Tensor(); }
void Tensor::set_grad(const Tensor& grad) {
  if (internal::is_dry_run() && (grad.defined() || this->grad().defined()))
    internal::check_dry_write("set_grad", *this);
  recorder().set_grad(*this, grad);
}
void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  recorder().backward(*this, gradient, options);
}
Tensor Tensor::detach() const { return internal::shallow_alias(*this); }
Tensor& Tensor::detach_() {
  if (internal::is_dry_run() && requires_grad()) internal::check_dry_write("detach_", *this);
  if (hooks().recorder) hooks().recorder->detach_in_place(*this);
  return *this;
}
void Tensor::retain_grad() {
  internal::check_dry_write("retain_grad", *this);
  recorder().retain_grad(*this);
}
bool Tensor::retains_grad() const { return impl().autograd && recorder().retains_grad(*this); }

}  // namespace vellum
