#include "vellum/allocator/caching_heap.h"

#include <algorithm>
#include <utility>

#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"

namespace vellum::internal {
namespace {

constexpr size_t kCarveRecords = 3;                  // a front, the block and a rest
constexpr size_t kOversizeSlack = size_t{20} << 20;  // an unsplit block may be this much larger than its request

}  // namespace

CachingHeap::CachingHeap(std::unique_ptr<Allocator> upstream, const CachingOptions& options)
    : upstream_(std::move(upstream)),
      options_(options),
      pages_(options.extendable_segments ? upstream_->pages() : nullptr),
      page_bytes_(pages_ ? pages_->granularity() : 0),
      events_(upstream_->events()),
      // Work that has been enqueued may touch a block after it was freed on its stream.
      poison_(options.host_accessible && !events_),
      uses_(events_) {}

bool CachingHeap::splits(const HeapRequest& request) const { return pages_ || request.bytes < options_.max_split_size; }

BlockRecord* CachingHeap::find_fit(const HeapRequest& request, StreamHandle stream) {
  FreeSet& free = is_small(request) ? small_ : large_;
  const auto fit = free.lower_bound(FitKey{stream, needed_bytes(request)});
  if (fit == free.end() || (*fit)->stream.handle != stream) return nullptr;
  if (pages_) return *fit;
  const size_t bytes = (*fit)->bytes;
  const bool oversize = bytes >= options_.max_split_size;
  const bool wastes = splits(request) ? oversize : bytes >= request.bytes + kOversizeSlack;
  return wastes ? nullptr : *fit;
}

BlockRecord* CachingHeap::take_locked(const HeapRequest& request, StreamHandle from) {
  BlockRecord* record = find_fit(request, from);
  if (!record || !records_.reserve(kCarveRecords)) return nullptr;
  ++clock_;
  remove_free(record);
  return carve(record, request);
}

BlockRecord* CachingHeap::take(const HeapRequest& request) noexcept {
  std::lock_guard lock(mutex_);
  return take_locked(request, request.stream.handle);
}

BlockRecord* CachingHeap::take_from_idle_streams(const HeapRequest& request) noexcept {
  if (!uses_.active()) return nullptr;
  std::lock_guard lock(mutex_);
  FreeSet& free = is_small(request) ? small_ : large_;
  for (auto it = free.begin(); it != free.end();) {
    const Stream donor = (*it)->stream;
    if (donor.handle != request.stream.handle && find_fit(request, donor.handle) && records_.reserve(kCarveRecords) &&
        uses_.order(donor, request.stream, true)) {
      BlockRecord* record = take_locked(request, donor.handle);
      record->stream = request.stream;
      return record;
    }
    if (donor.handle == kLastStream) break;
    it = free.lower_bound(FitKey{donor.handle + 1, 0});
  }
  return nullptr;
}

BlockRecord* CachingHeap::take_from_all_streams(const HeapRequest& request) noexcept {
  if (!uses_.active()) return nullptr;
  std::lock_guard lock(mutex_);
  merge_streams(request.stream);
  return take_locked(request, request.stream.handle);
}

// Passes the free blocks of all streams to `taker`.
void CachingHeap::merge_streams(const Stream& taker) {
  for (FreeSet* free : {&small_, &large_})
    for (auto it = free->begin(); it != free->end();) {
      const Stream donor = (*it)->stream;
      if (donor.handle != taker.handle && uses_.order(donor, taker, false)) pass_on(free, donor, taker);
      if (donor.handle == kLastStream) break;
      it = free->lower_bound(FitKey{donor.handle + 1, 0});
    }
}

void CachingHeap::pass_on(FreeSet* free, const Stream& donor, const Stream& taker) {
  for (;;) {
    const auto it = free->lower_bound(FitKey{donor.handle, 0});
    if (it == free->end() || (*it)->stream.handle != donor.handle) return;
    BlockRecord* record = *it;
    remove_free(record);
    record->stream = taker;
    record->freed_at = ++clock_;  // not behind the taker's work for those who have begun to wait for that
    give_locked(record);
  }
}

// Cuts the request out of a block that is in no list, and frees what is before and after it.
BlockRecord* CachingHeap::carve(BlockRecord* record, const HeapRequest& request) {
  if (const size_t front = distance_to_alignment(record->data, request.alignment); front > 0 && record->data) {
    BlockRecord* rest = split(record, front);
    insert_free(record);
    record = rest;
  }
  if (record->bytes > request.bytes && splits(request)) insert_free(split(record, request.bytes));
  record->state = BlockState::kUsed;
  record->former = kNoStream;
  return record;
}

// Shortens `record` to `bytes` and returns the record of the rest, which is like it and in no set.
BlockRecord* CachingHeap::split(BlockRecord* record, size_t bytes) {
  BlockRecord* rest = records_.take();
  rest->data = record->data ? advance(record->data, bytes) : nullptr;
  rest->bytes = record->bytes - bytes;
  rest->segment = record->segment;
  rest->stream = record->stream;
  rest->freed_at = record->freed_at;
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
  ++clock_;
  while (BlockRecord* record = list) {
    list = record->next;
    record->freed_at = clock_;
    give_locked(record);
  }
}

// Returns the free block that the given one is part of.
BlockRecord* CachingHeap::give_locked(BlockRecord* record) {
  const auto joins = [record](const BlockRecord* other) {
    return other && other->state == BlockState::kFree && other->stream.handle == record->stream.handle;
  };
  if (BlockRecord* after = record->after; joins(after)) {
    remove_free(after);
    absorb_next(record);
  }
  if (BlockRecord* before = record->before; joins(before)) {
    remove_free(before);
    absorb_next(before);
    record = before;
  }
  insert_free(record);
  return record;
}

// Merges the block after `record` into it; neither is in a set any more.
void CachingHeap::absorb_next(BlockRecord* record) {
  BlockRecord* next = record->after;
  record->bytes += next->bytes;
  record->freed_at = std::max(record->freed_at, next->freed_at);
  record->after = next->after;
  if (record->after) record->after->before = record;
  records_.give_back(next);
}

// What is free and yet could not go back upstream.
void CachingHeap::count_split(const BlockRecord* record, bool more) {
  const Segment& segment = *record->segment;
  void* pages = nullptr;
  const size_t returnable = segment.extendable               ? whole_pages(record, &pages)
                            : record->bytes == segment.bytes ? record->bytes
                                                             : 0;
  const auto bytes = static_cast<int64_t>(record->bytes - returnable);
  more ? increase(stats_.split, bytes) : decrease(stats_.split, bytes);
}

void CachingHeap::insert_free(BlockRecord* record) {
  record->state = BlockState::kFree;
  record->segment->free += record->bytes;
  record->node.value() = record;
  record->place = free_set(record).insert(std::move(record->node)).position;
  count_split(record, true);
}

void CachingHeap::remove_free(BlockRecord* record) {
  record->state = BlockState::kUsed;
  record->segment->free -= record->bytes;
  record->node = free_set(record).extract(record->place);
  count_split(record, false);
}

void CachingHeap::note_locked(BlockRecord* record, const Stream& stream) {
  uses_.note(record, stream);
  // From now on the block returns through the heap, not through a thread's free list.
  if (StreamUses::has_uses(record)) record->size_class = kNoClass;
}

void CachingHeap::note_use(BlockRecord* record, const Stream& stream) noexcept {
  std::lock_guard lock(mutex_);
  note_locked(record, stream);
}

void CachingHeap::note_free(BlockRecord* record, const Stream& stream) noexcept {
  std::lock_guard lock(mutex_);
  if (stream.handle != record->former) note_locked(record, stream);
}

Status CachingHeap::prepare(const Stream& stream) noexcept {
  if (!uses_.active() || stream.handle == 0) return ok_status();
  std::lock_guard lock(mutex_);
  if (uses_.reserve()) return ok_status();
  return {StatusCode::kOutOfMemory, "the device has no event left for the blocks of a further stream"};
}

void CachingHeap::release_stream(const Stream& stream) noexcept {
  if (uses_.active() && stream.handle != 0) {
    std::lock_guard lock(mutex_);
    bool owns = false;
    for (const Segment& segment : segments_)
      for (BlockRecord* record = segment.first; record; record = record->after) {
        owns |= record->stream.handle == stream.handle;
        uses_.end_use(record, stream);
      }
    uses_.end_waiting(stream);
    const Stream heir{stream.device, 0};
    if (owns) uses_.order_last(stream, heir);
    inherit(stream, heir);
  }
  upstream_->release_stream(stream);
}

void CachingHeap::inherit(const Stream& stream, const Stream& heir) {
  for (FreeSet* free : {&small_, &large_}) pass_on(free, stream, heir);
  for (Segment& segment : segments_) {
    if (segment.stream.handle == stream.handle) segment.stream = heir;
    for (BlockRecord* record = segment.first; record; record = record->after) {
      if (record->stream.handle != stream.handle) continue;
      record->stream = heir;
      record->former = stream.handle;
    }
  }
}

void CachingHeap::defer(BlockRecord* record) noexcept {
  std::lock_guard lock(mutex_);
  uses_.defer(record);
  waiting_.store(true, std::memory_order_relaxed);
}

size_t CachingHeap::poll() noexcept {
  if (!waiting_.load(std::memory_order_relaxed)) return 0;
  std::lock_guard lock(mutex_);
  return poll_locked();
}

size_t CachingHeap::poll_locked() {
  size_t bytes = 0;
  ++clock_;
  for (BlockRecord* list = uses_.poll(); BlockRecord* record = list;) {
    list = record->next;
    bytes += record->bytes;
    record->freed_at = clock_;
    give_locked(record);
  }
  waiting_.store(uses_.pending() > 0, std::memory_order_relaxed);
  return bytes;
}

size_t CachingHeap::synchronize_pending() noexcept {
  std::unique_lock lock(mutex_);
  size_t bytes = 0;
  EventHandle event = 0;
  // Not of the blocks that come to wait meanwhile. Events live as long as the heap.
  for (size_t left = uses_.unfinished(); left > 0 && uses_.next_pending(&event); --left) {
    lock.unlock();
    (void)events_->synchronize(event);
    lock.lock();
    bytes += poll_locked();
  }
  return bytes;
}

}  // namespace vellum::internal
