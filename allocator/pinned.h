#ifndef VELLUM_ALLOCATOR_PINNED_H_
#define VELLUM_ALLOCATOR_PINNED_H_

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vellum/allocator/allocator.h"
#include "vellum/device/device.h"

namespace vellum {

// Keeps page-locked host memory for the next request of its size: locking pages costs far more than a copy.
//
// A block is never cut nor merged. Requests are rounded up to whole pages, and from 32 KiB on to one of eight steps in
// each doubling, so that a block occupies at most 1.125 times the request where PyTorch's next power of two takes
// twice.
//
// `stream` of allocate and deallocate is not looked at: host memory belongs to no stream. Copies that a device makes
// later are made known by `record_stream`; the block is then handed out again once an event recorded on each of these
// streams, when the block was freed, has completed. Events are polled at the next allocation, the streams
// independently of each other. Blocks that wait so count as active.
//
// When upstream has no memory, what is cached is returned to it, then what waits is waited for, before kOutOfMemory.
// Thread-safe, by one lock. All blocks must be freed before the allocator is destroyed.
class PinnedAllocator final : public Allocator {
 public:
  // With `host_accessible` false upstream gives addresses without memory, as in a dry run.
  explicit PinnedAllocator(std::unique_ptr<Allocator> upstream, bool host_accessible = true);
  ~PinnedAllocator() override;

  std::string_view name() const override { return "pinned"; }
  // `alignment` up to kDefaultAlignment.
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  // Ignored on a device without events. When no host memory is left to note the use, the block is never reused.
  void record_stream(const Block& block, const Stream& stream) noexcept override;
  void release_stream(const Stream& stream) noexcept override;
  void empty_cache() noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  size_t active_bytes(const Block& block) const noexcept override;
  void visit_segments(SegmentVisitor& visitor) const override;
  EventSource* events() noexcept override { return events_; }

  // What a block for `bytes` occupies.
  static size_t rounded_bytes(size_t bytes);

 private:
  // One piece of memory from upstream, handed out whole.
  struct Piece {
    Block memory;
    size_t bytes = 0;
    size_t requested = 0;
    bool live = false;
    bool retired = false;  // a use could not be noted: it may never end
    int pending = 0;       // events of its last use that have not completed
    std::vector<Stream> uses;
    Piece* next = nullptr;  // of the free ones of its size
  };
  struct Pending {
    EventHandle event;
    Piece* piece;
  };
  struct Queue {
    std::deque<Pending> events;  // in their order on the stream
    bool ended = false;          // so is the stream
  };

  // All to be called under the lock.
  Status find(size_t bytes, Piece** out, std::unique_lock<std::mutex>& lock);
  Status grow(size_t bytes, Piece** out);
  Piece* take_cached(size_t bytes);
  void make_free(Piece& piece);
  bool guard(Piece& piece, const Stream& stream);
  void complete(const Pending& done);
  void poll();
  void wait_for_pending(std::unique_lock<std::mutex>& lock);
  void release_cached();
  void return_to_upstream(const Piece& piece);

  const std::unique_ptr<Allocator> upstream_;
  EventSource* const events_;   // null: the device works at once
  const bool host_accessible_;  // AddressSanitizer then reports uses of freed blocks

  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<Piece>> pieces_;  // by address
  std::map<size_t, Piece*> cached_;                                 // by bytes, the last freed first
  std::map<StreamHandle, Queue> pending_;
  std::vector<EventHandle> spare_events_;
  MemoryStats stats_;
};

// The allocator of the page-locked host memory that `device` copies from and to asynchronously. Made at first use and
// never destroyed. On the CPU it gives memory that the system may not swap out, where the limits of the process allow
// it. Throws NotImplementedError when the device has none. Thread-safe.
PinnedAllocator& pinned_allocator(Device device);
// The same if it was made, else null.
PinnedAllocator* find_pinned_allocator(Device device);

// The device that pinned memory is for unless one is named: this thread's current device if it is an accelerator, else
// device 0 of the first registered accelerator with page-locked memory, else the CPU.
Device default_pinning_device();

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_PINNED_H_
