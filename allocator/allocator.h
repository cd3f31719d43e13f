#ifndef VELLUM_ALLOCATOR_ALLOCATOR_H_
#define VELLUM_ALLOCATOR_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "vellum/device/status.h"
#include "vellum/device/stream.h"

namespace vellum {

class Allocator;

inline constexpr size_t kDefaultAlignment = 64;  // bytes; one cache line, one AVX-512 vector

// A piece of device memory. Trivially copyable; owned by whoever must deallocate it.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;        // as requested
  void* handle = nullptr;  // the strategy's own record of the block
};

// One counted quantity, in bytes.
struct MemoryStat {
  int64_t current = 0;
  int64_t peak = 0;       // since the last reset
  int64_t allocated = 0;  // sum of all increases
  int64_t freed = 0;      // sum of all decreases
};

struct MemoryStats {
  MemoryStat requested;  // what callers asked for
  MemoryStat active;     // what live blocks occupy, after rounding
  MemoryStat reserved;   // what is held from upstream, live and cached
  MemoryStat split;      // free, in segments that are partly in use, and so not to be returned
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t upstream_allocations = 0;
  int64_t upstream_frees = 0;
  int64_t largest_free = 0;  // largest cached block, bytes
  int64_t limit = -1;        // bytes that the strategy may hold from upstream; negative: as many as there are
};

// What a snapshot tells of the pieces of a segment, in the order of their addresses.
struct BlockInfo {
  enum class State : uint8_t {
    kActive,   // handed out
    kPending,  // freed, but work on another stream may still use it; counts as active
    kCached,   // free
  };
  const void* data = nullptr;
  size_t bytes = 0;      // what it occupies
  size_t requested = 0;  // 0 unless active
  State state = State::kActive;
};
struct SegmentInfo {
  const void* data = nullptr;
  size_t bytes = 0;  // held from upstream
  Stream stream;
};
class SegmentVisitor {
 public:
  virtual void segment(const SegmentInfo& segment) = 0;
  virtual void block(const BlockInfo& block) = 0;  // of the segment told last

 protected:
  ~SegmentVisitor() = default;
};

// What changes the bytes that a strategy holds from upstream: a whole segment, or pages of one.
enum class SegmentChange : uint8_t { kAllocated, kFreed, kMapped, kUnmapped };

// Hears of every change of MemoryStats::reserved, in order, while it is counted and so under the strategy's lock: it
// must not call an allocator. Thread-safe.
class SegmentObserver {
 public:
  // `data` is null where memory has no address.
  virtual void segment_changed(const Allocator& source, SegmentChange change, const void* data,
                               size_t bytes) noexcept = 0;

 protected:
  ~SegmentObserver() = default;
};

// Address space that is backed by memory page by page: what a segment that grows needs. `data` and `bytes` of map and
// unmap are multiples of the granularity, a power of two, within one reservation. Functions as in DeviceApi;
// thread-safe.
class PageSource {
 public:
  virtual size_t granularity() const noexcept = 0;  // bytes
  virtual Status reserve(size_t bytes, void** out) noexcept = 0;
  virtual Status map(void* data, size_t bytes) noexcept = 0;
  virtual Status unmap(void* data, size_t bytes) noexcept = 0;
  virtual Status release(void* data, size_t bytes) noexcept = 0;

 protected:
  ~PageSource() = default;
};

// Points in streams, for memory that is used asynchronously. Functions as in DeviceApi; thread-safe.
class EventSource {
 public:
  virtual Status create(EventHandle* out) noexcept = 0;
  virtual Status destroy(EventHandle event) noexcept = 0;
  virtual Status record(EventHandle event, const Stream& stream) noexcept = 0;
  virtual Status query(EventHandle event) noexcept = 0;  // kNotReady while pending
  virtual Status synchronize(EventHandle event) noexcept = 0;
  // Later work on `stream` waits; the host does not.
  virtual Status wait(const Stream& stream, EventHandle event) noexcept = 0;

 protected:
  ~EventSource() = default;
};

// A strategy for one device's memory. A strategy takes an upstream Allocator and knows no device; adaptors wrap any
// strategy. All functions are thread-safe. Blocks may be freed on any thread. A child of fork() may call none of them
// if its parent had another thread that did (docs/memory.md, "After fork").
//
// Stream semantics: a block belongs to the stream it was allocated for; work enqueued there after `allocate` may use
// it, and memory freed with `deallocate(block, stream)` may be handed out again for work that comes later on that
// stream. Uses on other streams are made known by `record_stream` before the block is freed.
class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual std::string_view name() const = 0;

  // `bytes` may be 0 (a block without memory). `alignment` is a power of two. kOutOfMemory leaves everything as it was.
  virtual Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept = 0;
  virtual void deallocate(const Block& block, const Stream& stream) noexcept = 0;

  virtual void record_stream(const Block&, const Stream&) noexcept {}

  // To be called before `stream` is destroyed: afterwards nothing of this allocator refers to it. Does not wait.
  virtual void release_stream(const Stream&) noexcept {}

  // Returns to upstream what is cached and not in use. Caches of other threads are handed over at their next call.
  virtual void empty_cache() noexcept {}

  // Exact with one thread. With more, peaks of `requested` and `active` are exact to within kPeakSlack per thread.
  virtual MemoryStats stats() const = 0;
  virtual void reset_peak_stats() noexcept = 0;

  // A number that grows by what a block occupies (see `active`) with each block that this thread gets; its differences
  // tell what a piece of a program allocated. Strategies that do not count by thread count all threads.
  virtual int64_t allocated_on_this_thread() noexcept { return stats().active.allocated; }

  // What a live block of this allocator counts for in `active`.
  virtual size_t active_bytes(const Block& block) const noexcept { return block.bytes; }

  // `callback(bytes)` is called when no cached block serves a request of `bytes`, before upstream is asked for more,
  // and returns whether it freed any. It runs on the allocating thread, may free blocks and allocate (which does not
  // call it again), and must not throw. Returns a number for remove_pressure_callback; 0 where a strategy knows no
  // pressure. A call that another thread has begun may outlast the removal.
  using PressureCallback = std::function<bool(size_t bytes)>;
  virtual uint64_t add_pressure_callback(PressureCallback) { return 0; }
  virtual void remove_pressure_callback(uint64_t) noexcept {}

  // Tells every segment and its blocks, as of one moment. The visitor must not call this allocator. Does nothing where
  // a strategy keeps no list.
  virtual void visit_segments(SegmentVisitor&) const {}

  // Has `observer` hear from now on of what this strategy takes from upstream and gives back, as of segments of
  // `source`: this one, or the adaptor around it that is asked. Null: nobody; no call is under way any more when that
  // returns. The end of an allocator tells nothing. Does nothing where a strategy holds no segments.
  virtual void observe_segments(SegmentObserver*, const Allocator& /*source*/) noexcept {}

  // What the memory offers beyond blocks, for the strategies above it. Null: whole segments only; the device works at
  // once, so that no use outlives the call that enqueued it. Adaptors pass on their upstream's events, and its pages if
  // what they do is done to pages as well.
  virtual PageSource* pages() noexcept { return nullptr; }
  virtual EventSource* events() noexcept { return nullptr; }

  static constexpr int64_t kPeakSlack = 64 << 10;  // bytes
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ALLOCATOR_H_
