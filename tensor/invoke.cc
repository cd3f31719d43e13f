#include "vellum/tensor/internal/invoke.h"

#include "absl/container/inlined_vector.h"
#include "vellum/allocator/memory.h"
#include "vellum/allocator/pinned.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/internal/allocate_block.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/loop_plan.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/internal/resolve.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/ops/slots.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tensor/view_geometry.h"

namespace vellum::internal {
namespace {

using TensorList = absl::InlinedVector<Tensor, 4>;

// Scratch memory for one kernel, given back when it has been enqueued.
class Workspace {
 public:
  Workspace(size_t bytes, const Stream& stream, std::string_view op) : stream_(stream) {
    if (bytes == 0) return;
    source_ = &allocator(stream.device);
    allocate_block(static_cast<int64_t>(bytes), stream, *source_, op, &block_);
    ledger_ = active_ledger();
    if (ledger_) [[unlikely]]
      ledger_->workspace_allocated(*source_, block_, stream_);
  }
  ~Workspace() {
    if (ledger_) [[unlikely]]
      ledger_->workspace_freed(block_);
    if (source_) source_->deallocate(block_, stream_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data() const { return block_.data; }

 private:
  Stream stream_;
  Allocator* source_ = nullptr;
  Ledger* ledger_ = nullptr;  // if it was told
  Block block_;
};

TensorArg argument(const Tensor& t) {
  const TensorImpl* impl = t.impl_or_null();
  if (!impl) return TensorArg{nullptr, nullptr, nullptr, 0, DType::kUndefined, 0, true, false};
  return TensorArg{impl->data,  impl->sizes, impl->strides,         impl->numel,
                   impl->dtype, impl->rank,  impl->is_contiguous(), true};
}

void plan_loop(LoopPlan& plan, const OpCall& call, const Tensor& output, std::span<const Tensor> inputs) {
  if (call.op.kind == OpKind::kReduction) {
    plan_reduction(plan, output.impl(), inputs[0].impl(), call.op.reduced_dims(call));
    return;
  }
  const TensorImpl* impls[kMaxLoopOperands];
  size_t count = 0;
  for (size_t i = call.op.overwrites ? 1 : 0; i < inputs.size(); ++i) impls[count++] = &inputs[i].impl();
  plan_elementwise(plan, output.impl(), {impls, count});
}

void run_kernel(const KernelEntry& kernel, const OpCall& call, DType compute, const RandomState& random,
                std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const Tensor> by_products) {
  absl::InlinedVector<TensorArg, 4> ins, outs;
  for (const Tensor& t : inputs) ins.push_back(argument(t));
  for (const Tensor& t : outputs) outs.push_back(argument(t));
  for (const Tensor& t : by_products) outs.push_back(argument(t));
  LoopPlan loop;
  const bool is_loop = call.op.kind == OpKind::kElementwise || call.op.kind == OpKind::kReduction;
  if (is_loop) plan_loop(loop, call, outputs[0], inputs);
  KernelContext context;
  context.op = &call.op;
  context.attrs = call.attrs;
  context.loop = is_loop ? &loop : nullptr;
  context.inputs = ins;
  context.outputs = outs;
  context.compute = compute;
  context.stream = current_stream(outputs[0].device());
  context.random = random;
  context.workspace = nullptr;
  if (kernel.plan) throw_if_error(kernel.plan(context), call.op.name);
  context.workspace_bytes = kernel.workspace ? kernel.workspace(context) : 0;
  const Workspace workspace(context.workspace_bytes, context.stream, call.op.name);
  context.workspace = workspace.data();
  if (is_dry_run()) return;
  const Status status = kernel.run(context);
  if (!status.ok()) throw_if_error(status, call.op.name);
}

// A number of the host is written there by a kernel where there is one: nobody has to wait for a copy then.
Tensor moved(const Tensor& t, Device device) {
  Tensor there = make_contiguous(t.impl().shape_span(), t.dtype(), device);
  if (t.dim() == 0 && t.device() == Device(kCPU) && is_native(fill_slot.kernel(device.type, t.dtype())))
    fill_fresh(there, has_values(t) ? number_at(t.impl().data, t.dtype()) : Scalar(0));
  else
    copy_bytes(there, t.is_contiguous() ? t : cast_copy(t, t.dtype()));
  return there;
}

// The inputs as the kernel wants them: cast, on `device`, row-major where it asks for that.
TensorList prepare_inputs(const OpCall& call, DType compute, Device device, bool contiguous) {
  TensorList inputs;
  inputs.reserve(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Tensor t = *call.inputs[i];
    const bool untouched = !t.defined() || (i == 0 && call.op.overwrites);
    if (!untouched) {
      const bool cast = i >= 8 || (call.op.cast_inputs >> i & 1);
      if (cast && t.dtype() != compute)
        t = cast_copy(t, compute);
      else if (contiguous && !t.is_contiguous())
        t = cast_copy(t, t.dtype());
      if (t.device() != device) t = moved(t, device);
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

Tensor host_twin(const Tensor& t) {
  return t.defined() ? make_contiguous(t.impl().shape_span(), t.dtype(), Device(kCPU)) : Tensor();
}

// A device's tensor on the host with the same strides: what lies between its elements is copied along.
Tensor host_copy(const Tensor& t) {
  if (!t.defined()) return {};
  if (t.is_contiguous() || t.numel() == 0) {
    Tensor host = host_twin(t);
    copy_bytes(host, t);
    return host;
  }
  Storage* bytes = Storage::allocate(reach(t.shape(), t.strides()) * t.element_size(), Device(kCPU));
  Tensor host = make_alias(bytes, t.impl().shape_span(), t.impl().stride_span(), 0, t.dtype());
  bytes->release();
  if (is_dry_run()) return host;
  const Stream stream = current_stream(t.device());
  throw_if_error(device_api(t.device().type)
                     .copy(t.device().index, host.impl().data, t.impl().data,
                           static_cast<size_t>(host.impl().storage->bytes()), CopyKind::kDeviceToHost, stream.handle),
                 "host fallback");
  stream.synchronize();
  return host;
}

// Row-major values of the host into a strided tensor, as many at once as lie side by side. What lies between them is
// not touched: another stream or thread may be writing it.
void copy_runs(const Tensor& to, const Tensor& host) {
  if (is_dry_run()) return;
  const TensorImpl& t = to.impl();
  int outer = t.rank;
  int64_t run = 1;
  for (; outer > 0 && (t.sizes[outer - 1] == 1 || t.strides[outer - 1] == run); --outer) run *= t.sizes[outer - 1];
  const Dims sizes(t.shape_span().first(static_cast<size_t>(outer)));
  const Dims strides(t.stride_span().first(static_cast<size_t>(outer)));
  const int64_t size = to.element_size();
  const Stream stream = current_stream(to.device());
  Status status;
  for (int64_t i = 0; status.ok() && i * run < t.numel; ++i)
    status = device_api(t.device.type)
                 .copy(t.device.index, static_cast<char*>(t.data) + reference::strided_index(i, sizes, strides) * size,
                       static_cast<const char*>(host.impl().data) + i * run * size, static_cast<size_t>(run * size),
                       CopyKind::kHostToDevice, stream.handle);
  stream.synchronize();
  throw_if_error(status, "host fallback");
}

void to_device_values(const Tensor& to, const Tensor& host) {
  if (!to.defined() || to.numel() == 0) return;
  if (to.is_contiguous()) {
    copy_bytes(to, host);
  } else if (is_native(copy_slot.kernel(to.device().type, to.dtype()))) {
    const Tensor packed = make_contiguous(to.impl().shape_span(), to.dtype(), to.device());
    copy_bytes(packed, host);
    copy_values(to, packed);
  } else {
    copy_runs(to, host);
  }
}

void invoke_on_host(OpSlot& slot, const OpCall& call, DType compute, const RandomState& random, Device device,
                    std::span<const Tensor> outputs, std::span<const Tensor> by_products) {
  if (strict_dispatch())
    throw_error<NotImplementedError>(call.op.name, ": no kernel for ", compute, " on ", device,
                                     ", and strict dispatch forbids the host fallback");
  const AnnotationScope annotation(Annotation::Kind::kOperator, "host_fallback");
  const KernelEntry& kernel = *slot.kernel(kCPU, compute);
  TensorList on_host, results, extras;
  for (const Tensor* t : call.inputs) on_host.push_back(host_copy(*t));
  for (const Tensor& t : outputs) results.push_back(host_twin(t));
  for (const Tensor& t : by_products) extras.push_back(host_twin(t));
  absl::InlinedVector<const Tensor*, 4> borrowed;
  for (const Tensor& t : on_host) borrowed.push_back(&t);
  const OpCall host_call{call.op, Inputs(borrowed.data(), borrowed.size()), call.attrs};
  const TensorList inputs = prepare_inputs(host_call, compute, Device(kCPU), kernel.contiguous_inputs);
  run_kernel(kernel, host_call, compute, random, inputs, results, extras);
  for (size_t i = 0; i < outputs.size(); ++i) to_device_values(outputs[i], results[i]);
  for (size_t i = 0; i < by_products.size(); ++i) to_device_values(by_products[i], extras[i]);
}

}  // namespace

void invoke(OpSlot& slot, const OpCall& call, DTypes types, Device device, std::span<const Tensor> outputs,
            std::span<const Tensor> by_products) {
  if (is_dry_run()) [[unlikely]]
    for (const Tensor& t : outputs) refuse_foreign_write(call.op.name, t);
  const KernelEntry* kernel = slot.kernel(device.type, types.compute);
  if (kernel == &kShapeOnlyEntry) return;
  if (kernel == &kMissingEntry)
    throw_error<NotImplementedError>(call.op.name, ": no kernel for ", types.compute, " on ", device,
                                     "; convert with to(dtype) or move to another device");
  RandomState random{};
  if (call.op.draws) random = default_generator(device).reserve(call.op.draws(call));
  if (kernel == &kHostFallbackEntry) {
    invoke_on_host(slot, call, types.compute, random, device, outputs, by_products);
    return;
  }
  const TensorList inputs = prepare_inputs(call, types.compute, device, kernel->contiguous_inputs);
  run_kernel(*kernel, call, types.compute, random, inputs, outputs, by_products);
}

void copy_values(const Tensor& to, const Tensor& from) {
  const CopyAttrs attrs{to.dtype()};
  const Tensor* inputs[] = {&from};
  invoke(copy_slot, {copy_slot.def(), inputs, &attrs}, {from.dtype(), to.dtype()}, to.device(), {&to, 1}, {});
}

Tensor cast_copy(const Tensor& from, DType dtype) {
  Tensor to = make_contiguous(from.impl().shape_span(), dtype, from.device());
  copy_values(to, from);
  return to;
}

void fill_fresh(Tensor& t, const Scalar& value) {
  const FillAttrs attrs{value};
  const Tensor* inputs[] = {&t};
  invoke(fill_slot, {fill_slot.def(), inputs, &attrs}, {t.dtype(), t.dtype()}, t.device(), {&t, 1}, {});
}

namespace {

// Leaves the host's side of a copy on `stream` in place until the copy is done, if its memory can be kept so.
bool keep_until_done(const Tensor& host, const Stream& stream) {
  Storage& storage = *host.impl().storage;
  if (!storage.source() || storage.source() != find_pinned_allocator(stream.device)) return false;
  storage.record_stream(stream);
  return true;
}

}  // namespace

void copy_bytes(const Tensor& to, const Tensor& from, bool non_blocking) {
  const Device destination = to.device(), source = from.device();
  const DeviceApi& to_api = device_api(destination.type);
  const DeviceApi& from_api = device_api(source.type);
  if (to_api.shape_only) return;
  if (from_api.shape_only)
    throw_error<DeviceError>("to(", destination, "): a tensor on ", source, " has a shape and a dtype but no values");
  check_dry_write("to(device)", to);
  const size_t bytes = static_cast<size_t>(to.nbytes());
  if (bytes == 0) return;
  const bool through_host = source != destination && !from_api.host_accessible && !to_api.host_accessible;
  if (is_dry_run() && !through_host) return;
  // Memory that host and device share may still be written.
  if (source != destination && from_api.host_accessible && source.type != kCPU) current_stream(source).synchronize();
  Status status;
  if (source == destination || from_api.host_accessible) {
    const CopyKind kind = source == destination ? CopyKind::kDeviceToDevice : CopyKind::kHostToDevice;
    status = to_api.copy(destination.index, to.impl().data, from.impl().data, bytes, kind,
                         current_stream(destination).handle);
    // The host's memory may be gone or changed right after.
    if (status.ok() && source != destination && !(non_blocking && keep_until_done(from, current_stream(destination))))
      current_stream(destination).synchronize();
  } else if (to_api.host_accessible) {
    status = from_api.copy(source.index, to.impl().data, from.impl().data, bytes, CopyKind::kDeviceToHost,
                           current_stream(source).handle);
    if (status.ok() && !(non_blocking && keep_until_done(to, current_stream(source))))
      current_stream(source).synchronize();
  } else {
    const Tensor host = make_contiguous(from.impl().shape_span(), from.dtype(), Device(kCPU));
    copy_bytes(host, from);
    copy_bytes(to, host);
    return;
  }
  throw_if_error(status, "to(device)");
}

}  // namespace vellum::internal
