#include "vellum/allocator/pinned.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/invoke.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/slots.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using reference::Complex;

// What a value becomes in another dtype.
Complex converted(Complex x, DType to) {
  if (to == kBool) return x != 0.0 ? 1.0 : 0.0;
  if (is_integral(to)) return std::trunc(x.real());
  return is_complex(to) ? x : x.real();
}

DTypes copy_dtypes(const OpCall& call) { return {call.input(0).dtype(), call.attributes<CopyAttrs>().dtype}; }

constexpr OpDef kCopy{.name = "copy",
                      .dtypes = copy_dtypes,
                      .attrs = attrs_type<CopyAttrs>,
                      .vjp = [](Vjp& v) { v.grad() = v.cotangent(); },
                      .reference = {.element = [](const Complex* x, const RefCall& call) {
                        return converted(x[0], call.attributes<CopyAttrs>().dtype);
                      }}};

DTypes copy_in_place_dtypes(const OpCall& call) { return {call.input(1).dtype(), call.input(0).dtype()}; }

constexpr OpDef kCopyInPlace{.name = "copy_",
                             .inputs = 2,
                             .kernel = "copy",
                             .dtypes = copy_in_place_dtypes,
                             .vjp =
                                 [](Vjp& v) {
                                   if (v.needs(1)) v.grad(1) = v.cotangent();
                                 },
                             .overwrites = true,
                             .reference = {.element = [](const Complex* x, const RefCall&) { return x[1]; }}};
OpSlot copy_in_place_slot{kCopyInPlace, "copy"};

constexpr OpDef kFill{.name = "fill_",
                      .dtypes = dtype_rules::same,
                      .attrs = attrs_type<FillAttrs>,
                      .vjp = [](Vjp&) {},
                      .overwrites = true,
                      .reference = {.element = [](const Complex*, const RefCall& call) {
                        return converted(call.attributes<FillAttrs>().value.value(), call.compute);
                      }}};

// Reached for every device that has no native kernel of this name, that is for all: the core moves the bytes.
void to_device(const OpCall& call, std::span<Tensor> outputs) {
  const auto [device, non_blocking] = call.attributes<ToDeviceAttrs>();
  const Tensor source = call.input(0).contiguous();
  const auto shape = source.impl().shape_span();
  const bool into_pinned = non_blocking && device.type == kCPU && device_api(source.device().type).host_allocate;
  Tensor target = into_pinned ? internal::make_pinned(shape, source.dtype(), source.device())
                              : internal::make_contiguous(shape, source.dtype(), device);
  internal::copy_bytes(target, source, non_blocking);
  outputs[0] = target;
}

constexpr OpDef kToDevice{.name = "to_device",
                          .kind = OpKind::kComposite,
                          .dtypes = dtype_rules::same,
                          .attrs = attrs_type<ToDeviceAttrs>,
                          .vjp = [](Vjp& v) { v.grad() = v.cotangent(); },  // the engine brings it back
                          .composite = to_device,
                          .reference = {.element = [](const Complex* x, const RefCall&) { return x[0]; }}};
OpSlot to_device_slot{kToDevice, "copy"};

Tensor copy_as(const Tensor& x, DType dtype) {
  const CopyAttrs attrs{dtype};
  return call(internal::copy_slot, {&x}, &attrs);
}

}  // namespace

namespace internal {
OpSlot copy_slot{kCopy, "copy"};
OpSlot fill_slot{kFill, "copy"};
}  // namespace internal

Tensor Tensor::to(DType dtype) const { return this->dtype() == dtype ? *this : copy_as(*this, dtype); }

Tensor Tensor::to(Device device, bool non_blocking) const {
  if (this->device() == device) return *this;
  device_api(device.type);  // throws when there is no such backend
  const ToDeviceAttrs attrs{device, non_blocking};
  return call(to_device_slot, {this}, &attrs);
}

Tensor Tensor::to(Device device, DType dtype, bool non_blocking) const {
  // The narrower dtype travels; what a copy is still under way to is not converted on the host.
  if (dtype_size(dtype) < dtype_size(this->dtype())) return to(dtype).to(device, non_blocking);
  return to(device, non_blocking && device.type != kCPU).to(dtype);
}

bool Tensor::is_pinned() const { return dynamic_cast<PinnedAllocator*>(impl().storage->source()) != nullptr; }

Tensor Tensor::pin_memory(std::optional<Device> device) const {
  if (this->device().type != kCPU)
    throw_error<DeviceError>("pin_memory: only tensors on the CPU can be pinned, this one is on ", this->device(),
                             "; call cpu() before");
  if (is_pinned()) return *this;
  Tensor pinned = internal::make_pinned(impl().shape_span(), dtype(), device.value_or(default_pinning_device()));
  pinned.copy_(*this);
  return pinned;
}

Tensor Tensor::clone() const { return copy_as(*this, dtype()); }
Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) {
  // On the host the values are read at once.
  const Tensor here = source.to(device(), non_blocking && device().type != kCPU);
  const Tensor* inputs[] = {this, &here};
  call_in_place(copy_in_place_slot, *this, inputs);
  return *this;
}

Tensor& Tensor::fill_(const Scalar& value) {
  check_fits("fill_", value, dtype());
  const FillAttrs attrs{value};
  const Tensor* inputs[] = {this};
  call_in_place(internal::fill_slot, *this, inputs, &attrs);
  return *this;
}

Tensor& Tensor::zero_() { return fill_(0); }

}  // namespace vellum
