#include "vellum/allocator/caching.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"

namespace vellum {

using internal::BlockRecord;
using internal::HeapRequest;
using internal::kNoClass;
using internal::ThreadCache;
using internal::ThreadCaches;

namespace {

bool is_cacheable(const HeapRequest& request) { return internal::is_small(request) && request.stream.handle == 0; }

}  // namespace

CachingAllocator::CachingAllocator(std::unique_ptr<Allocator> upstream, CachingOptions options)
    : thread_cache_bytes_(options.thread_cache_bytes),
      heap_(std::move(upstream), (check_options(options), options)),
      poisons_(heap_.poisons()),
      caches_(heap_) {}

Status CachingAllocator::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (bytes - 1 < internal::kMaxClassBytes && alignment == kDefaultAlignment && stream.handle == 0) [[likely]] {
    ThreadCache* cache = caches_.find_fast();
    if (cache && cache->epoch == caches_.epoch()) [[likely]] {
      if (BlockRecord* record = cache->pop(internal::size_class(bytes))) [[likely]] {
        hand_out(*cache, record, bytes, out);
        return ok_status();
      }
    }
  }
  return allocate_slow(bytes, alignment, stream, out);
}

void CachingAllocator::deallocate(const Block& block, const Stream& stream) noexcept {
  auto* record = static_cast<BlockRecord*>(block.handle);
  ThreadCache* cache = caches_.find_fast();
  if (!record || !cache || cache->epoch != caches_.epoch() || record->size_class == kNoClass || stream.handle != 0)
      [[unlikely]]
    return deallocate_slow(block, stream);
  // What the record says too, but it may have to come from another core: nothing here waits for that.
  const uint32_t size_class = internal::size_class(block.bytes);
  const size_t bytes = internal::class_bytes(size_class);
  take_back(*cache, record, block.bytes, bytes);
  cache->push(record, size_class, bytes);
  limit(*cache);
}

inline void CachingAllocator::limit(ThreadCache& cache) noexcept {
  if (cache.bytes() > thread_cache_bytes_) [[unlikely]]
    heap_.give(cache.detach_half());
}

inline void CachingAllocator::hand_out(ThreadCache& cache, BlockRecord* record, size_t bytes, Block* out) noexcept {
  record->requested.store(bytes, std::memory_order_relaxed);
  cache.requested.increase(static_cast<int64_t>(bytes));
  cache.active.increase(static_cast<int64_t>(record->bytes));
  cache.allocations.add(1);
  if (poisons_) internal::unpoison(record->data, bytes);
  *out = {record->data, bytes, record};
}

inline void CachingAllocator::end_use(ThreadCache& cache, BlockRecord* record, size_t bytes) noexcept {
  if (record->requested.load(std::memory_order_relaxed) == 0) [[unlikely]]
    internal::die_of_double_free("CachingAllocator", {record->data, bytes, record});
  record->requested.store(0, std::memory_order_relaxed);
  cache.requested.decrease(static_cast<int64_t>(bytes));
  cache.frees.add(1);
}

inline void CachingAllocator::take_back(ThreadCache& cache, BlockRecord* record, size_t bytes, size_t active) noexcept {
  end_use(cache, record, bytes);
  cache.active.decrease(static_cast<int64_t>(active));
  if (poisons_) internal::poison(record->data, active);
}

Status CachingAllocator::allocate_slow(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept try {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  ThreadCaches::Use cache(caches_);
  if (follow_empty_cache(*cache)) heap_.release();
  if (bytes == 0) {
    cache->allocations.add(1);
    *out = {};
    return ok_status();
  }
  const HeapRequest request{internal::rounded_bytes(bytes), std::max(alignment, kDefaultAlignment), stream};
  BlockRecord* record = pop(*cache, request);
  if (!record) {
    if (const Status status = fetch(*cache, request, &record); !status.ok()) return status;
    record->size_class = is_cacheable(request) ? internal::size_class(request.bytes) : kNoClass;
  }
  hand_out(*cache, record, bytes, out);
  return ok_status();
} catch (const std::bad_alloc&) {
  return internal::kNoRecords;
}

// A block of the thread's own, if it has one that is aligned as asked.
BlockRecord* CachingAllocator::pop(ThreadCache& cache, const HeapRequest& request) noexcept {
  if (!is_cacheable(request)) return nullptr;
  const uint32_t size_class = internal::size_class(request.bytes);
  const BlockRecord* first = cache.peek(size_class);
  const bool fits = first && reinterpret_cast<uintptr_t>(first->data) % request.alignment == 0;
  return fits ? cache.pop(size_class) : nullptr;
}

// Gives the heap what the thread kept, if empty_cache was called since. Returns whether it was.
bool CachingAllocator::follow_empty_cache(ThreadCache& cache) noexcept {
  const uint64_t epoch = caches_.epoch();
  if (cache.epoch == epoch) return false;
  cache.epoch = epoch;
  caches_.hand_over(cache);
  return true;
}

void CachingAllocator::empty_cache() noexcept {
  caches_.next_epoch();
  try {
    ThreadCaches::Use cache(caches_);
    poll(*cache);
    follow_empty_cache(*cache);
  } catch (const std::bad_alloc&) {  // then this thread has nothing cached, and pending blocks stay
  }
  heap_.release();
}

void CachingAllocator::record_stream(const Block& block, const Stream& stream) noexcept {
  auto* record = static_cast<BlockRecord*>(block.handle);
  if (record && heap_.tracks_uses()) heap_.note_use(record, stream);
}

void CachingAllocator::deallocate_slow(const Block& block, const Stream& stream) noexcept {
  ThreadCaches::Use cache(caches_, std::nothrow);
  follow_empty_cache(*cache);  // and no further: to go back upstream, memory may have to wait for streams
  auto* record = static_cast<BlockRecord*>(block.handle);
  if (!record) {
    cache->frees.add(1);
    return;
  }
  if (heap_.tracks_uses()) heap_.note_free(record, stream);
  if (internal::StreamUses::has_uses(record)) {
    end_use(*cache, record, block.bytes);
    return heap_.defer(record);
  }
  take_back(*cache, record, block.bytes, record->bytes);
  if (record->size_class == kNoClass) {
    record->next = nullptr;
    return heap_.give(record);
  }
  cache->push(record, record->size_class, record->bytes);
  limit(*cache);
}

// Blocks whose last use has ended since count as active no longer.
void CachingAllocator::poll(ThreadCache& cache) noexcept {
  if (const size_t bytes = heap_.poll()) cache.active.decrease(static_cast<int64_t>(bytes));
}

size_t CachingAllocator::active_bytes(const Block& block) const noexcept {
  return block.handle ? static_cast<const BlockRecord*>(block.handle)->bytes : 0;
}

MemoryStats CachingAllocator::stats() const {
  MemoryStats stats;
  caches_.add_stats(&stats);
  heap_.add_stats(&stats);
  return stats;
}

void CachingAllocator::reset_peak_stats() noexcept {
  caches_.reset_peak_stats();
  heap_.reset_peak_stats();
}

// A thread without a cache gets one here: those that wait for a thread carry the counts of the last.
int64_t CachingAllocator::allocated_on_this_thread() noexcept try {
  return ThreadCaches::Use(caches_)->active.allocated();
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace vellum
