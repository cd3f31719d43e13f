#ifndef VELLUM_TENSOR_STORAGE_H_
#define VELLUM_TENSOR_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "vellum/allocator/allocator.h"
#include "vellum/device/object_pool.h"
#include "vellum/device/stream.h"

namespace vellum {

// A reference-counted block of bytes with its device, its allocator and its version counter. Every tensor, view and
// detached alias over the same bytes shares the one Storage, hence the one counter.
class Storage {
 public:
  // Memory from `allocator`, owned. Throws OutOfMemoryError with the allocator's statistics.
  static Storage* allocate(int64_t bytes, Device device);
  // Memory of somebody else. `deleter(context)` runs when the last reference goes; it may be null.
  static Storage* borrow(void* data, int64_t bytes, Device device, void (*deleter)(void*), void* context);

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  // Whose memory it is; null when borrowed.
  const Allocator* source() const { return allocator_; }
  // `watcher(context)` runs when memory of an allocator has been given back. One for each storage.
  void watch(void (*watcher)(void*), void* context) {
    deleter_ = watcher;
    context_ = context;
  }

  void* data() const { return block_.data; }
  int64_t bytes() const { return static_cast<int64_t>(block_.bytes); }
  Device device() const { return stream_.device; }
  uint32_t use_count() const { return refs_.load(std::memory_order_relaxed); }

  // Counts the writes that autograd must know of. Wraps around.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // `writer` names the operator for the error that a stale saved tensor raises; static storage duration.
  void bump_version(const char* writer = "mutable_data") {
    version_.fetch_add(1, std::memory_order_relaxed);
    last_writer_ = writer;
  }
  const char* last_writer() const { return last_writer_; }

 private:
  Storage(Allocator* allocator, const Block& block, const Stream& stream)
      : allocator_(allocator), block_(block), stream_(stream) {}
  void destroy();

  std::atomic<uint32_t> refs_{1};
  std::atomic<uint32_t> version_{0};
  const char* last_writer_ = "";
  Allocator* allocator_;  // null when borrowed
  Block block_;
  Stream stream_;
  void (*deleter_)(void*) = nullptr;
  void* context_ = nullptr;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_STORAGE_H_
