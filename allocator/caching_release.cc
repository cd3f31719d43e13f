// How the heap gives memory back upstream: all of it, just enough, or what has been free for longest.

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"

namespace vellum::internal {
namespace {

// An upstream that outlives its heap, because of memory that must not go back. Linked, so that LeakSanitizer finds it.
struct Kept {
  std::unique_ptr<Allocator> upstream;
  Kept* next;
};
constinit std::atomic<Kept*> all_kept{nullptr};

void keep(std::unique_ptr<Allocator> upstream) noexcept {
  auto* kept = new (std::nothrow) Kept{nullptr, all_kept.load(std::memory_order_relaxed)};
  if (!kept) return (void)upstream.release();
  kept->upstream = std::move(upstream);
  while (!all_kept.compare_exchange_weak(kept->next, kept, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

CachingHeap::~CachingHeap() {
  synchronize_pending();
  const uint64_t settled = settle_streams();
  bool all_went = true;
  for (Segment& segment : segments_) {
    if (may_be_in_use(segment, settled))
      all_went = false;
    else if (segment.extendable)
      release_addresses(segment);
    else
      give_upstream(segment);
  }
  if (!all_went) keep(std::move(upstream_));
}

// Whether streams may still use what was freed.
bool CachingHeap::may_be_in_use(const Segment& segment, uint64_t settled) {
  for (const BlockRecord* record = segment.first; record; record = record->after)
    if (record->state == BlockState::kPending || (record->state == BlockState::kFree && record->freed_at > settled))
      return true;
  return false;
}

// Waits for what the streams of free blocks have been given so far. Whatever was freed up to the returned time of the
// heap's clock is then out of use; 0, and so nothing, if there is a stream for which that cannot be told.
uint64_t CachingHeap::settle_streams() noexcept {
  if (!uses_.active()) return UINT64_MAX;
  std::unique_lock lock(mutex_);
  const uint64_t now = clock_;
  for (const FreeSet* free : {&small_, &large_})
    for (auto it = free->begin(); it != free->end();) {
      const Stream stream = (*it)->stream;
      StreamUse* use = uses_.mark(stream);
      if (!use) return 0;
      lock.unlock();
      const bool waited = events_->synchronize(use->event).ok();
      lock.lock();
      uses_.give_back(use);
      if (!waited) return 0;
      if (stream.handle == kLastStream) break;
      it = free->lower_bound(FitKey{stream.handle + 1, 0});
    }
  return now;
}

void CachingHeap::release(size_t bytes) noexcept { release_up_to(bytes, {settle_streams(), UINT64_MAX}); }

size_t CachingHeap::release_up_to(size_t bytes, const ByAge& age) noexcept {
  std::unique_lock lock(mutex_);
  if (pages_) {
    size_t done = unmap_pages(&large_, bytes, age);
    if (done < bytes) done += unmap_pages(&small_, bytes - done, age);
    release_empty_reservations();
    return done;
  }
  std::list<Segment> released;
  const size_t done = unlink_whole_segments(bytes, age, &released);
  lock.unlock();
  for (const Segment& segment : released) give_upstream(segment);
  lock.lock();
  claimed_ -= done;
  return done;
}

bool CachingHeap::is_releasable(const Segment& segment, const ByAge& age) const {
  if (segment.free != segment.held) return false;
  for (const BlockRecord* record = segment.first; record; record = record->after)
    if (!age.admits(record)) return false;
  return true;
}

// All segments, or those that make up `bytes` with the least excess: the smallest that is enough alone, else the
// largest.
size_t CachingHeap::unlink_whole_segments(size_t bytes, const ByAge& age, std::list<Segment>* out) {
  size_t done = 0;
  for (auto it = segments_.begin(); bytes == SIZE_MAX && it != segments_.end();) {
    Segment& segment = *it++;
    if (is_releasable(segment, age)) done += unlink_segment(segment, out);
  }
  while (done < bytes) {
    Segment* best = nullptr;
    for (Segment& segment : segments_) {
      if (!is_releasable(segment, age)) continue;
      const bool enough = best && best->bytes >= bytes - done;
      const bool better = !best || (enough ? segment.bytes < best->bytes && segment.bytes >= bytes - done
                                           : segment.bytes > best->bytes);
      if (better) best = &segment;
    }
    if (!best) break;
    done += unlink_segment(*best, out);
  }
  return done;
}

size_t CachingHeap::unlink_segment(Segment& segment, std::list<Segment>* out) {
  for (BlockRecord* record = segment.first; record;) {
    BlockRecord* const next = record->after;
    remove_free(record);
    records_.give_back(record);
    record = next;
  }
  segment_report_.count(stats_.reserved, SegmentChange::kFreed, segment.memory.data, segment.bytes);
  ++stats_.upstream_frees;
  out->splice(out->end(), segments_, segment.self);
  return segment.bytes;
}

size_t CachingHeap::unmap_pages(FreeSet* free, size_t bytes, const ByAge& age) {
  size_t done = 0;
  for (auto it = free->begin(); it != free->end() && done < bytes;) {
    BlockRecord* record = *it++;
    if (age.admits(record)) done += unmap_pages_of(record, bytes - done);
  }
  return done;
}

// Takes the memory of the last pages of a free block, of all if `bytes` is more.
size_t CachingHeap::unmap_pages_of(BlockRecord* record, size_t bytes) {
  void* data = nullptr;
  size_t pages = whole_pages(record, &data);
  if (pages == 0 || !records_.reserve(RecordPool::kMostAtOnce)) return 0;
  if (bytes < pages) {
    const size_t kept = pages - round_up(bytes, page_bytes_);
    data = advance(data, kept);
    pages -= kept;
  }
  if (poison_) unpoison(data, pages);
  if (!pages_->unmap(data, pages).ok()) {
    if (poison_) poison(data, pages);
    return 0;
  }
  remove_free(record);
  if (const size_t front = distance(record->data, data); front > 0) {
    BlockRecord* rest = split(record, front);
    insert_free(record);
    record = rest;
  }
  if (record->bytes > pages) insert_free(split(record, pages));
  record->segment->held -= pages;
  claimed_ -= pages;
  segment_report_.count(stats_.reserved, SegmentChange::kUnmapped, data, pages);
  stats_.upstream_frees += static_cast<int64_t>(pages / page_bytes_);
  merge_unmapped(record);
  return pages;
}

void CachingHeap::merge_unmapped(BlockRecord* record) {
  if (BlockRecord* after = record->after; after && after->state == BlockState::kUnmapped) {
    after->node = unmapped_.extract(unmapped_.find(after));
    absorb_next(record);
  }
  BlockRecord* before = record->before;
  if (before && before->state == BlockState::kUnmapped)
    absorb_next(before);  // which stays where it is among the unmapped
  else
    insert_unmapped(record);
}

void CachingHeap::release_empty_reservations() {
  for (auto it = segments_.begin(); it != segments_.end();) {
    Segment& segment = *it++;
    if (segment.held > 0) continue;
    BlockRecord* record = segment.first;
    record->node = unmapped_.extract(unmapped_.find(record));
    (void)pages_->release(segment.memory.data, segment.bytes);
    records_.give_back(record);
    segments_.erase(segment.self);
  }
}

// The mean time at which those blocks were freed that could go; 0 when there are none.
uint64_t CachingHeap::mean_free_time(uint64_t settled) const {
  uint64_t sum = 0, count = 0;
  const auto add = [&](uint64_t time) {
    sum += time;
    ++count;
  };
  void* data = nullptr;
  if (pages_) {
    for (const FreeSet* free : {&small_, &large_})
      for (const BlockRecord* record : *free)
        if (record->freed_at <= settled && whole_pages(record, &data) > 0) add(record->freed_at);
  } else {
    for (const Segment& segment : segments_)
      if (is_releasable(segment, {settled, UINT64_MAX})) add(segment.first->freed_at);
  }
  return count == 0 ? 0 : sum / count;
}

void CachingHeap::collect_garbage(const HeapRequest& request) noexcept {
  if (options_.garbage_collection_threshold == 0) return;
  const auto most =
      static_cast<size_t>(options_.garbage_collection_threshold * static_cast<double>(options_.memory_limit));
  size_t excess = 0;
  {
    std::lock_guard lock(mutex_);
    const size_t wanted = claimed_ + segment_bytes(request);
    if (wanted <= most) return;
    excess = wanted - most;
  }
  const uint64_t settled = settle_streams();
  while (excess > 0) {
    uint64_t oldest = 0;
    {
      std::lock_guard lock(mutex_);
      oldest = mean_free_time(settled);
    }
    const size_t done = oldest == 0 ? 0 : release_up_to(excess, {settled, oldest});
    if (done == 0) return;
    excess -= std::min(excess, done);
  }
}

}  // namespace vellum::internal
