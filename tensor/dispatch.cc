#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/destination.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/invoke.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/internal/resolve.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/recorder.h"

namespace vellum {
namespace {

using internal::TensorImpl;

std::string describe(Inputs inputs) {
  std::string text;
  for (const Tensor* t : inputs) {
    text += text.empty() ? "" : ", ";
    text += t->defined() ? str_cat(t->dtype(), t->shape(), "@", t->device()) : "undefined";
  }
  return text;
}

void check_inputs(const OpDef& def, Inputs inputs) {
  if (def.inputs != kVariadic && static_cast<int>(inputs.size()) != def.inputs)
    throw_error<InvalidArgumentError>(def.name, ": takes ", int{def.inputs}, " operands, ", inputs.size(), " given");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i]->defined() && !(i < 8 && def.optional_inputs >> i & 1))
      throw_error<InvalidArgumentError>(def.name, ": operand ", i, " is undefined");
}

// The device of the call. CPU scalars may meet tensors of any device.
Device common_device(const OpDef& def, Inputs inputs) {
  const Tensor* chosen = nullptr;
  for (const Tensor* t : inputs) {
    if (!t->defined()) continue;
    if (!chosen || (chosen->dim() == 0 && chosen->device().type == kCPU)) {
      if (!chosen || t->dim() > 0 || t->device() != chosen->device()) chosen = t;
    }
  }
  const Device device = chosen->device();
  for (const Tensor* t : inputs) {
    if (!t->defined() || t->device() == device) continue;
    if (t->dim() == 0 && t->device().type == kCPU) continue;
    throw_error<DeviceError>(def.name, ": operands are on different devices (", describe(inputs),
                             "); move them with to(", device, ")");
  }
  return device;
}

bool any_needs_grad(Inputs inputs) {
  for (const Tensor* t : inputs)
    if (const TensorImpl* impl = t->impl_or_null(); impl && impl->needs_grad()) return true;
  return false;
}

// Whether this call makes a node.
bool should_record(const OpDef& def, Inputs inputs) {
  return (thread_state().mode & kModeGrad) && def.vjp && hooks().recorder && any_needs_grad(inputs);
}

DTypes dtypes_of(const OpCall& call) { return call.op.dtypes ? call.op.dtypes(call) : dtype_rules::promote(call); }

// Output shapes; elementwise operators broadcast what they read.
Inference infer(const OpCall& call, DTypes types) {
  Inference inference(call, types);
  if (call.op.infer) {
    call.op.infer(inference);
    return inference;
  }
  const size_t first = call.op.overwrites && call.inputs.size() > 1 ? 1 : 0;
  Dims shape = call.inputs[first]->shape();
  for (size_t i = first + 1; i < call.inputs.size(); ++i)
    shape = broadcast_shapes(call.op.name.data(), shape, call.inputs[i]->shape());
  inference.add_output(shape);
  return inference;
}

template <typename List>
void make_views(const OpDef& def, const Tensor& source, const Inference& inference, List& views) {
  for (const OutputSpec& spec : inference.outputs)
    views.push_back(
        internal::make_view(source, spec.shape, spec.strides, spec.offset, spec.dtype, def.outputs == kVariadic));
}

// Same start, dtype and strides: an elementwise kernel may read it while it writes.
bool is_same_window(const TensorImpl& a, const TensorImpl& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.sizes[i] != b.sizes[i] || (a.sizes[i] > 1 && a.strides[i] != b.strides[i])) return false;
  return true;
}

bool is_loop(const OpDef& def) { return def.kind == OpKind::kElementwise || def.kind == OpKind::kReduction; }

// Whether the result must be computed aside before it is copied into `out`.
bool needs_detour(const OpDef& def, const Tensor& out, const OutputSpec& spec, Inputs inputs) {
  if (out.dtype() != spec.dtype) return true;
  if (!is_loop(def) && !out.is_contiguous()) return true;
  for (size_t i = def.overwrites ? 1 : 0; i < inputs.size(); ++i) {
    const TensorImpl* impl = inputs[i]->impl_or_null();
    if (!impl || impl->storage != out.impl().storage) continue;
    if (i == 0 && def.may_update_self && is_same_window(*impl, out.impl())) continue;
    if (def.kind != OpKind::kElementwise || !is_same_window(*impl, out.impl())) return true;
  }
  return false;
}

using OutputList = absl::InlinedVector<Tensor, 2>;

// What a call will write: its inference, and the results themselves where a composite had to compute them to know.
struct Written {
  Inference inference;
  OutputList ready;

  const OutputSpec& spec(size_t i = 0) const { return inference.outputs[i]; }
};

Written prepare_write(OpSlot& slot, const OpCall& call, Device device, size_t outputs = 1) {
  const OpDef& def = call.op;
  if (def.outputs != static_cast<int>(outputs) || def.kind == OpKind::kView)
    throw_error<InvalidArgumentError>(def.name, ": has no form that writes into ",
                                      outputs == 1 ? "a tensor" : str_cat(outputs, " tensors"),
                                      "; use the one that returns its results");
  const DTypes types = dtypes_of(call);
  if (!def.composite || internal::is_native(slot.kernel(device.type, types.compute))) return {infer(call, types), {}};
  Written written{Inference(call, types), OutputList(outputs)};
  const ModeGuard no_grad(0, kModeGrad);
  call.op.composite(call, written.ready);
  for (const Tensor& t : written.ready) written.inference.add_output(t.shape(), t.dtype());
  return written;
}

// Computes the outputs of a call into `outs`, those aside first that overlap operands or have another dtype.
void write_through(OpSlot& slot, const OpCall& call, const Written& written, std::span<const Tensor> outs,
                   std::span<const Tensor> by_products) {
  if (!written.ready.empty()) {
    for (size_t i = 0; i < outs.size(); ++i) internal::copy_apart(outs[i], written.ready[i]);
    return;
  }
  OutputList direct;
  for (size_t i = 0; i < outs.size(); ++i) {
    const OutputSpec& spec = written.spec(i);
    const bool aside = needs_detour(call.op, outs[i], spec, call.inputs);
    direct.push_back(aside ? internal::make_contiguous(spec.shape, spec.dtype, outs[i].device()) : outs[i]);
  }
  internal::invoke(slot, call, written.inference.dtypes, outs[0].device(), direct, by_products);
  for (size_t i = 0; i < outs.size(); ++i)
    if (!direct[i].is_same(outs[i])) internal::copy_values(outs[i], direct[i]);
}

struct FastPlan {
  TensorImpl* impls[kMaxLoopOperands];
  TensorImpl* shape = nullptr;  // the operand that has the result's shape
};

// Same device, dtype and row-major shape, or scalars of that dtype: the plan is one loop.
bool match_fast(const OpDef& def, Inputs inputs, FastPlan* fast) {
  TensorImpl* first = inputs[0]->impl_or_null();
  if (!first) return false;
  fast->shape = first;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorImpl* t = inputs[i]->impl_or_null();
    if (!t || !t->is_contiguous() || t->dtype != first->dtype || t->device != first->device) return false;
    fast->impls[i] = t;
    if (t == fast->shape) continue;
    if (t->rank == 0) continue;
    if (fast->shape->rank == 0) {
      fast->shape = t;
      continue;
    }
    if (t->rank != fast->shape->rank) return false;
    for (int d = 0; d < t->rank; ++d)
      if (t->sizes[d] != fast->shape->sizes[d]) return false;
  }
  return !def.infer && def.cast_inputs == 0xff;
}

void run_fast(const KernelEntry& kernel, const OpDef& def, const void* attrs, DType compute, TensorImpl& out,
              const FastPlan& fast, size_t count) {
  LoopPlan loop;
  loop.ndim = 1;
  loop.operands = static_cast<int>(count) + 1;
  loop.numel = out.numel;
  loop.reduction = false;
  loop.reduced = 1;
  loop.sizes[0] = out.numel;
  loop.data[0] = out.data;
  loop.strides[0][0] = static_cast<int64_t>(dtype_size(out.dtype));
  for (size_t i = 0; i < count; ++i) {
    const TensorImpl& in = *fast.impls[i];
    loop.data[i + 1] = in.data;
    loop.strides[i + 1][0] = in.numel == out.numel ? static_cast<int64_t>(dtype_size(in.dtype)) : 0;
  }
  KernelContext context;
  context.op = &def;
  context.attrs = attrs;
  context.loop = &loop;
  context.compute = compute;
  // The CPU has no stream but the default one, and is spared the look.
  if (out.device != Device(kCPU)) context.stream = current_stream(out.device);
  TensorArg out_arg;
  out_arg.dtype = out.dtype;
  context.outputs = {&out_arg, 1};
  const Status status = kernel.run(context);
  if (!status.ok()) [[unlikely]]
    throw_if_error(status, def.name);
}

// The kernel of an elementwise call on equal operands; null when it needs inference, casts, a plan or a workspace.
const KernelEntry* fast_kernel(OpSlot& slot, Inputs inputs, const void* attrs, FastPlan* fast, DTypes* types) {
  const OpDef& def = slot.def();
  if (inputs.size() >= kMaxLoopOperands || !match_fast(def, inputs, fast)) return nullptr;
  const DType dtype = fast->shape->dtype;
  *types = def.dtypes ? def.dtypes({def, inputs, attrs}) : DTypes{dtype, dtype};
  if (types->compute != dtype) return nullptr;
  const KernelEntry* kernel = slot.kernel(fast->shape->device.type, dtype);
  return internal::is_native(kernel) && !kernel->plan && !kernel->workspace ? kernel : nullptr;
}

// The common case, elementwise on equal operands, without inference. False when it does not apply.
bool call_fast(OpSlot& slot, Inputs inputs, const void* attrs, Tensor* result) {
  const OpDef& def = slot.def();
  FastPlan fast;
  DTypes types;
  const KernelEntry* kernel = fast_kernel(slot, inputs, attrs, &fast, &types);
  if (!kernel) return false;
  *result = internal::make_contiguous(fast.shape->shape_span(), types.output, fast.shape->device);
  run_fast(*kernel, def, attrs, types.compute, result->impl(), fast, inputs.size());
  if (should_record(def, inputs)) hooks().recorder->record(slot, inputs, attrs, {result, 1}, {});
  return true;
}

// The common case of a write in place: equal operands and nothing to record. False when it does not apply.
bool call_in_place_fast(OpSlot& slot, TensorImpl& self, Inputs inputs, const void* attrs) {
  const OpDef& def = slot.def();
  // It allocates nothing, so the ledger need not know of it.
  const bool hooked = thread_state().mode & kModeHooked & ~uint32_t{kModeLedger};
  if (def.kind != OpKind::kElementwise || def.overwrites || hooked) return false;
  if ((thread_state().mode & kModeGrad) && (any_needs_grad(inputs) || (self.base && self.base->needs_grad())))
    return false;
  FastPlan fast;
  DTypes types;
  const KernelEntry* kernel = fast_kernel(slot, inputs, attrs, &fast, &types);
  if (!kernel || inputs[0]->impl_or_null() != &self || fast.shape != &self || types.output != self.dtype) return false;
  for (size_t i = 1; i < inputs.size(); ++i)
    if (fast.impls[i]->storage == self.storage && !is_same_window(*fast.impls[i], self)) return false;
  run_fast(*kernel, def, attrs, types.compute, self, fast, inputs.size());
  self.storage->bump_version(def.name.data());
  return true;
}

absl::InlinedVector<Tensor, 1> make_by_products(const OpCall& call, const Inference& inference, Device device,
                                                bool recording) {
  absl::InlinedVector<Tensor, 1> by_products;
  if (call.op.by_products == 0) return by_products;
  const bool wanted = recording && hooks().recorder->saves_for(call.op, call.inputs, call.attrs).any_by_product();
  for (const OutputSpec& spec : inference.by_products)
    by_products.push_back(wanted ? internal::make_contiguous(spec.shape, spec.dtype, device) : Tensor());
  return by_products;
}

OutputList call_composite(const OpCall& call, OpSlot& slot, bool recording) {
  OutputList outputs(static_cast<size_t>(call.op.outputs));
  if (!recording) {
    call.op.composite(call, outputs);
    return outputs;
  }
  {
    const ModeGuard no_grad(0, kModeGrad);
    call.op.composite(call, outputs);
  }
  hooks().recorder->record(slot, call.inputs, call.attrs, outputs, {});
  return outputs;
}

OutputList call_general(OpSlot& slot, Inputs inputs, const void* attrs) {
  const OpDef& def = slot.def();
  check_inputs(def, inputs);
  const AnnotationScope annotation(Annotation::Kind::kOperator, def.name, inputs);
  const OpCall call{def, inputs, attrs};
  const Device device = common_device(def, inputs);
  const DTypes types = dtypes_of(call);
  const bool recording = should_record(def, inputs);
  if (recording) internal::check_dry_history(def.name, inputs);
  if (def.composite && !internal::is_native(slot.kernel(device.type, types.compute)))
    return call_composite(call, slot, recording);
  const Inference inference = infer(call, types);
  OutputList outputs;
  if (def.kind == OpKind::kView) {
    make_views(def, *inputs[0], inference, outputs);
    if (recording) hooks().recorder->record(slot, inputs, attrs, outputs, {});
    return outputs;
  }
  for (const OutputSpec& spec : inference.outputs)
    outputs.push_back(internal::make_contiguous(spec.shape, spec.dtype, device));
  const auto by_products = make_by_products(call, inference, device, recording);
  internal::invoke(slot, call, types, device, outputs, by_products);
  if (recording) hooks().recorder->record(slot, inputs, attrs, outputs, by_products);
  return outputs;
}

}  // namespace

Tensor call(OpSlot& slot, Inputs inputs, const void* attrs) {
  const uint32_t hooked = thread_state().mode & kModeHooked;
  if (slot.def().kind == OpKind::kElementwise && !(hooked & ~uint32_t{kModeLedger})) {
    Tensor result;
    if (!hooked) [[likely]] {
      if (call_fast(slot, inputs, attrs, &result)) return result;
    } else {  // the ledger alone, which wants the operator's name and no more
      const AnnotationScope annotation(Annotation::Kind::kOperator, slot.def().name, inputs);
      if (call_fast(slot, inputs, attrs, &result)) return result;
    }
  }
  return std::move(call_general(slot, inputs, attrs)[0]);
}

std::vector<Tensor> call_all(OpSlot& slot, Inputs inputs, const void* attrs) {
  OutputList outputs = call_general(slot, inputs, attrs);
  return {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};
}

void call_out(OpSlot& slot, Tensor& out, Inputs inputs, const void* attrs) {
  Tensor* const outs[] = {&out};
  call_out_all(slot, outs, inputs, attrs);
}

void call_out_all(OpSlot& slot, std::span<Tensor* const> outs, Inputs inputs, const void* attrs) {
  const OpDef& def = slot.def();
  check_inputs(def, inputs);
  const AnnotationScope annotation(Annotation::Kind::kOperator, def.name, inputs);
  const OpCall call{def, inputs, attrs};
  const Device device = common_device(def, inputs);
  for (const Tensor* out : outs) internal::check_destination(def.name, *out, device, any_needs_grad(inputs));
  internal::check_apart(def.name, outs);
  const Written written = prepare_write(slot, call, device, outs.size());
  for (size_t i = 0; i < outs.size(); ++i)
    internal::check_takes(def.name, *outs[i], written.spec(i).shape, written.spec(i).dtype);
  OutputList targets;
  for (size_t i = 0; i < outs.size(); ++i) targets.push_back(internal::with_shape(*outs[i], written.spec(i).shape));
  write_through(slot, call, written, targets, {});
  for (size_t i = 0; i < outs.size(); ++i) internal::finish_write(def.name, *outs[i], targets[i]);
}

void call_in_place(OpSlot& slot, Tensor& self, Inputs inputs, const void* attrs) {
  if (self.defined() && call_in_place_fast(slot, self.impl(), inputs, attrs)) return;
  const OpDef& def = slot.def();
  check_inputs(def, inputs);
  const AnnotationScope annotation(Annotation::Kind::kOperator, def.name, inputs);
  const OpCall call{def, inputs, attrs};
  if (const Device device = common_device(def, inputs); self.device() != device)
    throw_error<DeviceError>(def.name, "_: self is on ", self.device(), ", an operand on ", device);
  internal::check_dry_write(def.name, self);
  const Written written = prepare_write(slot, call, self.device());
  const OutputSpec& spec = written.spec();
  const bool fits = def.overwrites ? is_broadcastable_to(spec.shape, self.shape()) : spec.shape == self.shape();
  if (!fits)
    throw_error<ShapeError>(def.name, "_: the result has shape ", spec.shape, ", which does not fit self of shape ",
                            self.shape(), "; use the form that is not in place");
  if (!def.overwrites) internal::check_result_dtype(def.name, spec.dtype, self.dtype());
  internal::check_writable(def.name, self);
  const bool recording = is_differentiable(self.dtype()) && should_record(def, inputs);
  if (recording) internal::check_dry_history(def.name, inputs);
  Recorder* recorder = hooks().recorder;
  if (recorder && (thread_state().mode & kModeGrad)) recorder->check_in_place(def, self, recording);
  Tensor old_self;
  absl::InlinedVector<Tensor, 1> by_products;
  if (recording) {
    if (recorder->saves_for(def, inputs, attrs).has_input(0)) old_self = internal::cast_copy(self, self.dtype());
    by_products = make_by_products(call, written.inference, self.device(), true);
  }
  write_through(slot, call, written, {&self, 1}, by_products);
  self.impl().storage->bump_version(def.name.data());
  if (recording) recorder->record_in_place(slot, inputs, attrs, self, old_self, by_products);
}

}  // namespace vellum
