#ifndef VELLUM_ALLOCATOR_CACHING_RECORDS_H_
#define VELLUM_ALLOCATOR_CACHING_RECORDS_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/size_classes.h"

namespace vellum::internal {

struct BlockRecord;
struct StreamUse;

// Memory from upstream, cut into blocks: one piece of it, or address space that pages are mapped into as needed.
struct Segment {
  Block memory;        // a whole segment's; an extendable one has only `data`
  size_t bytes = 0;    // of address space
  size_t held = 0;     // of them, backed by memory
  size_t free = 0;     // of those, in the free sets
  Stream stream;       // made for it; blocks may have passed to other streams since
  bool small = false;  // cut for requests of at most kMaxClassBytes
  bool extendable = false;
  uint64_t number = 0;  // counts the segments of the heap
  BlockRecord* first = nullptr;
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

struct AddressOrder {
  bool operator()(const BlockRecord* a, const BlockRecord* b) const;
};
using AddressSet = std::set<BlockRecord*, AddressOrder>;

inline constexpr StreamHandle kNoStream = ~StreamHandle{0};
inline constexpr StreamHandle kLastStream = ~StreamHandle{0};  // none comes behind it in the order of handles
inline constexpr uint32_t kNoClass = kNumClasses;

enum class BlockState : uint8_t {
  kUsed,      // handed out, or in the free list of a thread
  kFree,      // in a free set
  kPending,   // freed, waiting for other streams
  kUnmapped,  // address space without memory
};

// What is known of a block, kept apart from the block's memory, which the host may not be able to touch. A free block
// belongs to exactly one stream, whose later work may use it at once: whatever used it before is ordered before that.
struct alignas(64) BlockRecord {
  void* data = nullptr;
  size_t bytes = 0;
  BlockRecord* next = nullptr;       // in whichever list the record is
  std::atomic<size_t> requested{0};  // while handed out to a caller, else 0. Read by snapshots.
  uint32_t size_class = kNoClass;    // of a thread's free list that the block goes to once freed; kNoClass: to the heap
  BlockState state = BlockState::kUsed;
  bool lost = false;        // a use could not be noted: never to be handed out again
  uint32_t unfinished = 0;  // uses that a pending block still waits for
  Stream stream;

  Segment* segment = nullptr;
  BlockRecord* before = nullptr;  // neighbours within the segment
  BlockRecord* after = nullptr;
  StreamUse* uses = nullptr;        // on other streams than its own
  StreamHandle former = kNoStream;  // its stream, destroyed while the block was in use
  uint64_t freed_at = 0;            // the heap's clock; of merged blocks the latest
  FreeSet::node_type node;          // while it is in no set, so that freeing allocates nothing
  FreeSet::iterator place;          // while it is in one
};

inline bool FitOrder::operator()(const BlockRecord* a, const BlockRecord* b) const {
  // The segments lie elsewhere: they are looked up only for blocks of the same size.
  if (a->stream.handle != b->stream.handle) return a->stream.handle < b->stream.handle;
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  // The record breaks the tie between blocks without data.
  return std::tuple(a->segment->number, std::bit_cast<uintptr_t>(a->data), a) <
         std::tuple(b->segment->number, std::bit_cast<uintptr_t>(b->data), b);
}

inline bool FitOrder::operator()(const BlockRecord* a, const FitKey& b) const {
  return a->stream.handle != b.stream ? a->stream.handle < b.stream : a->bytes < b.bytes;
}

// Records, made in slabs and used again.
class RecordPool {
 public:
  // Makes sure that the next `count` calls of take succeed, count <= kMostAtOnce.
  bool reserve(size_t count) noexcept;
  BlockRecord* take();
  void give_back(BlockRecord* record);

  static constexpr size_t kMostAtOnce = 8;

 private:
  std::vector<std::unique_ptr<BlockRecord[]>> slabs_;
  BlockRecord* spare_ = nullptr;
  size_t spares_ = 0;
};

// Integers, because a dry run's addresses are not memory.
inline void* advance(void* data, size_t bytes) { return std::bit_cast<void*>(std::bit_cast<uintptr_t>(data) + bytes); }
inline size_t distance(const void* from, const void* to) {
  return std::bit_cast<uintptr_t>(to) - std::bit_cast<uintptr_t>(from);
}

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_RECORDS_H_
