#ifndef VELLUM_ALLOCATOR_CACHING_H_
#define VELLUM_ALLOCATOR_CACHING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/caching_thread_cache.h"

namespace vellum {

struct CachingOptions {
  // The host may touch the memory. AddressSanitizer then reports uses of freed blocks and of rounding tails.
  bool host_accessible = true;
  // Bytes of free blocks that a thread keeps to itself; beyond, half of them go to the shared heap.
  size_t thread_cache_bytes = size_t{4} << 20;
};

// Keeps freed memory for the next request of its kind.
//
// Requests up to 1 MiB are rounded up by at most one eighth to a size class (to 64 bytes below 512) and served from
// the calling thread's own free blocks without a lock. Everything else comes from a heap behind one short lock, which
// cuts segments from upstream by best fit and merges what is freed: segments of 2 MiB for requests up to 1 MiB, of
// 20 MiB for larger ones, and from 10 MiB on one for each request, in steps of 2 MiB. A block freed on another thread
// returns to the thread that allocated it.
//
// When upstream has no memory, everything cached is returned to it and the request repeated before kOutOfMemory.
//
// Memory is reused only for the stream it was first allocated on, whichever stream frees it. Uses on other streams are
// not tracked, so `record_stream` does nothing: upstream must be a device that works at once.
//
// Statistics: `active` counts size classes, `split` the free remainders of segments in use, `largest_free` the largest
// free block of the shared heap. All blocks must be freed before the allocator is destroyed.
class CachingAllocator final : public Allocator {
 public:
  explicit CachingAllocator(std::unique_ptr<Allocator> upstream, CachingOptions options = {});

  std::string_view name() const override { return "caching"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  // At once for this thread and the shared heap; another thread's cache follows at its next allocation.
  void empty_cache() noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  int64_t allocated_on_this_thread() noexcept override;
  size_t active_bytes(const Block& block) const noexcept override;

 private:
  Status allocate_slow(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept;
  Status fetch(internal::ThreadCache& cache, const internal::HeapRequest& request,
               internal::BlockRecord** out) noexcept;
  Status fetch_under_pressure(internal::ThreadCache& cache, const internal::HeapRequest& request,
                              internal::BlockRecord** out) noexcept;
  internal::BlockRecord* pop(internal::ThreadCache& cache, const internal::HeapRequest& request) noexcept;
  void collect_remote(internal::ThreadCache& cache) noexcept;
  void follow_empty_cache(internal::ThreadCache& cache) noexcept;
  void hand_out(internal::ThreadCache& cache, internal::BlockRecord* record, size_t bytes, Block* out) noexcept;
  void take_back(internal::ThreadCache& cache, internal::BlockRecord* record, size_t bytes) noexcept;
  void limit(internal::ThreadCache& cache) noexcept;
  void deallocate_slow(const Block& block) noexcept;

  const CachingOptions options_;
  internal::CachingHeap heap_;
  internal::ThreadCaches caches_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_CACHING_H_
