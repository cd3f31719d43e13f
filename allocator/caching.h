#ifndef VELLUM_ALLOCATOR_CACHING_H_
#define VELLUM_ALLOCATOR_CACHING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/caching_options.h"
#include "vellum/allocator/caching_thread_cache.h"

namespace vellum {

// Keeps freed memory for the next request of its kind.
//
// Requests up to 1 MiB are rounded up by at most one eighth to a size class (to 64 bytes below 512) and, on the default
// stream, served from the calling thread's own free blocks without a lock. Everything else comes from a heap behind one
// short lock, which cuts memory from upstream by best fit and merges what is freed. A block serves the thread that
// freed it, whichever allocated it.
//
// Where upstream offers pages, the heap backs one range of addresses for each stream, and each of small and large
// requests, with as many pages as are needed at a time. Otherwise it takes segments of 2 MiB for requests up to 1 MiB,
// of 20 MiB for larger ones, and from 10 MiB on one for each request, in steps of 2 MiB.
//
// Streams. A block belongs to the stream it was allocated for, and once freed serves that stream's later work at once.
// When it was used on others (`record_stream`, or freed on another), it is out of reach and counts as active until an
// event recorded there at its free is complete, which is looked up whenever the heap is asked for memory. A stream
// without a free block that fits takes one from a stream that has nothing left to do; short of memory, from any, and
// its later work then waits for that of the other. Over an upstream without events, whose device works at once, a block
// freed is free. What belongs to a stream passes to the default stream before it is destroyed (`release_stream`, which
// waits for the device only where that has no event left). Memory whose use cannot be told stays; where the allocator
// is destroyed, it stays with upstream, which then lives for ever.
//
// When no free block serves a request, in this order: the pressure callbacks are called; memory that has been free for
// longest goes back, beyond the garbage_collection_threshold; upstream is asked. If that fails or memory_limit forbids
// it: free blocks of all streams are merged; just enough free memory goes back; the host waits for all pending blocks
// and everything free goes back. Then the request fails with kOutOfMemory.
//
// Statistics: `active` counts size classes, `split` what is free in segments or pages in use, `largest_free` the
// largest free block of the shared heap; the upstream counts are segments, or pages of extendable ones. In snapshots
// the free blocks of threads are cached ones; other threads may allocate and free while one is taken. All blocks must
// be freed before the allocator is destroyed.
class CachingAllocator final : public Allocator {
 public:
  // Throws InvalidArgumentError for options that cannot be (see check_options).
  explicit CachingAllocator(std::unique_ptr<Allocator> upstream, CachingOptions options = {});

  std::string_view name() const override { return "caching"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  void record_stream(const Block& block, const Stream& stream) noexcept override;
  void release_stream(const Stream& stream) noexcept override { heap_.release_stream(stream); }
  // At once for this thread and the shared heap; another thread's cache follows at its next allocation, and at its next
  // free goes as far as the shared heap.
  void empty_cache() noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  int64_t allocated_on_this_thread() noexcept override;
  size_t active_bytes(const Block& block) const noexcept override;
  uint64_t add_pressure_callback(PressureCallback callback) override;
  void remove_pressure_callback(uint64_t id) noexcept override;
  void visit_segments(SegmentVisitor& visitor) const override { heap_.visit(visitor); }
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override {
    heap_.observe(observer, source);
  }
  EventSource* events() noexcept override { return heap_.events(); }

  // What is wrong with the heap's lists while no other thread uses it, or nothing. For tests.
  std::string check_invariants() const { return heap_.check_invariants(); }

 private:
  // Shared with the threads that are calling them.
  using Callbacks = std::vector<std::pair<uint64_t, std::shared_ptr<const PressureCallback>>>;

  Status allocate_slow(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept;
  Status fetch(internal::ThreadCache& cache, const internal::HeapRequest& request, internal::BlockRecord** out);
  Status fetch_under_pressure(internal::ThreadCache& cache, const internal::HeapRequest& request,
                              internal::BlockRecord** out) noexcept;
  Status grow(const internal::HeapRequest& request, internal::BlockRecord** out) noexcept;
  bool take_cached(internal::ThreadCache& cache, const internal::HeapRequest& request,
                   internal::BlockRecord** out) noexcept;
  bool run_pressure_callbacks(size_t bytes);
  internal::BlockRecord* pop(internal::ThreadCache& cache, const internal::HeapRequest& request) noexcept;
  bool follow_empty_cache(internal::ThreadCache& cache) noexcept;
  void poll(internal::ThreadCache& cache) noexcept;
  void hand_out(internal::ThreadCache& cache, internal::BlockRecord* record, size_t bytes, Block* out) noexcept;
  void end_use(internal::ThreadCache& cache, internal::BlockRecord* record, size_t bytes) noexcept;
  void take_back(internal::ThreadCache& cache, internal::BlockRecord* record, size_t bytes, size_t active) noexcept;
  void limit(internal::ThreadCache& cache) noexcept;
  void deallocate_slow(const Block& block, const Stream& stream) noexcept;

  const size_t thread_cache_bytes_;
  internal::CachingHeap heap_;
  const bool poisons_;
  internal::ThreadCaches caches_;

  std::mutex callbacks_mutex_;
  Callbacks callbacks_;
  std::atomic<bool> has_callbacks_{false};
  uint64_t last_callback_ = 0;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_CACHING_H_
