#ifndef VELLUM_ALLOCATOR_CACHING_HEAP_H_
#define VELLUM_ALLOCATOR_CACHING_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/size_classes.h"

namespace vellum::internal {

class ThreadCache;
struct BlockRecord;

// One piece of memory from upstream, cut into blocks. It serves one stream only.
struct Segment {
  Block memory;
  size_t bytes = 0;
  Stream stream;
  bool small = false;   // cut for requests of at most kMaxClassBytes
  uint64_t number = 0;  // counts the segments of the heap
  std::list<Segment>::iterator self;
};

// Order of the free blocks: best fit is the first of at least the wanted size, in the oldest segment, lowest address
// first. Where the device placed the segments decides nothing, so that a program's memory is the same in every run.
struct FitKey {
  StreamHandle stream;
  size_t bytes;
};
struct FitOrder {
  using is_transparent = void;
  bool operator()(const BlockRecord* a, const BlockRecord* b) const;
  bool operator()(const BlockRecord* a, const FitKey& b) const;
};
using FreeSet = std::set<BlockRecord*, FitOrder>;

// What is known of a block, kept apart from the block's memory, which the host may not be able to touch.
struct alignas(64) BlockRecord {
  void* data = nullptr;
  size_t bytes = 0;
  BlockRecord* next = nullptr;   // in whichever list the record is
  ThreadCache* owner = nullptr;  // the cache that a freed block returns to; null for the heap
  uint32_t size_class = 0;       // set with `owner` whenever the heap hands the block out
  bool live = false;             // handed out to a caller
  bool free = false;             // in the heap's free set
  Segment* segment = nullptr;
  BlockRecord* before = nullptr;  // neighbours within the segment
  BlockRecord* after = nullptr;
  FreeSet::node_type node;  // this record's node while it is not in the free set, so that freeing allocates nothing
};

// What the heap is asked for: `bytes` is already rounded to a class or to kLargeStep.
struct HeapRequest {
  size_t bytes;
  size_t alignment;
  Stream stream;
};

// The part of the caching strategy that all threads share: segments from upstream, best fit by size and address, split
// exactly, merge with both neighbours. Thread-safe; its lock is not held while upstream works. Sizes are multiples of
// kClassStep throughout, so a remainder is always worth keeping, and what a block occupies does not depend on where it
// was cut from.
//
// Small requests are cut from segments of their own, lest they break up the large ones.
class CachingHeap {
 public:
  CachingHeap(std::unique_ptr<Allocator> upstream, bool host_accessible);
  ~CachingHeap();
  CachingHeap(const CachingHeap&) = delete;
  CachingHeap& operator=(const CachingHeap&) = delete;

  static constexpr size_t kSmallSegment = size_t{2} << 20;
  static constexpr size_t kLargeSegment = size_t{20} << 20;
  static constexpr size_t kOwnSegment = size_t{10} << 20;  // from here on a request gets a segment of its own
  static constexpr size_t kSegmentStep = size_t{2} << 20;

  // A block from the free ones, or null.
  BlockRecord* take(const HeapRequest& request) noexcept;
  // A block from a new segment; `exact` asks upstream for no more than the request itself.
  Status grow(const HeapRequest& request, bool exact, BlockRecord** out) noexcept;
  // Takes back a list of blocks that `next` links.
  void give(BlockRecord* list) noexcept;
  // Returns segments without any block in use to upstream.
  void release_free_segments() noexcept;

  void add_stats(MemoryStats* stats) const;
  void reset_peak_stats() noexcept;
  bool host_accessible() const { return host_accessible_; }

 private:
  BlockRecord* carve(BlockRecord* record, const HeapRequest& request);
  BlockRecord* split(BlockRecord* record, size_t bytes);
  void give_locked(BlockRecord* record);
  void absorb_next(BlockRecord* record);
  void insert_free(BlockRecord* record);
  void remove_free(BlockRecord* record);
  void unlink_free_segments(FreeSet* free, std::list<Segment>* out);
  bool reserve_records() noexcept;
  BlockRecord* new_record();
  void recycle(BlockRecord* record);
  FreeSet& free_set(const BlockRecord* record) { return record->segment->small ? small_ : large_; }

  const std::unique_ptr<Allocator> upstream_;
  const bool host_accessible_;

  mutable std::mutex mutex_;
  FreeSet small_;
  FreeSet large_;
  std::list<Segment> segments_;
  uint64_t last_segment_ = 0;  // its number
  MemoryStats stats_;          // reserved, split and the upstream counts
  std::vector<std::unique_ptr<BlockRecord[]>> slabs_;
  BlockRecord* spare_ = nullptr;
  size_t spares_ = 0;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_HEAP_H_
