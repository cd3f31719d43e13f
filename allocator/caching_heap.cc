#include "vellum/allocator/caching_heap.h"

#include <algorithm>
#include <bit>
#include <new>
#include <tuple>
#include <utility>

#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"

namespace vellum::internal {
namespace {

constexpr size_t kSlabRecords = 64;
constexpr size_t kCarveRecords = 3;  // a front, the block and a rest

// Integers, because a dry run's addresses are not memory.
void* advance(void* data, size_t bytes) { return std::bit_cast<void*>(std::bit_cast<uintptr_t>(data) + bytes); }

size_t distance_to_alignment(const void* data, size_t alignment) {
  return -std::bit_cast<uintptr_t>(data) & (alignment - 1);
}

// Bytes that hold the request wherever it comes to lie.
size_t needed_bytes(const HeapRequest& request) {
  return request.alignment <= kClassStep ? request.bytes : request.bytes + request.alignment - kClassStep;
}

bool is_small(const HeapRequest& request) { return request.bytes <= kMaxClassBytes; }

size_t segment_bytes(const HeapRequest& request) {
  const size_t needed = needed_bytes(request);
  if (is_small(request)) return std::max(needed, CachingHeap::kSmallSegment);
  if (needed < CachingHeap::kOwnSegment) return CachingHeap::kLargeSegment;
  return round_up(needed, CachingHeap::kSegmentStep);
}

}  // namespace

bool FitOrder::operator()(const BlockRecord* a, const BlockRecord* b) const {
  // The record breaks the tie between blocks without data.
  return std::tuple(a->segment->stream.handle, a->bytes, a->segment->number, std::bit_cast<uintptr_t>(a->data), a) <
         std::tuple(b->segment->stream.handle, b->bytes, b->segment->number, std::bit_cast<uintptr_t>(b->data), b);
}

bool FitOrder::operator()(const BlockRecord* a, const FitKey& b) const {
  return std::tuple(a->segment->stream.handle, a->bytes) < std::tuple(b.stream, b.bytes);
}

CachingHeap::CachingHeap(std::unique_ptr<Allocator> upstream, bool host_accessible)
    : upstream_(std::move(upstream)), host_accessible_(host_accessible) {}

CachingHeap::~CachingHeap() {
  for (Segment& segment : segments_) {
    if (host_accessible_) unpoison(segment.memory.data, segment.bytes);
    upstream_->deallocate(segment.memory, segment.stream);
  }
}

BlockRecord* CachingHeap::take(const HeapRequest& request) noexcept {
  std::lock_guard lock(mutex_);
  FreeSet& free = is_small(request) ? small_ : large_;
  const auto fit = free.lower_bound(FitKey{request.stream.handle, needed_bytes(request)});
  if (fit == free.end() || (*fit)->segment->stream.handle != request.stream.handle) return nullptr;
  if (!reserve_records()) return nullptr;
  BlockRecord* record = *fit;
  remove_free(record);
  return carve(record, request);
}

Status CachingHeap::grow(const HeapRequest& request, bool exact, BlockRecord** out) noexcept try {
  std::list<Segment> fresh(1);
  Segment& segment = fresh.front();
  segment.bytes = exact ? needed_bytes(request) : segment_bytes(request);
  segment.stream = request.stream;
  segment.small = is_small(request);
  segment.self = fresh.begin();
  const Status status = upstream_->allocate(segment.bytes, kDefaultAlignment, segment.stream, &segment.memory);
  if (!status.ok()) return status;

  std::unique_lock lock(mutex_);
  if (!reserve_records()) {
    lock.unlock();
    upstream_->deallocate(segment.memory, segment.stream);
    return {StatusCode::kOutOfMemory, "no host memory is left for the allocator's records"};
  }
  if (host_accessible_) poison(segment.memory.data, segment.bytes);
  segment.number = ++last_segment_;
  segments_.splice(segments_.end(), fresh);
  increase(stats_.reserved, static_cast<int64_t>(segment.bytes));
  ++stats_.upstream_allocations;
  BlockRecord* record = new_record();
  record->data = segment.memory.data;
  record->bytes = segment.bytes;
  record->segment = &segment;
  *out = carve(record, request);
  return ok_status();
} catch (const std::bad_alloc&) {
  return {StatusCode::kOutOfMemory, "no host memory is left for the allocator's records"};
}

// Cuts the request out of a block that is in no list, and frees what is before and after it.
BlockRecord* CachingHeap::carve(BlockRecord* record, const HeapRequest& request) {
  if (const size_t front = distance_to_alignment(record->data, request.alignment); front > 0 && record->data) {
    BlockRecord* rest = split(record, front);
    insert_free(record);
    record = rest;
  }
  if (record->bytes > request.bytes) insert_free(split(record, request.bytes));
  return record;
}

// Shortens `record` to `bytes` and returns the record of the rest.
BlockRecord* CachingHeap::split(BlockRecord* record, size_t bytes) {
  BlockRecord* rest = new_record();
  rest->data = record->data ? advance(record->data, bytes) : nullptr;
  rest->bytes = record->bytes - bytes;
  rest->segment = record->segment;
  rest->before = record;
  rest->after = record->after;
  if (rest->after) rest->after->before = rest;
  record->after = rest;
  record->bytes = bytes;
  return rest;
}

void CachingHeap::give(BlockRecord* list) noexcept {
  if (!list) return;
  std::lock_guard lock(mutex_);
  while (BlockRecord* record = list) {
    list = record->next;
    give_locked(record);
  }
}

void CachingHeap::give_locked(BlockRecord* record) {
  if (BlockRecord* after = record->after; after && after->free) {
    remove_free(after);
    absorb_next(record);
  }
  if (BlockRecord* before = record->before; before && before->free) {
    remove_free(before);
    absorb_next(before);
    record = before;
  }
  insert_free(record);
}

// Merges the block after `record` into it; neither is in the free set any more.
void CachingHeap::absorb_next(BlockRecord* record) {
  BlockRecord* next = record->after;
  record->bytes += next->bytes;
  record->after = next->after;
  if (record->after) record->after->before = record;
  recycle(next);
}

void CachingHeap::insert_free(BlockRecord* record) {
  record->free = true;
  record->node.value() = record;
  free_set(record).insert(std::move(record->node));
  if (record->bytes != record->segment->bytes) increase(stats_.split, static_cast<int64_t>(record->bytes));
}

void CachingHeap::remove_free(BlockRecord* record) {
  FreeSet& free = free_set(record);
  record->free = false;
  record->node = free.extract(free.find(record));
  if (record->bytes != record->segment->bytes) decrease(stats_.split, static_cast<int64_t>(record->bytes));
}

void CachingHeap::unlink_free_segments(FreeSet* free, std::list<Segment>* out) {
  for (auto it = free->begin(); it != free->end();) {
    BlockRecord* record = *it++;
    Segment* segment = record->segment;
    if (record->bytes != segment->bytes) continue;
    remove_free(record);
    recycle(record);
    decrease(stats_.reserved, static_cast<int64_t>(segment->bytes));
    ++stats_.upstream_frees;
    out->splice(out->end(), segments_, segment->self);
  }
}

void CachingHeap::release_free_segments() noexcept {
  std::list<Segment> released;
  {
    std::lock_guard lock(mutex_);
    unlink_free_segments(&small_, &released);
    unlink_free_segments(&large_, &released);
  }
  for (const Segment& segment : released) {
    if (host_accessible_) unpoison(segment.memory.data, segment.bytes);
    upstream_->deallocate(segment.memory, segment.stream);
  }
}

void CachingHeap::add_stats(MemoryStats* stats) const {
  std::lock_guard lock(mutex_);
  stats->reserved = stats_.reserved;
  stats->split = stats_.split;
  stats->upstream_allocations = stats_.upstream_allocations;
  stats->upstream_frees = stats_.upstream_frees;
  for (const FreeSet* free : {&small_, &large_})
    for (const BlockRecord* record : *free)
      stats->largest_free = std::max(stats->largest_free, static_cast<int64_t>(record->bytes));
}

void CachingHeap::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  stats_.reserved.peak = stats_.reserved.current;
  stats_.split.peak = stats_.split.current;
}

// Makes sure that carving a block cannot fail half way.
bool CachingHeap::reserve_records() noexcept try {
  if (spares_ >= kCarveRecords) return true;
  slabs_.push_back(std::make_unique<BlockRecord[]>(kSlabRecords));
  FreeSet scratch;
  for (size_t i = 0; i < kSlabRecords; ++i) {
    BlockRecord* record = &slabs_.back()[i];
    record->node = scratch.extract(scratch.insert(record).first);
    recycle(record);
  }
  return true;
} catch (const std::bad_alloc&) {
  return spares_ >= kCarveRecords;
}

BlockRecord* CachingHeap::new_record() {
  BlockRecord* record = spare_;
  spare_ = record->next;
  --spares_;
  record->before = record->after = record->next = nullptr;
  record->free = false;
  return record;
}

void CachingHeap::recycle(BlockRecord* record) {
  record->next = spare_;
  spare_ = record;
  ++spares_;
}

}  // namespace vellum::internal
