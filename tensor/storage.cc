#include "vellum/tensor/storage.h"

#include <new>

#include "vellum/allocator/memory.h"
#include "vellum/device/error.h"

namespace vellum {

Storage* Storage::allocate(int64_t bytes, Device device) {
  Allocator& source = allocator(device);
  const Stream stream = current_stream(device);
  Block block;
  const Status status = source.allocate(static_cast<size_t>(bytes), kDefaultAlignment, stream, &block);
  if (!status.ok()) [[unlikely]] {
    if (status.code != StatusCode::kOutOfMemory) throw_if_error(status, "allocate");
    const MemoryStats stats = source.stats();
    throw_error<OutOfMemoryError>("out of memory on ", device, ": ", bytes, " bytes requested, ", stats.active.current,
                                  " live, ", stats.reserved.current - stats.active.current,
                                  " cached, largest free block ", stats.largest_free,
                                  " bytes; free tensors, use a smaller batch or call empty_cache()");
  }
  return new (internal::pool_allocate(sizeof(Storage))) Storage(&source, block, stream);
}

Storage* Storage::borrow(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context) {
  Block block{data, static_cast<size_t>(bytes), nullptr};
  auto* storage = new (internal::pool_allocate(sizeof(Storage))) Storage(nullptr, block, current_stream(device));
  storage->deleter_ = deleter;
  storage->context_ = context;
  return storage;
}

void Storage::destroy() {
  if (allocator_) allocator_->deallocate(block_, stream_);
  if (deleter_) deleter_(context_);
  this->~Storage();
  internal::pool_deallocate(this, sizeof(Storage));
}

}  // namespace vellum
