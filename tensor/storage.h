#ifndef VELLUM_TENSOR_STORAGE_H_
#define VELLUM_TENSOR_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "vellum/allocator/allocator.h"
#include "vellum/device/object_pool.h"
#include "vellum/device/stream.h"

namespace vellum {

// What a block is or was used for.
enum class MemoryRole : uint8_t { kNone, kParameter, kBuffer, kOptimizerState, kGradient, kSaved };

// Where a block comes from, written by the ledger (memory/) for what is allocated while it is on. The numbers are those
// of its tables.
struct StorageOrigin {
  uint64_t id = 0;    // 0: unknown, and then the rest is not set
  uint64_t sequence;  // of the node that its operator recorded, or that the thread recorded next
  uint32_t op;        // that allocated it; within a step of the backward pass, that step
  uint32_t module;
  uint32_t label;                  // the user's, innermost
  uint32_t epoch;                  // how many LeakScopes had begun or ended
  bool wants_description = false;  // Ledger::described is to be called
};

// A reference-counted block of bytes with its device, its allocator and its version counter. Every tensor, view and
// detached alias over the same bytes shares the one Storage, hence the one counter.
class Storage {
 public:
  // Memory from `allocator`, owned. Throws OutOfMemoryError with the allocator's statistics.
  static Storage* allocate(int64_t bytes, Device device);
  static Storage* allocate(int64_t bytes, Device device, Allocator& source);
  // Memory of somebody else. `deleter(context)` runs when the last reference goes; it may be null.
  static Storage* borrow(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context);

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  // `watcher(context)` runs when memory of an allocator has been given back. One for each storage.
  void watch(void (*watcher)(void*), void* context) {
    deleter_ = watcher;
    context_ = context;
  }

  void* data() const { return block_.data; }
  int64_t bytes() const { return static_cast<int64_t>(block_.bytes); }
  Device device() const { return stream_.device; }
  // Where the memory came from; null when borrowed.
  Allocator* source() const { return allocator_; }
  // Makes known that work enqueued on `stream` uses the memory, which is then not reused before that has finished.
  void record_stream(const Stream& stream) {
    if (allocator_) allocator_->record_stream(block_, stream);
  }
  uint32_t use_count() const { return refs_.load(std::memory_order_relaxed); }

  // Counts the writes that autograd must know of. Wraps around.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // `writer` names the operator for the error that a stale saved tensor raises; static storage duration.
  void bump_version(const char* writer = "mutable_data") {
    version_.fetch_add(1, std::memory_order_relaxed);
    last_writer_ = writer;
  }
  const char* last_writer() const { return last_writer_; }

  // For the ledger.
  const Block& block() const { return block_; }
  const Stream& stream() const { return stream_; }
  StorageOrigin& origin() { return origin_; }
  const StorageOrigin& origin() const { return origin_; }
  // A bit for each MemoryRole that the block ever had. Two threads that note at once may lose one.
  uint8_t roles() const { return roles_.load(std::memory_order_relaxed); }
  void note_role(MemoryRole role) {
    roles_.store(static_cast<uint8_t>(roles() | 1u << static_cast<unsigned>(role)), std::memory_order_relaxed);
  }

 private:
  Storage(Allocator* allocator, const Block& block, const Stream& stream)
      : allocator_(allocator), block_(block), stream_(stream) {}
  void destroy();
  void discard();

  std::atomic<uint32_t> refs_{1};
  std::atomic<uint32_t> version_{0};
  const char* last_writer_ = "";
  Allocator* allocator_;  // null when borrowed
  Block block_;
  Stream stream_;
  void (*deleter_)(void*) = nullptr;
  void* context_ = nullptr;
  StorageOrigin origin_;
  std::atomic<uint8_t> roles_{0};
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_STORAGE_H_
