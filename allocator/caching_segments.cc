// How the heap gets memory from upstream: as whole segments, or page by page into extendable ones.

#include <algorithm>
#include <new>

#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"

namespace vellum::internal {

size_t CachingHeap::segment_bytes(const HeapRequest& request) const {
  const size_t needed = needed_bytes(request);
  if (pages_) return round_up(needed, page_bytes_);
  if (is_small(request)) return std::max(needed, kSmallSegment);
  if (needed < kOwnSegment) return kLargeSegment;
  return round_up(needed, kSegmentStep);
}

Status CachingHeap::grow(const HeapRequest& request, bool exact, BlockRecord** out) noexcept try {
  if (!pages_) return grow_segment(request, exact ? needed_bytes(request) : segment_bytes(request), out);
  std::lock_guard lock(mutex_);
  return extend(request, out);
} catch (const std::bad_alloc&) {
  return kNoRecords;
}

Status CachingHeap::claim(size_t bytes) {
  if (bytes > options_.memory_limit || claimed_ > options_.memory_limit - bytes)
    return {StatusCode::kOutOfMemory, "the allocator's memory_limit is reached"};
  claimed_ += bytes;
  return ok_status();
}

Status CachingHeap::grow_segment(const HeapRequest& request, size_t bytes, BlockRecord** out) {
  std::list<Segment> fresh(1);
  Segment& segment = fresh.front();
  segment.bytes = segment.held = bytes;
  segment.stream = request.stream;
  segment.small = is_small(request);
  segment.self = fresh.begin();
  std::unique_lock lock(mutex_);
  if (const Status status = claim(bytes); !status.ok()) return status;
  lock.unlock();
  Status status = upstream_->allocate(bytes, kDefaultAlignment, segment.stream, &segment.memory);
  lock.lock();
  if (status.ok() && !records_.reserve(RecordPool::kMostAtOnce)) {
    lock.unlock();
    upstream_->deallocate(segment.memory, segment.stream);
    status = kNoRecords;
    lock.lock();
  }
  if (!status.ok()) {
    claimed_ -= bytes;
    return status;
  }
  ++stats_.upstream_allocations;
  *out = carve(add_segment(fresh), request);
  return ok_status();
}

// Links the segment as one block that is in no set.
BlockRecord* CachingHeap::add_segment(std::list<Segment>& fresh) {
  Segment& segment = fresh.front();
  segment.number = ++last_segment_;
  BlockRecord* record = records_.take();
  record->data = segment.memory.data;
  record->bytes = segment.bytes;
  record->segment = &segment;
  record->stream = segment.stream;
  record->freed_at = ++clock_;
  segment.first = record;
  if (segment.held > 0)
    segment_report_.count(stats_.reserved, SegmentChange::kAllocated, segment.memory.data, segment.held);
  if (poison_ && segment.held > 0) poison(record->data, record->bytes);
  segments_.splice(segments_.end(), fresh);
  return record;
}

// Backs as few pages as serve the request, at the lowest address that they can have.
Status CachingHeap::extend(const HeapRequest& request, BlockRecord** out) {
  if (!records_.reserve(RecordPool::kMostAtOnce)) return kNoRecords;
  if ((*out = take_locked(request, request.stream.handle))) return ok_status();  // freed by another thread meanwhile
  Status status = ok_status();
  if (extend_any(request, &status, out)) return status;
  if (status = reserve_addresses(request); !status.ok()) return status;
  extend_any(request, &status, out);
  return status;
}

bool CachingHeap::extend_any(const HeapRequest& request, Status* status, BlockRecord** out) {
  for (BlockRecord* hole : unmapped_) {
    const Segment& segment = *hole->segment;
    if (segment.stream.handle != request.stream.handle || segment.small != is_small(request)) continue;
    size_t bytes = 0;
    if (!pages_for(hole, request, &bytes)) continue;
    BlockRecord* record = nullptr;
    *status = map_front(hole, bytes, &record);
    if (!status->ok()) return true;
    remove_free(record);
    *out = carve(record, request);
    return true;
  }
  return false;
}

// Whether a hole and the free blocks beside it can hold the request, and how many bytes of the hole that takes.
bool CachingHeap::pages_for(const BlockRecord* hole, const HeapRequest& request, size_t* bytes) const {
  const auto free_bytes = [&](const BlockRecord* record) {
    const bool joins = record && record->state == BlockState::kFree && record->stream.handle == request.stream.handle;
    return joins ? record->bytes : 0;
  };
  const size_t front = free_bytes(hole->before);
  const void* start = front > 0 ? hole->before->data : hole->data;
  const size_t needed = request.bytes + distance_to_alignment(start, request.alignment);
  if (front + hole->bytes + free_bytes(hole->after) < needed) return false;
  const size_t missing = needed > front ? needed - front : 1;
  *bytes = std::min(round_up(missing, page_bytes_), hole->bytes);
  return true;
}

// Backs the first `bytes` of a hole and gives the free block that they are now part of.
Status CachingHeap::map_front(BlockRecord* hole, size_t bytes, BlockRecord** out) {
  if (const Status status = claim(bytes); !status.ok()) return status;
  if (const Status status = pages_->map(hole->data, bytes); !status.ok()) {
    claimed_ -= bytes;
    return status;
  }
  hole->node = unmapped_.extract(unmapped_.find(hole));
  if (hole->bytes > bytes) insert_unmapped(split(hole, bytes));
  hole->stream = hole->segment->stream;
  hole->freed_at = ++clock_;
  hole->segment->held += bytes;
  segment_report_.count(stats_.reserved, SegmentChange::kMapped, hole->data, bytes);
  stats_.upstream_allocations += static_cast<int64_t>(bytes / page_bytes_);
  if (poison_) poison(hole->data, bytes);
  *out = give_locked(hole);
  return ok_status();
}

void CachingHeap::insert_unmapped(BlockRecord* record) {
  record->state = BlockState::kUnmapped;
  record->node.value() = record;
  unmapped_.insert(std::move(record->node));
}

// Where the system grants less than kReservation, as much as it does.
Status CachingHeap::reserve_addresses(const HeapRequest& request) {
  const size_t least = segment_bytes(request), step = page_bytes_;
  std::list<Segment> fresh(1);
  Segment& segment = fresh.front();
  segment.bytes = std::max(round_up(kReservation, step), least);
  for (;;) {
    const Status status = pages_->reserve(segment.bytes, &segment.memory.data);
    if (status.ok()) break;
    if (segment.bytes == least) return status;
    segment.bytes = std::max(round_up(segment.bytes / 2, step), least);
  }
  segment.stream = request.stream;
  segment.small = is_small(request);
  segment.extendable = true;
  segment.self = fresh.begin();
  insert_unmapped(add_segment(fresh));
  return ok_status();
}

void CachingHeap::give_upstream(const Segment& segment) {
  if (poison_) unpoison(segment.memory.data, segment.bytes);
  upstream_->deallocate(segment.memory, segment.stream);
}

// A fault of these shows at the next synchronisation.
void CachingHeap::release_addresses(const Segment& segment) {
  for (BlockRecord* record = segment.first; record;) {
    const BlockRecord* const first = record;
    size_t bytes = 0;
    for (; record && (record->state == BlockState::kUnmapped) == (first->state == BlockState::kUnmapped);
         record = record->after)
      bytes += record->bytes;
    if (first->state == BlockState::kUnmapped) continue;
    if (poison_) unpoison(first->data, bytes);
    (void)pages_->unmap(first->data, bytes);
  }
  (void)pages_->release(segment.memory.data, segment.bytes);
}

}  // namespace vellum::internal
