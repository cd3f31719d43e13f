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
  const DType dtype = dtype_or(options, value.dtype());
  check_fits("full", value, dtype);
  Tensor t = fresh(shape, dtype, options);
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
  const Tensor values = empty({end}, TensorOptions(kInt64, Device(kCPU)));
  int64_t* value = static_cast<int64_t*>(values.impl().data);
  for (int64_t i = 0; i < end; ++i) value[i] = i;
  return finish(values.to(options.device.value_or(current_device()), dtype_or(options, kInt64)), options);
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
  check_fits("scalar_tensor", value, dtype);
  if (device.type != kCPU) {
    TensorOptions there = options;
    there.dtype = dtype;
    return full({}, value, there);
  }
  return finish(internal::make_number(value, dtype), options);
}

namespace internal {

Tensor make_number(const Scalar& value, DType dtype) {
  Tensor t = make_contiguous({}, dtype, Device(kCPU));
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    *static_cast<T*>(t.impl().data) = value.to<T>();
  });
  return t;
}

}  // namespace internal

Tensor from_blob(void* data, const Dims& shape, const TensorOptions& options, void (*deleter)(void*), void* context) {
  const DType dtype = dtype_or(options, kFloat32);
  int64_t bytes;
  if (__builtin_mul_overflow(numel_of(shape), static_cast<int64_t>(dtype_size(dtype)), &bytes))
    throw_error<ShapeError>("from_blob: shape ", shape, " of ", dtype, " needs more bytes than 63 bits can count");
  if (!data && bytes > 0) throw_error<InvalidArgumentError>("from_blob: the data pointer is null, shape ", shape);
  if (options.requires_grad && !is_differentiable(dtype))
    throw_error<AutogradError>("from_blob: only floating and complex tensors can require gradients, this is ", dtype);
  device_api(options.device.value_or(Device(kCPU)).type);  // throws when there is no such backend
  Storage* storage = Storage::borrow(data, bytes, options.device.value_or(Device(kCPU)), deleter, context);
  const Dims strides = contiguous_strides(shape);
  Tensor t = internal::make_alias(storage, std::span(shape.data(), shape.size()),
                                  {strides.data(), static_cast<size_t>(strides.size())}, 0, dtype);
  storage->release();
  return finish(std::move(t), options);
}

}  // namespace vellum
