#include "vellum/tests/fakes/reference_backend.h"

#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "vellum/device/device_api.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tensor/view_geometry.h"
#include "vellum/tests/conformance/values.h"

namespace vellum::testing {
namespace {

const DeviceApi& host() { return device_api(kCPU); }

constexpr DeviceApi kApi{
    .device_count = []() noexcept { return 1; },
    .allocate = [](int, size_t bytes, size_t alignment,
                   void** out) noexcept { return host().allocate(0, bytes, alignment, out); },
    .deallocate = [](int, void* data, size_t bytes) noexcept { return host().deallocate(0, data, bytes); },
    .copy = [](int, void* dst, const void* src, size_t bytes, CopyKind kind,
               StreamHandle stream) noexcept { return host().copy(0, dst, src, bytes, kind, stream); },
    .memset = [](int, void* dst, int byte, size_t bytes,
                 StreamHandle stream) noexcept { return host().memset(0, dst, byte, bytes, stream); },
    .host_accessible = true,
};

Dims shape_of(const TensorArg& arg) { return Dims(std::span(arg.sizes, arg.rank)); }
Dims strides_of(const TensorArg& arg) { return Dims(std::span(arg.strides, arg.rank)); }

RefTensor read(const TensorArg& arg, DType compute) {
  if (!arg.defined) return {{}, compute, {}};
  const Dims shape = shape_of(arg), strides = strides_of(arg);
  if (arg.numel == 0) return reference::zeros(shape, arg.dtype);
  const Tensor all = from_blob(arg.data, {reach(shape, strides)}, {arg.dtype, Device(kCPU)});
  return conformance::read(all.as_strided(shape, strides));
}

void write(const TensorArg& arg, const RefTensor& values) {
  const Tensor row_major = conformance::to_tensor(conformance::cast(values, arg.dtype), Device(kCPU));
  const size_t size = dtype_size(arg.dtype);
  const char* from = static_cast<const char*>(row_major.impl().data);
  for (int64_t i = 0; i < arg.numel; ++i)
    std::memcpy(static_cast<char*>(arg.data) +
                    static_cast<size_t>(reference::strided_index(i, shape_of(arg), strides_of(arg))) * size,
                from + static_cast<size_t>(i) * size, size);
}

struct Used {
  std::mutex mutex;
  std::set<std::string_view> names;
};

Used& used() {
  static Used& instance = *new Used;
  return instance;
}

// By-products, for which most references say nothing, follow the outputs.
Status evaluate(const KernelContext& context) {
  std::vector<RefTensor> inputs;
  for (const TensorArg& arg : context.inputs) {
    const bool unread = inputs.empty() && context.op->overwrites;  // its memory may hold no values yet
    inputs.push_back(unread ? reference::zeros(shape_of(arg), arg.dtype) : read(arg, context.compute));
  }
  const DTypes types{context.compute, context.outputs[0].dtype};
  const std::vector<RefTensor> results =
      conformance::evaluate_all(*context.op, inputs, context.attrs, types, context.random);
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    if (!context.outputs[i].defined) continue;
    if (i >= results.size()) return {StatusCode::kUnsupported, "the reference says nothing of a by-product"};
    if (static_cast<int64_t>(results[i].values.size()) != context.outputs[i].numel)
      return {StatusCode::kInvalidArgument, "the reference gives another number of elements than the shape rule"};
    write(context.outputs[i], results[i]);
  }
  std::lock_guard lock(used().mutex);
  used().names.insert(context.op->name);
  return ok_status();
}

Status run(const KernelContext& context) noexcept {
  try {
    return evaluate(context);
  } catch (const std::exception&) {
    return {StatusCode::kInvalidArgument, "the reference threw"};
  }
}

// That there is a plan keeps calls off the fast path, which passes loops and no tensors.
Status plan(KernelContext&) noexcept { return ok_status(); }

std::vector<KernelEntry> all_references() {
  std::vector<KernelEntry> entries;
  for (const OpSlot* slot : all_operators()) {
    const OpDef& op = slot->def();
    const bool has_reference = op.reference.element || op.reference.tensors;
    if (!has_reference || op.kind == OpKind::kView || op.name == "to_device") continue;
    entries.push_back({op.kernel.empty() ? op.name : op.kernel, op.domain, run, plan});
  }
  return entries;
}

}  // namespace

DeviceType register_reference_backend() {
  static const std::vector<KernelEntry> entries = all_references();
  static const Backend backend{.name = "reference", .device = &kApi, .kernels = entries};
  return register_backend(backend);
}

std::set<std::string_view> references_used() {
  std::lock_guard lock(used().mutex);
  return used().names;
}

}  // namespace vellum::testing
