#include "vellum/tensor/storage.h"

#include <new>
#include <string>

#include "vellum/allocator/memory.h"
#include "vellum/allocator/out_of_memory.h"
#include "vellum/device/error.h"
#include "vellum/tensor/internal/allocate_block.h"
#include "vellum/tensor/ledger.h"

namespace vellum {
namespace {

[[noreturn, gnu::cold]] void throw_no_block(const Status& status, int64_t bytes, Device device, const Allocator& source,
                                            std::string_view purpose) {
  if (status.code != StatusCode::kOutOfMemory) throw_if_error(status, purpose.empty() ? "allocate" : purpose);
  const std::string text = str_cat(purpose, purpose.empty() ? "" : ": ", out_of_memory_text(device, bytes, source));
  Ledger* ledger = hooks().ledger;
  throw_error<OutOfMemoryError>(text, ledger ? ledger->out_of_memory(device, bytes, source, text) : std::string());
}

}  // namespace

namespace internal {

void allocate_block(int64_t bytes, const Stream& stream, Allocator& source, std::string_view purpose, Block* out) {
  const Status status = source.allocate(static_cast<size_t>(bytes), kDefaultAlignment, stream, out);
  if (!status.ok()) [[unlikely]]
    throw_no_block(status, bytes, stream.device, source, purpose);
}

}  // namespace internal

Storage* Storage::allocate(int64_t bytes, Device device) { return allocate(bytes, device, allocator(device)); }

Storage* Storage::allocate(int64_t bytes, Device device, Allocator& source) {
  const Stream stream = current_stream(device);
  auto* storage = new (internal::pool_allocate(sizeof(Storage))) Storage(&source, {}, stream);
  try {
    internal::allocate_block(bytes, stream, source, "", &storage->block_);
  } catch (...) {
    storage->discard();
    throw;
  }
  if (Ledger* ledger = active_ledger()) [[unlikely]]
    ledger->allocated(*storage);
  return storage;
}

Storage* Storage::borrow(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context) {
  Block block{data, static_cast<size_t>(bytes), nullptr};
  auto* storage = new (internal::pool_allocate(sizeof(Storage))) Storage(nullptr, block, current_stream(device));
  storage->deleter_ = deleter;
  storage->context_ = context;
  return storage;
}

void Storage::destroy() {
  if (origin_.id && hooks().ledger->hears_of_frees()) [[unlikely]]
    hooks().ledger->freed(*this);
  if (allocator_) allocator_->deallocate(block_, stream_);
  if (deleter_) deleter_(context_);
  discard();
}

void Storage::discard() {
  this->~Storage();
  internal::pool_deallocate(this, sizeof(Storage));
}

}  // namespace vellum
