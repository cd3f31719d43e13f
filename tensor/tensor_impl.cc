#include "vellum/tensor/tensor_impl.h"

#include "vellum/allocator/pinned.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/live_objects.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ledger.h"

namespace vellum::internal {
namespace {

void set_geometry(TensorImpl& impl, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  impl.rank = static_cast<uint8_t>(shape.size());
  int64_t numel = 1, step = 1;
  bool contiguous = true;
  for (int i = impl.rank - 1; i >= 0; --i) {
    impl.sizes[i] = shape[i];
    impl.strides[i] = strides[i];
    contiguous &= shape[i] == 1 || strides[i] == step;
    step *= shape[i];
    numel *= shape[i];
  }
  impl.numel = numel;
  impl.flags = contiguous || numel == 0 ? TensorImpl::kContiguous : 0;
}

int64_t checked_bytes(int64_t numel, std::span<const int64_t> shape, DType dtype) {
  int64_t bytes;
  if (__builtin_mul_overflow(numel, static_cast<int64_t>(dtype_size(dtype)), &bytes))
    throw_error<ShapeError>("shape ", Dims(shape), " of ", dtype, " needs more bytes than 63 bits can count");
  return bytes;
}

}  // namespace

void TensorImpl::destroy() {
  if (live_slot) [[unlikely]]
    LiveTable::remove(live_slot, LiveKind::kTensor);
  autograd.reset();  // it may refer to grad_fn
  if (grad_fn) grad_fn->release();
  if (base) base->release();
  Storage* bytes = storage;
  this->~TensorImpl();
  if (bytes) bytes->release();
  pool_deallocate(this, sizeof(TensorImpl));
}

Tensor make_contiguous(std::span<const int64_t> shape, DType dtype, Device device) {
  int64_t numel = 1;
  for (const int64_t n : shape) {
    if (__builtin_mul_overflow(numel, n, &numel) || n == 0) {
      numel = numel_of(shape);  // throws on an overflow
      break;
    }
  }
  Storage* storage = Storage::allocate(checked_bytes(numel, shape, dtype), device);
  TensorImpl* impl = TensorImpl::create();
  impl->dtype = dtype;
  impl->device = device;
  impl->storage = storage;
  impl->data = storage->data();
  impl->numel = numel;
  impl->rank = static_cast<uint8_t>(shape.size());
  int64_t step = 1;
  for (int i = impl->rank - 1; i >= 0; --i) {
    impl->sizes[i] = shape[i];
    impl->strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  track(*impl);
  Tensor made = Tensor::adopt(impl);
  if (is_dry_run()) [[unlikely]]
    hooks().dry_run->made(*impl);
  return made;
}

Tensor make_pinned(std::span<const int64_t> shape, DType dtype, Device device) {
  const int64_t bytes = checked_bytes(numel_of(shape), shape, dtype);
  Allocator& source = is_dry_run() ? hooks().dry_run->pinned(device) : pinned_allocator(device);
  Storage* storage = Storage::allocate(bytes, Device(kCPU), source);
  const Dims strides = contiguous_strides(shape);
  Tensor pinned = make_alias(storage, shape, {strides.begin(), strides.end()}, 0, dtype);
  storage->release();
  if (is_dry_run()) [[unlikely]]
    hooks().dry_run->made(pinned.impl());
  return pinned;
}

namespace {

Tensor untracked_alias(Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                       int64_t offset, DType dtype) {
  TensorImpl* impl = TensorImpl::create();
  storage->retain();
  impl->dtype = dtype;
  impl->device = storage->device();
  impl->storage = storage;
  impl->offset = offset;
  impl->data = static_cast<char*>(storage->data()) + offset * static_cast<int64_t>(dtype_size(dtype));
  set_geometry(*impl, shape, strides);
  return Tensor::adopt(impl);
}

}  // namespace

Tensor make_alias(Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset,
                  DType dtype) {
  Tensor alias = untracked_alias(storage, shape, strides, offset, dtype);
  track(alias.impl());
  return alias;
}

Tensor make_view(const Tensor& source, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset,
                 DType dtype, bool multi_output) {
  TensorImpl& from = source.impl();
  Tensor view = untracked_alias(from.storage, shape, strides, offset, dtype);
  TensorImpl& impl = view.impl();
  impl.base = from.base ? from.base : &from;
  impl.base->retain();
  impl.view_version.store(from.storage->version(), std::memory_order_relaxed);
  if (from.base && from.creation != CreationMode::kDefault)
    impl.creation = from.creation;
  else if (!(thread_state().mode & kModeGrad))
    impl.creation = CreationMode::kNoGrad;
  else if (multi_output)
    impl.creation = CreationMode::kMultiOutput;
  track(impl);
  return view;
}

void replace_memory(TensorImpl& to, const TensorImpl& from) {
  from.storage->retain();
  Storage* old_storage;
  TensorImpl* old_base;
  {
    const LiveGuard guard(to.live_slot);
    old_storage = std::exchange(to.storage, from.storage);
    old_base = std::exchange(to.base, nullptr);
    to.dtype = from.dtype;
    to.device = from.device;
    to.data = from.data;
    to.offset = from.offset;
    const uint8_t kept = to.flags & static_cast<uint8_t>(~TensorImpl::kContiguous);
    set_geometry(to, from.shape_span(), from.stride_span());
    to.flags |= kept;
  }
  if (to.role != MemoryRole::kNone) to.storage->note_role(to.role);
  // Not under the guard: what ends leaves its own table, which may be the same.
  if (old_base) old_base->release();
  old_storage->release();
}

Tensor untracked_alias(const Tensor& source) {
  const TensorImpl& from = source.impl();
  TensorImpl* impl = TensorImpl::create();
  from.storage->retain();
  impl->dtype = from.dtype;
  impl->rank = from.rank;
  impl->flags = from.flags & (TensorImpl::kContiguous | TensorImpl::kWrappedNumber);
  impl->device = from.device;
  impl->storage = from.storage;
  impl->data = from.data;
  impl->numel = from.numel;
  impl->offset = from.offset;
  for (int i = 0; i < from.rank; ++i) {
    impl->sizes[i] = from.sizes[i];
    impl->strides[i] = from.strides[i];
  }
  return Tensor::adopt(impl);
}

Tensor shallow_alias(const Tensor& source) {
  Tensor alias = untracked_alias(source);
  track(alias.impl());
  return alias;
}

}  // namespace vellum::internal
