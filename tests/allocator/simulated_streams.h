#ifndef VELLUM_TESTS_ALLOCATOR_SIMULATED_STREAMS_H_
#define VELLUM_TESTS_ALLOCATOR_SIMULATED_STREAMS_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/allocator/allocator.h"

namespace vellum::testing {

// A piece of address space.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

inline Range range_of(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  return {begin, begin + bytes};
}

// Streams that do one piece of work when the test says so, and events in them. Work uses memory, or waits for another
// stream. Uses of one range must come to pass in the order in which its allocations were made; `fault` says which did
// not. One thread.
class SimulatedStreams final : public EventSource {
 public:
  // What the device, or a strategy over it, may be made to do wrong.
  enum class Plant {
    kNothing,
    kDropWaits,   // a stream does not wait for the event it is told to wait for
    kForgetUses,  // events are complete at once
    kNeverReady,  // events are never reported as complete
  };
  Plant plant = Plant::kNothing;
  std::string fault;
  int waits = 0;                                 // that were asked for through the EventSource
  bool no_events = false;                        // no further event can be made
  bool no_records = false;                       // no event can be recorded
  bool no_waits = false;                         // the host cannot wait for an event
  std::function<void()> after_next_synchronize;  // what another thread does meanwhile

  // Work of allocation number `allocation` on memory.
  void use(StreamHandle stream, uint64_t allocation, const Range& range) {
    outstanding_.push_back({++last_use_, allocation, range});
    push(stream, {last_use_, 0, 0});
  }
  // Work after all that `other` has been given so far.
  void follow(StreamHandle stream, StreamHandle other) { push(stream, {0, other, queues_[other].enqueued}); }

  // Does the stream's next work. False when it has none or has to wait.
  bool advance(StreamHandle stream) {
    Queue& queue = queues_[stream];
    if (queue.work.empty()) return false;
    const Work work = queue.work.front();
    if (work.use == 0 && queues_[work.other].executed < work.position) return false;
    if (work.use != 0) execute(work.use);
    queue.work.pop_front();
    ++queue.executed;
    return true;
  }
  void finish_all() {
    for (bool any = true; any;) {
      any = false;
      for (auto& [stream, queue] : queues_)
        while (advance(stream)) any = true;
    }
  }
  // Its work goes on, but nothing may be added to it.
  void destroy_stream(StreamHandle stream) { queues_[stream].destroyed = true; }
  bool idle(StreamHandle stream) { return queues_[stream].work.empty(); }
  bool all_idle() const {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& entry) { return entry.second.work.empty(); });
  }
  // How much a stream has been given so far, and whether it has done that much.
  uint64_t position(StreamHandle stream) { return queues_[stream].enqueued; }
  bool done(StreamHandle stream, uint64_t position) { return queues_[stream].executed >= position; }
  bool in_use(const Range& range) const {
    return std::any_of(outstanding_.begin(), outstanding_.end(),
                       [&](const Use& use) { return use.range.overlaps(range); });
  }
  // Memory goes back to where it came from.
  void check_unused(const Range& range) {
    if (in_use(range)) fault = "memory was returned upstream while a stream still uses it";
  }

  Status create(EventHandle* out) noexcept override {
    if (no_events) return {StatusCode::kOutOfMemory, "simulated streams: no event is left"};
    *out = ++last_event_;
    events_[*out] = {};
    return ok_status();
  }
  Status destroy(EventHandle event) noexcept override {
    if (events_.erase(event) == 0) fault = "an event was destroyed twice";
    return ok_status();
  }
  Status record(EventHandle event, const Stream& stream) noexcept override {
    if (no_records) return {StatusCode::kDeviceError, "simulated streams: events cannot be recorded"};
    if (queues_[stream.handle].destroyed) fault = "an event was recorded on a destroyed stream";
    events_.at(event) = {stream.handle, queues_[stream.handle].enqueued};
    return ok_status();
  }
  Status query(EventHandle event) noexcept override {
    const Point& point = events_.at(event);
    const bool done = queues_[point.stream].executed >= point.position;
    const bool told = plant == Plant::kForgetUses || (done && plant != Plant::kNeverReady);
    return {told ? StatusCode::kOk : StatusCode::kNotReady, nullptr};
  }
  Status synchronize(EventHandle event) noexcept override {
    if (no_waits) return {StatusCode::kDeviceError, "simulated streams: events cannot be waited for"};
    const Point& point = events_.at(event);
    while (queues_[point.stream].executed < point.position)
      for (auto& [stream, queue] : queues_) advance(stream);
    if (after_next_synchronize) std::exchange(after_next_synchronize, nullptr)();
    return ok_status();
  }
  Status wait(const Stream& stream, EventHandle event) noexcept override {
    ++waits;
    const Point point = events_.at(event);
    if (plant != Plant::kDropWaits) push(stream.handle, {0, point.stream, point.position});
    return ok_status();
  }
  size_t live_events() const { return events_.size(); }

 private:
  struct Work {
    uint64_t use;  // or 0: waits until `other` has done `position` pieces of work
    StreamHandle other;
    uint64_t position;
  };
  struct Queue {
    std::deque<Work> work;
    uint64_t enqueued = 0, executed = 0;
    bool destroyed = false;
  };
  struct Use {
    uint64_t id, allocation;
    Range range;
  };
  struct Point {
    StreamHandle stream = 0;
    uint64_t position = 0;
  };

  void push(StreamHandle stream, const Work& work) {
    queues_[stream].work.push_back(work);
    ++queues_[stream].enqueued;
  }
  void execute(uint64_t id) {
    const auto use = std::find_if(outstanding_.begin(), outstanding_.end(), [id](const Use& u) { return u.id == id; });
    for (const Use& other : outstanding_)
      if (other.allocation < use->allocation && other.range.overlaps(use->range))
        fault = "allocation " + std::to_string(use->allocation) + " is used before the uses of allocation " +
                std::to_string(other.allocation) + " are complete";
    outstanding_.erase(use);
  }

  std::map<StreamHandle, Queue> queues_;
  std::map<EventHandle, Point> events_;
  std::vector<Use> outstanding_;
  uint64_t last_use_ = 0;
  EventHandle last_event_ = 0;
};

// The memory of a device with such streams: addresses that nothing may touch, with a limit, in pieces or in pages.
class SimulatedMemory final : public Allocator, public PageSource {
 public:
  struct Counts {
    int64_t growths = 0;  // pieces or ranges of pages that were given
    int64_t bytes = 0;
    std::vector<Range> returned;
    Range last_mapped;
    int reservations = 0;
    size_t largest_reservation = std::numeric_limits<size_t>::max();
  };

  // All outlive this. Without streams, the device works at once.
  SimulatedMemory(SimulatedStreams* streams, Counts* counts, bool with_pages, int64_t limit)
      : streams_(streams), counts_(counts), with_pages_(with_pages), limit_(limit) {}

  std::string_view name() const override { return "simulated"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    if (!grow(bytes)) return {StatusCode::kOutOfMemory, "simulated memory: limit reached"};
    *out = {addresses(bytes), bytes, nullptr};
    return ok_status();
  }
  void deallocate(const Block& block, const Stream&) noexcept override { give_back(block.data, block.bytes); }
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
  PageSource* pages() noexcept override { return with_pages_ ? this : nullptr; }
  EventSource* events() noexcept override { return streams_; }

  size_t granularity() const noexcept override { return size_t{2} << 20; }
  Status reserve(size_t bytes, void** out) noexcept override {
    if (bytes > counts_->largest_reservation) return {StatusCode::kOutOfMemory, "simulated memory: no addresses"};
    *out = addresses(bytes);
    ++counts_->reservations;
    return ok_status();
  }
  Status map(void* data, size_t bytes) noexcept override {
    counts_->last_mapped = range_of(data, bytes);
    return grow(bytes) ? ok_status() : Status{StatusCode::kOutOfMemory, "simulated memory: no page is left"};
  }
  Status unmap(void* data, size_t bytes) noexcept override {
    give_back(data, bytes);
    return ok_status();
  }
  Status release(void*, size_t) noexcept override {
    --counts_->reservations;
    return ok_status();
  }

 private:
  void* addresses(size_t bytes) {
    void* data = reinterpret_cast<void*>(next_);
    next_ += (bytes + granularity() - 1) / granularity() * granularity() + granularity();
    return data;
  }
  bool grow(size_t bytes) {
    if (counts_->bytes + static_cast<int64_t>(bytes) > limit_) return false;
    counts_->bytes += static_cast<int64_t>(bytes);
    ++counts_->growths;
    return true;
  }
  void give_back(const void* data, size_t bytes) {
    counts_->bytes -= static_cast<int64_t>(bytes);
    counts_->returned.push_back(range_of(data, bytes));
    if (streams_) streams_->check_unused(counts_->returned.back());
  }

  SimulatedStreams* const streams_;
  Counts* const counts_;
  const bool with_pages_;
  const int64_t limit_;
  uintptr_t next_ = uintptr_t{1} << 40;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_SIMULATED_STREAMS_H_
