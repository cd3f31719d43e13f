#ifndef VELLUM_ALLOCATOR_ARENA_H_
#define VELLUM_ALLOCATOR_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/allocator/allocator.h"

namespace vellum {

namespace internal {

class ArenaScopeBase;
class StepRecord;

// Memory of upstream that is handed out in pieces. It stays until nobody holds it and its last piece is freed.
struct ArenaRegion {
  Block block;
  Stream stream;
  std::optional<StreamHandle> former;  // its stream's, destroyed since
  size_t active = 0;                   // bytes that `block` occupies upstream
  std::map<size_t, size_t> pieces;     // those in use: offset and bytes as requested
  bool held = true;                    // by the scope or plan that places pieces in it
  bool crossed = false;                // a piece was used or freed on another stream
  bool reused = false;                 // places of freed pieces are given again, so that crossing ends its use
};

// A current value, its peak and the sum of all increases, of all threads.
class SharedStat {
 public:
  void increase(int64_t change) {
    allocated_.fetch_add(change, std::memory_order_relaxed);
    const int64_t now = current_.fetch_add(change, std::memory_order_relaxed) + change;
    int64_t seen = peak_.load(std::memory_order_relaxed);
    while (now > seen && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void decrease(int64_t change) { current_.fetch_sub(change, std::memory_order_relaxed); }
  void reset_peak() { peak_.store(current_.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  MemoryStat get() const {
    const int64_t current = current_.load(std::memory_order_relaxed), allocated = allocated_.load();
    return {current, peak_.load(std::memory_order_relaxed), allocated, allocated - current};
  }

 private:
  std::atomic<int64_t> current_{0}, peak_{0}, allocated_{0};
};

}  // namespace internal

struct ArenaOptions {
  // What an ArenaScope takes from upstream at a time. Requests of more than half of it go to upstream.
  size_t chunk_bytes = size_t{2} << 20;
  // The host may touch the memory. AddressSanitizer then reports uses of freed pieces.
  bool host_accessible = true;
};

// Its upstream, except where an ArenaScope or a ReplayScope is open: those serve their own thread from memory that they
// take from upstream as a whole. See arena_scope.h and arena_plan.h.
//
// A piece occupies its bytes rounded up to 64. Pieces can be freed anywhere and at any time, also after the scope: the
// memory that they lie in goes back with its last piece. Thread-safe. Scopes and plans must end before the allocator.
//
// Statistics: `requested` and `active` count blocks and pieces, exactly with any number of threads; the rest is
// upstream's, for which memory that is handed out in pieces is in use. An arena has no pages to offer: they would be
// taken past it.
class ArenaAllocator final : public Allocator {
 public:
  explicit ArenaAllocator(std::unique_ptr<Allocator> upstream, ArenaOptions options = {});

  std::string_view name() const override { return "arena"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  void record_stream(const Block& block, const Stream& stream) noexcept override;
  void empty_cache() noexcept override { upstream_->empty_cache(); }
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  int64_t allocated_on_this_thread() noexcept override;
  size_t active_bytes(const Block& block) const noexcept override;
  void release_stream(const Stream& stream) noexcept override;
  uint64_t add_pressure_callback(PressureCallback callback) override {
    return upstream_->add_pressure_callback(std::move(callback));
  }
  void remove_pressure_callback(uint64_t number) noexcept override { upstream_->remove_pressure_callback(number); }
  // Upstream's, with the pieces in the place of what they lie in.
  void visit_segments(SegmentVisitor& visitor) const override;
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override {
    upstream_->observe_segments(observer, source);
  }
  EventSource* events() noexcept override { return upstream_->events(); }

  const ArenaOptions& options() const { return options_; }

 private:
  friend class ArenaPlan;
  friend class ArenaScope;
  friend class ReplayScope;
  using Region = internal::ArenaRegion;
  class Pieces;

  Status allocate_upstream(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept;
  // As allocate_upstream, and `record` hears of the block and of what becomes of it.
  Status allocate_recorded(internal::StepRecord& record, size_t bytes, size_t alignment, const Stream& stream,
                           Block* out) noexcept;
  void watch(internal::StepRecord& record);
  void unwatch(internal::StepRecord& record) noexcept;

  Status open(size_t bytes, const Stream& stream, bool reused, Region** out) noexcept;
  // No more pieces will be placed in the region.
  void close(Region* region) noexcept;
  enum class Placed : uint8_t {
    kDone,
    kTaken,    // by a piece in use
    kCrossed,  // a region that is reused: nobody knows when its free places can be used again
    kEnded,    // the region's stream is no longer the one asked for
  };
  Placed place(Region& region, const Stream& stream, size_t offset, size_t bytes, Block* out) noexcept;

  bool is_watched() const noexcept { return watched_.load(std::memory_order_acquire) != 0; }
  // To be called under mutex_. Null where the block is upstream's.
  Region* find(const void* data) const noexcept;
  bool deallocate_piece(const Block& block, const Stream& stream) noexcept;
  std::unique_ptr<Region> take_if_unused(Region* region) noexcept;
  void return_to_upstream(std::unique_ptr<Region> region) noexcept;

  const std::unique_ptr<Allocator> upstream_;
  const ArenaOptions options_;
  const uint64_t id_;

  mutable std::mutex mutex_;
  std::map<uintptr_t, std::unique_ptr<Region>> regions_;  // by address
  std::vector<internal::StepRecord*> records_;
  // Regions and records: while there are none, blocks are upstream's and nobody wants to hear of them.
  std::atomic<size_t> watched_{0};

  internal::SharedStat requested_, active_;
  std::atomic<int64_t> allocations_{0}, frees_{0};
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ARENA_H_
