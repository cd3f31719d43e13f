#ifndef VELLUM_ALLOCATOR_CACHING_HEAP_H_
#define VELLUM_ALLOCATOR_CACHING_HEAP_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/caching_options.h"
#include "vellum/allocator/caching_records.h"
#include "vellum/allocator/caching_streams.h"
#include "vellum/allocator/segment_report.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/allocator/spinning_mutex.h"

namespace vellum::internal {

// What the heap is asked for: `bytes` is already rounded to a class or to kLargeStep.
struct HeapRequest {
  size_t bytes;
  size_t alignment;
  Stream stream;
};

// The part of the caching strategy that all threads share: memory from upstream, best fit by size and address, split
// exactly, merge with both neighbours. Thread-safe. Its lock is not held while upstream allocates or frees a segment,
// nor while the host waits for a stream; it is while pages are mapped and unmapped, which changes what lies beside.
// Sizes are multiples of kClassStep throughout, so a remainder is always worth keeping, and what a block occupies does
// not depend on where it was cut from (but for max_split_size).
//
// Small requests are cut from segments of their own, lest they break up the large ones.
//
// A free block belongs to one stream, and only neighbours of one stream merge. Memory passes to another stream only by
// StreamUses::order, which makes all later work of the receiver wait for what the donor was given before. So no free
// block carries events with it, and no merge can lose one.
class CachingHeap {
 public:
  CachingHeap(std::unique_ptr<Allocator> upstream, const CachingOptions& options);
  // What a stream may still use does not go back, and upstream then lives for ever.
  ~CachingHeap();
  CachingHeap(const CachingHeap&) = delete;
  CachingHeap& operator=(const CachingHeap&) = delete;

  static constexpr size_t kSmallSegment = size_t{2} << 20;
  static constexpr size_t kLargeSegment = size_t{20} << 20;
  static constexpr size_t kOwnSegment = size_t{10} << 20;  // from here on a request gets a segment of its own
  static constexpr size_t kSegmentStep = size_t{2} << 20;
  static constexpr size_t kReservation = size_t{64} << 30;  // address space of an extendable segment

  // A block from the free ones of the request's stream, or null.
  BlockRecord* take(const HeapRequest& request) noexcept;
  // A block from another stream that has nothing to do, or null.
  BlockRecord* take_from_idle_streams(const HeapRequest& request) noexcept;
  // A block from all free ones, which pass to the request's stream, or null. That stream waits for the others.
  BlockRecord* take_from_all_streams(const HeapRequest& request) noexcept;
  // A block from new memory; `exact` asks upstream for no more than the request itself.
  Status grow(const HeapRequest& request, bool exact, BlockRecord** out) noexcept;
  // Takes back a list of blocks that `next` links.
  void give(BlockRecord* list) noexcept;

  // Uses of a block in use on other streams; a block that has any is given back by `defer`, and is free when a later
  // poll finds all of them complete. Returns the bytes of such blocks.
  void note_use(BlockRecord* record, const Stream& stream) noexcept;
  // The block is freed on `stream`, which is a use unless it is the block's own, also one that has ended since.
  void note_free(BlockRecord* record, const Stream& stream) noexcept;
  void defer(BlockRecord* record) noexcept;
  size_t poll() noexcept;
  // Waits for all uses of blocks given back so far, and returns as `poll` does.
  size_t synchronize_pending() noexcept;
  // To be called before blocks are asked for on `stream`: what release_stream will need. kOutOfMemory if it is not to
  // be had.
  Status prepare(const Stream& stream) noexcept;
  // What belongs to a stream passes to the default stream, whose later work waits for it; its uses of blocks end here.
  void release_stream(const Stream& stream) noexcept;
  bool tracks_uses() const { return uses_.active(); }
  EventSource* events() const { return events_; }

  // Returns free memory to upstream until it is at least `bytes`: all by default.
  void release(size_t bytes = SIZE_MAX) noexcept;
  // Before `request` makes the heap grow beyond the threshold: returns what has been free for longest.
  void collect_garbage(const HeapRequest& request) noexcept;

  void add_stats(MemoryStats* stats) const;
  void reset_peak_stats() noexcept;
  void visit(SegmentVisitor& visitor) const;
  void observe(SegmentObserver* observer, const Allocator& source) noexcept;
  // Whether freed memory may be poisoned.
  bool poisons() const { return poison_; }
  // What is wrong with the lists, or nothing. For tests.
  std::string check_invariants() const;

 private:
  // Which free blocks may go.
  struct ByAge {
    uint64_t settled;  // those freed up to here are behind all streams
    uint64_t oldest;   // those freed up to here have been free for long enough
    bool admits(const BlockRecord* record) const { return record->freed_at <= std::min(settled, oldest); }
  };

  BlockRecord* find_fit(const HeapRequest& request, StreamHandle stream);
  BlockRecord* take_locked(const HeapRequest& request, StreamHandle from);
  BlockRecord* carve(BlockRecord* record, const HeapRequest& request);
  BlockRecord* split(BlockRecord* record, size_t bytes);
  BlockRecord* give_locked(BlockRecord* record);
  void absorb_next(BlockRecord* record);
  void insert_free(BlockRecord* record);
  void remove_free(BlockRecord* record);
  void count_split(const BlockRecord* record, bool more);
  void merge_streams(const Stream& taker);
  void pass_on(FreeSet* free, const Stream& donor, const Stream& taker);
  void inherit(const Stream& stream, const Stream& heir);
  void note_locked(BlockRecord* record, const Stream& stream);
  size_t poll_locked();
  bool splits(const HeapRequest& request) const;
  FreeSet& free_set(const BlockRecord* record) { return record->segment->small ? small_ : large_; }

  size_t segment_bytes(const HeapRequest& request) const;
  Status claim(size_t bytes);
  Status grow_segment(const HeapRequest& request, size_t bytes, BlockRecord** out);
  BlockRecord* add_segment(std::list<Segment>& fresh);
  Status extend(const HeapRequest& request, BlockRecord** out);
  bool extend_any(const HeapRequest& request, Status* status, BlockRecord** out);
  bool pages_for(const BlockRecord* hole, const HeapRequest& request, size_t* bytes) const;
  Status map_front(BlockRecord* hole, size_t bytes, BlockRecord** out);
  void insert_unmapped(BlockRecord* record);
  void merge_unmapped(BlockRecord* record);
  Status reserve_addresses(const HeapRequest& request);
  void give_upstream(const Segment& segment);
  void release_addresses(const Segment& segment);

  uint64_t settle_streams() noexcept;
  size_t release_up_to(size_t bytes, const ByAge& age) noexcept;
  bool is_releasable(const Segment& segment, const ByAge& age) const;
  static bool may_be_in_use(const Segment& segment, uint64_t settled);
  size_t unlink_whole_segments(size_t bytes, const ByAge& age, std::list<Segment>* out);
  size_t unlink_segment(Segment& segment, std::list<Segment>* out);
  size_t unmap_pages(FreeSet* free, size_t bytes, const ByAge& age);
  size_t unmap_pages_of(BlockRecord* record, size_t bytes);
  size_t whole_pages(const BlockRecord* record, void** data) const;
  void release_empty_reservations();
  uint64_t mean_free_time(uint64_t settled) const;
  std::string check_segment(const Segment& segment) const;

  std::unique_ptr<Allocator> upstream_;
  const CachingOptions options_;
  PageSource* const pages_;  // null: whole segments
  const size_t page_bytes_;
  EventSource* const events_;
  const bool poison_;

  mutable SpinningMutex mutex_;
  FreeSet small_;
  FreeSet large_;
  AddressSet unmapped_;
  std::list<Segment> segments_;
  uint64_t last_segment_ = 0;  // its number
  StreamUses uses_;
  MemoryStats stats_;  // reserved, split and the upstream counts
  SegmentReport segment_report_;
  size_t claimed_ = 0;  // bytes reserved, or on their way from or to upstream
  uint64_t clock_ = 0;  // counts frees and fetches
  RecordPool records_;
  std::atomic<bool> waiting_{false};  // whether blocks are pending
};

// The bytes of whole pages within a free block, and where they begin.
inline size_t CachingHeap::whole_pages(const BlockRecord* record, void** data) const {
  const size_t offset = distance(record->segment->memory.data, record->data), mask = page_bytes_ - 1;
  const size_t begin = (offset + mask) & ~mask, end = (offset + record->bytes) & ~mask;
  *data = advance(record->data, begin - offset);
  return end > begin ? end - begin : 0;
}

// Bytes that hold the request wherever it comes to lie.
inline size_t needed_bytes(const HeapRequest& request) {
  return request.alignment <= kClassStep ? request.bytes : request.bytes + request.alignment - kClassStep;
}
inline size_t distance_to_alignment(const void* data, size_t alignment) {
  return -std::bit_cast<uintptr_t>(data) & (alignment - 1);
}
inline bool is_small(const HeapRequest& request) { return request.bytes <= kMaxClassBytes; }

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_HEAP_H_
