#ifndef VELLUM_TESTS_ALLOCATOR_STREAM_PROGRAM_H_
#define VELLUM_TESTS_ALLOCATOR_STREAM_PROGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vellum/allocator/caching.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/tests/allocator/simulated_streams.h"

namespace vellum::testing {

// A program on several streams over the caching allocator, one action at a time, that knows which memory must and which
// must not be handed out. `fault` tells what went wrong first: a use out of order, memory that was free and not reused,
// or a list of the allocator that is not in order.
class StreamProgram {
 public:
  struct Setting {
    bool pages = false;
    int64_t limit = std::numeric_limits<int64_t>::max();
    SimulatedStreams::Plant plant = SimulatedStreams::Plant::kNothing;
    CachingOptions options = {.host_accessible = false, .thread_cache_bytes = 0};
    bool events = true;  // else only stream 0 may be used
    bool check_reuse = true;
  };
  struct Held {
    Block block;
    StreamHandle stream;
    uint64_t allocation;
    std::vector<StreamHandle> others;  // that used it too
  };

  explicit StreamProgram(const Setting& setting) : check_reuse_(setting.check_reuse) {
    streams_.plant = setting.plant;
    caching_.emplace(
        std::make_unique<SimulatedMemory>(setting.events ? &streams_ : nullptr, &memory_, setting.pages, setting.limit),
        setting.options);
  }
  ~StreamProgram() {
    streams_.finish_all();
    while (!held_.empty() && fault().empty()) free(0);
  }

  SimulatedStreams& streams() { return streams_; }
  const SimulatedMemory::Counts& memory() const { return memory_; }
  CachingAllocator& caching() { return *caching_; }
  const std::vector<Held>& held() const { return held_; }
  std::string fault() const { return fault_.empty() ? streams_.fault : fault_; }

  // False when memory is short.
  bool allocate(StreamHandle stream, size_t bytes) {
    const bool must_reuse = check_reuse_ && has_free_memory(stream, bytes);
    const int64_t growths = memory_.growths;
    const int waits = streams_.waits;
    Block block;
    const bool ok = caching_->allocate(bytes, kDefaultAlignment, Stream{{}, stream}, &block).ok();
    if (must_reuse && (!ok || memory_.growths != growths)) fault_ = "memory that was free was not reused at once";
    if (streams_.waits != waits)  // blocks may have passed to this stream
      for (Freed& freed : freed_) freed.moved = true;
    if (ok) {
      held_.push_back({block, stream, ++allocations_, {}});
      forget_freed(range_of(block.data, caching_->active_bytes(block)));
      for (size_t i = 0; i + 1 < held_.size(); ++i)
        if (range(held_[i]).overlaps(range(held_.back()))) fault_ = "a block in use was handed out again";
    }
    after_step();
    return ok;
  }
  // As a correct program does: another stream first waits for the block's own.
  void use(size_t index, StreamHandle stream) {
    Held& held = held_[index];
    if (stream != held.stream) {
      streams_.follow(stream, held.stream);
      caching_->record_stream(held.block, Stream{{}, stream});
      held.others.push_back(stream);
    }
    streams_.use(stream, held.allocation, range(held));
    after_step();
  }
  void free(size_t index) { free(index, held_[index].stream); }
  void free(size_t index, StreamHandle stream) {
    Held held = held_[index];
    if (stream != held.stream) held.others.push_back(stream);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    freed_.push_back({range(held), held.stream, held.block.bytes <= internal::kMaxClassBytes, false, {}});
    for (const StreamHandle other : held.others) freed_.back().until.push_back({other, streams_.position(other)});
    caching_->deallocate(held.block, Stream{{}, stream});
    after_step();
  }
  bool advance(StreamHandle stream) { return streams_.advance(stream); }
  void destroy_stream(StreamHandle stream) {
    caching_->release_stream(Stream{{}, stream});
    streams_.destroy_stream(stream);
    for (Freed& freed : freed_) freed.moved = true;
    after_step();
  }
  void empty_cache() {
    caching_->empty_cache();
    after_step();
  }

 private:
  struct Freed {
    Range range;
    StreamHandle stream;
    bool small;
    bool moved;                                            // perhaps another stream's by now
    std::vector<std::pair<StreamHandle, uint64_t>> until;  // other streams have come this far
  };

  Range range(const Held& held) const { return range_of(held.block.data, caching_->active_bytes(held.block)); }

  bool has_free_memory(StreamHandle stream, size_t bytes) {
    for (const Freed& freed : freed_) {
      if (freed.small != (bytes <= internal::kMaxClassBytes)) continue;
      if (freed.range.end - freed.range.begin < internal::rounded_bytes(bytes)) continue;
      const bool ready = freed.moved ? streams_.all_idle() : freed.stream == stream || streams_.idle(freed.stream);
      if (ready && ended_elsewhere(freed)) return true;
    }
    return false;
  }
  bool ended_elsewhere(const Freed& freed) {
    return std::all_of(freed.until.begin(), freed.until.end(),
                       [&](const auto& point) { return streams_.done(point.first, point.second); });
  }

  void forget_freed(const Range& range) {
    std::erase_if(freed_, [&](const Freed& freed) { return freed.range.overlaps(range); });
  }
  void after_step() {
    for (const Range& range : memory_.returned) forget_freed(range);
    memory_.returned.clear();
    if (fault_.empty()) fault_ = caching_->check_invariants();
  }

  const bool check_reuse_;
  SimulatedStreams streams_;
  SimulatedMemory::Counts memory_;
  std::optional<CachingAllocator> caching_;
  std::vector<Held> held_;
  std::vector<Freed> freed_;
  uint64_t allocations_ = 0;
  std::string fault_;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_STREAM_PROGRAM_H_
