#include <cstring>

#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

DType dtype_or(const TensorOptions& options, DType fallback) {
  return options.dtype == DType::kUndefined ? fallback : options.dtype;
}

Tensor finish(Tensor t, const TensorOptions& options) {
  if (options.requires_grad) t.requires_grad_();
  return t;
}

Tensor fresh(const Dims& shape, DType dtype, const TensorOptions& options) {
  const Device device = options.device.value_or(current_device());
  device_api(device.type);  // throws, naming the target to link, when there is no such backend
  numel_of(shape);
  return internal::make_contiguous(std::span(shape.data(), shape.size()), dtype, device);
}

}  // namespace

Tensor empty(const Dims& shape, const TensorOptions& options) {
  return finish(fresh(shape, dtype_or(options, kFloat32), options), options);
}

Tensor full(const Dims& shape, const Scalar& value, const TensorOptions& options) {
  Tensor t = fresh(shape, dtype_or(options, value.dtype()), options);
  if (value.kind() == Scalar::Kind::kComplex && !t.is_complex())
    throw_error<DTypeError>("full: a complex value does not fit a tensor of ", t.dtype());
  internal::fill_fresh(t, value);
  return finish(std::move(t), options);
}

Tensor zeros(const Dims& shape, const TensorOptions& options) {
  TensorOptions typed = options;
  typed.dtype = dtype_or(options, kFloat32);
  return full(shape, 0, typed);
}

Tensor ones(const Dims& shape, const TensorOptions& options) {
  TensorOptions typed = options;
  typed.dtype = dtype_or(options, kFloat32);
  return full(shape, 1, typed);
}

Tensor empty_like(const Tensor& x) { return empty(x.shape(), {x.dtype(), x.device()}); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), {x.dtype(), x.device()}); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), {x.dtype(), x.device()}); }

Tensor arange(int64_t end, const TensorOptions& options) {
  if (end < 0) throw_error<InvalidArgumentError>("arange: the end must be 0 or more, it is ", end);
  std::vector<int64_t> values(static_cast<size_t>(end));
  for (int64_t i = 0; i < end; ++i) values[i] = i;
  return tensor(values, options);
}

template <typename T>
Tensor tensor(std::span<const T> values, const Dims& shape, const TensorOptions& options) {
  if (numel_of(shape) != static_cast<int64_t>(values.size()))
    throw_error<ShapeError>("tensor: ", values.size(), " values do not fill shape ", shape);
  TensorOptions on_host(dtype_of<T>, Device(kCPU));
  Tensor t = empty(shape, on_host);
  if (!values.empty()) std::memcpy(t.impl().data, values.data(), values.size_bytes());
  // A list of doubles makes a float32 tensor unless a dtype is asked for, as a list of Python numbers does.
  const DType wanted = dtype_or(options, dtype_of<T> == kFloat64 ? kFloat32 : dtype_of<T>);
  return finish(t.to(options.device.value_or(current_device()), wanted), options);
}

template Tensor tensor(std::span<const uint8_t>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const int8_t>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const int16_t>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const int32_t>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const int64_t>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const float16>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const bfloat16>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const float>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const double>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const bool>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const complex64>, const Dims&, const TensorOptions&);
template Tensor tensor(std::span<const complex128>, const Dims&, const TensorOptions&);

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  const DType dtype = dtype_or(options, value.dtype());
  const Device device = options.device.value_or(current_device());
  if (device.type != kCPU) return full({}, value, TensorOptions(dtype, device));
  Tensor t = internal::make_contiguous({}, dtype, device);
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    *static_cast<T*>(t.impl().data) = value.to<T>();
  });
  return finish(std::move(t), options);
}

Tensor from_blob(void* data, const Dims& shape, const TensorOptions& options, void (*deleter)(void*), void* context) {
  const DType dtype = dtype_or(options, kFloat32);
  const int64_t bytes = numel_of(shape) * static_cast<int64_t>(dtype_size(dtype));
  if (!data && bytes > 0) throw_error<InvalidArgumentError>("from_blob: the data pointer is null, shape ", shape);
  Storage* storage = Storage::borrow(data, bytes, options.device.value_or(Device(kCPU)), deleter, context);
  const Dims strides = contiguous_strides(shape);
  Tensor t = internal::make_alias(storage, std::span(shape.data(), shape.size()),
                                  {strides.data(), static_cast<size_t>(strides.size())}, 0, dtype);
  storage->release();
  return finish(std::move(t), options);
}

}  // namespace vellum
