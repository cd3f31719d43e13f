#include <cmath>
#include <cstring>

#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
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

namespace {

// What `options` leaves open is taken from x.
TensorOptions like(const Tensor& x, TensorOptions options) {
  if (options.dtype == DType::kUndefined) options.dtype = x.dtype();
  if (!options.device) options.device = x.device();
  return options;
}

// A tensor of rank 1 whose values are computed in T on the host and then converted.
template <typename T, typename F>
Tensor sequence(int64_t count, DType dtype, const TensorOptions& options, F value) {
  const Tensor values = empty({count}, TensorOptions(dtype_of<T>, Device(kCPU)));
  T* at = static_cast<T*>(values.impl().data);
  if (internal::takes_values(values))
    for (int64_t i = 0; i < count; ++i) at[i] = value(i);
  return finish(values.to(options.device.value_or(current_device()), dtype), options);
}

bool is_whole(const Scalar& s) { return s.kind() <= Scalar::Kind::kInteger; }

}  // namespace

Tensor empty_like(const Tensor& x, const TensorOptions& options) { return empty(x.shape(), like(x, options)); }
Tensor zeros_like(const Tensor& x, const TensorOptions& options) { return zeros(x.shape(), like(x, options)); }
Tensor ones_like(const Tensor& x, const TensorOptions& options) { return ones(x.shape(), like(x, options)); }
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options) {
  return full(x.shape(), value, like(x, options));
}
Tensor rand_like(const Tensor& x, const TensorOptions& options) { return rand(x.shape(), like(x, options)); }
Tensor randn_like(const Tensor& x, const TensorOptions& options) { return randn(x.shape(), like(x, options)); }

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  for (const Scalar* s : {&start, &end, &step})
    if (s->kind() == Scalar::Kind::kComplex) throw_error<DTypeError>("arange: ", *s, " is complex; it takes reals");
  const double from = start.real(), by = step.real(), range = end.real() - from;
  if (by == 0 || !std::isfinite(by) || !std::isfinite(range) || (range != 0 && (range > 0) != (by > 0)))
    throw_error<InvalidArgumentError>("arange: from ", start, " to ", end, " by steps of ", step,
                                      " does not end; the bounds must be finite and the step lead towards the end");
  const bool whole = is_whole(start) && is_whole(end) && is_whole(step);
  const DType dtype = dtype_or(options, whole ? kInt64 : kFloat32);
  const double count = std::ceil(range / by);
  if (count >= 0x1p62) throw_error<ShapeError>("arange: ", count, " elements are more than a tensor can have");
  if (!whole && !is_integral(dtype))
    return sequence<double>(static_cast<int64_t>(count), dtype, options,
                            [&](int64_t i) { return from + static_cast<double>(i) * by; });
  // As in PyTorch, an integer dtype truncates bounds and step first.
  const int64_t first = start.to<int64_t>(), stride = step.to<int64_t>(), span = end.to<int64_t>() - first;
  if (stride == 0)
    throw_error<InvalidArgumentError>("arange: a step of ", step, " is 0 in ", dtype, "; give a larger one");
  const int64_t steps = span / stride + (span % stride != 0);
  return sequence<int64_t>(steps, dtype, options, [&](int64_t i) { return first + i * stride; });
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  if (steps < 0) throw_error<InvalidArgumentError>("linspace: the number of steps must be 0 or more, it is ", steps);
  const bool is_complex_range = start.kind() == Scalar::Kind::kComplex || end.kind() == Scalar::Kind::kComplex;
  const DType dtype = dtype_or(options, is_complex_range ? kComplex64 : kFloat32);
  check_fits("linspace", start, dtype);
  check_fits("linspace", end, dtype);
  const complex128 from = start.value(), to = end.value();
  const complex128 step = steps > 1 ? (to - from) / static_cast<double>(steps - 1) : 0.0;
  // From the nearer end, so that both ends are exact.
  const auto value = [&](int64_t i) {
    return i < steps / 2 || steps == 1 ? from + static_cast<double>(i) * step
                                       : to - static_cast<double>(steps - 1 - i) * step;
  };
  if (is_complex(dtype)) return sequence<complex128>(steps, dtype, options, value);
  return sequence<double>(steps, dtype, options, [&](int64_t i) { return value(i).real(); });
}

Tensor eye(int64_t rows, std::optional<int64_t> columns, const TensorOptions& options) {
  TensorOptions plain = options;
  plain.requires_grad = false;
  Tensor t = zeros({rows, columns.value_or(rows)}, plain);
  const ModeGuard no_grad(0, kModeGrad);
  t.diagonal().fill_(1);
  return finish(std::move(t), options);
}

namespace {

// Writes what `make` makes of out's dtype and device.
template <typename F>
Tensor& write_made(const char* op, Tensor& out, F make) {
  if (!out.defined()) throw_error<InvalidArgumentError>(op, ": out is undefined; make it with empty()");
  return internal::write_composed(op, out, {}, [&] { return make(TensorOptions(out.dtype(), out.device())); });
}

// The value is read from one element.
Tensor& write_filled(const char* op, Tensor& out, const Dims& shape, const Scalar& value) {
  numel_of(shape);
  return write_made(op, out, [&](const TensorOptions& options) { return full({}, value, options).expand(shape); });
}

}  // namespace

Tensor& zeros_out(Tensor& out, const Dims& shape) { return write_filled("zeros", out, shape, 0); }
Tensor& ones_out(Tensor& out, const Dims& shape) { return write_filled("ones", out, shape, 1); }
Tensor& full_out(Tensor& out, const Dims& shape, const Scalar& value) {
  return write_filled("full", out, shape, value);
}
Tensor& arange_out(Tensor& out, const Scalar& end) { return arange_out(out, 0, end); }
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  return write_made("arange", out, [&](const TensorOptions& options) { return arange(start, end, step, options); });
}
Tensor& linspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps) {
  return write_made("linspace", out,
                    [&](const TensorOptions& options) { return linspace(start, end, steps, options); });
}
Tensor& eye_out(Tensor& out, int64_t rows, std::optional<int64_t> columns) {
  return write_made("eye", out, [&](const TensorOptions& options) { return eye(rows, columns, options); });
}
Tensor& rand_out(Tensor& out, const Dims& shape) {
  return write_made("rand", out, [&](const TensorOptions& options) { return rand(shape, options); });
}
Tensor& randn_out(Tensor& out, const Dims& shape) {
  return write_made("randn", out, [&](const TensorOptions& options) { return randn(shape, options); });
}
Tensor& randperm_out(Tensor& out, int64_t n) {
  return write_made("randperm", out, [&](const TensorOptions& options) { return randperm(n, options); });
}

template <typename T>
Tensor tensor(std::span<const T> values, const Dims& shape, const TensorOptions& options) {
  if (numel_of(shape) != static_cast<int64_t>(values.size()))
    throw_error<ShapeError>("tensor: ", values.size(), " values do not fill shape ", shape);
  TensorOptions on_host(dtype_of<T>, Device(kCPU));
  Tensor t = empty(shape, on_host);
  if (!values.empty() && internal::takes_values(t)) std::memcpy(t.impl().data, values.data(), values.size_bytes());
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
  if (is_dry_run()) [[unlikely]]
    t.impl().data = hooks().dry_run->value_of(t.impl());
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    *static_cast<T*>(t.impl().data) = value.to<T>();
  });
  return t;
}

Scalar number_at(const void* data, DType dtype) {
  return visit_dtype(dtype, [data](auto tag) -> Scalar {
    using T = decltype(tag);
    T value;
    std::memcpy(&value, data, sizeof(T));
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return Scalar(static_cast<float>(value));
    else
      return Scalar(value);
  });
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
