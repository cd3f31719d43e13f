#ifndef VELLUM_ALLOCATOR_ADAPTORS_TRACE_H_
#define VELLUM_ALLOCATOR_ADAPTORS_TRACE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vellum/allocator/adaptors/adaptor.h"

namespace vellum {

struct TraceEvent {
  enum class Action : uint8_t { kAlloc, kFree, kSegmentAlloc, kSegmentFree, kSegmentMap, kSegmentUnmap, kOom };
  Action action = Action::kAlloc;
  std::chrono::system_clock::time_point time;
  const void* address = nullptr;  // null for kOom
  size_t bytes = 0;               // as requested
  Stream stream;
  int64_t thread = 0;  // the system's number
  std::string tag;     // the thread's annotations, outermost first: "encoder.0/linear"
};

// The last events, those of several adaptors in one order. Thread-safe.
class TraceLog {
 public:
  // Throws InvalidArgumentError unless capacity, in events, is at least 1.
  explicit TraceLog(size_t capacity = size_t{1} << 16);

  void record(TraceEvent::Action action, const void* address, size_t bytes, const Stream& stream) noexcept;

  std::vector<TraceEvent> events() const;  // oldest first
  int64_t overwritten() const;             // how many older ones were lost
  void clear();

  // A line "Thread,Time,Action,Pointer,Size,Stream", then one for each event, as in the logs of RAPIDS RMM
  // (`logging_resource_adaptor`): "4711,15:04:05.123456,allocate,0x7f0012340040,4096,0", the time in UTC, the action
  // one of "allocate", "free" and "allocate failure". Segments, which that format does not have, are left out.
  void write_csv(std::ostream& out) const;
  // Replaces the file in one step; throws IoError, naming the path, and leaves it as it was when it cannot be written.
  void write_csv(const std::string& path) const;

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<TraceEvent> ring_;
  size_t next_ = 0;  // where the oldest event stands once the ring is full
  int64_t overwritten_ = 0;
};

// Which events an adaptor records: the blocks of the strategy that it wraps, or, put between a strategy and its
// upstream, the segments that the strategy takes.
enum class TraceLevel : uint8_t { kBlocks, kSegments };

// Records each call. Operators on the dispatcher's fast path push no annotation, so tags name them only while a
// machinery such as the profiler is on (see AnnotationScope). Thread-safe.
//
//   auto log = std::make_shared<TraceLog>();
//   set_allocator(device, std::make_unique<TraceAdaptor>(make_default_allocator(device), log));
//   ...
//   log->write_csv("trace.csv");
class TraceAdaptor final : public Adaptor {
 public:
  // Throws InvalidArgumentError when `upstream` or `log` is null.
  TraceAdaptor(std::unique_ptr<Allocator> upstream, std::shared_ptr<TraceLog> log,
               TraceLevel level = TraceLevel::kBlocks);

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  PageSource* pages() noexcept override { return pages_ ? &*pages_ : nullptr; }

 private:
  class TracedPages final : public PageSource {
   public:
    TracedPages(PageSource& pages, TraceLog& log) : pages_(pages), log_(log) {}
    size_t granularity() const noexcept override { return pages_.granularity(); }
    Status reserve(size_t bytes, void** out) noexcept override { return pages_.reserve(bytes, out); }
    Status map(void* data, size_t bytes) noexcept override;
    Status unmap(void* data, size_t bytes) noexcept override;
    Status release(void* data, size_t bytes) noexcept override { return pages_.release(data, bytes); }

   private:
    PageSource& pages_;
    TraceLog& log_;
  };

  const std::shared_ptr<TraceLog> log_;
  const TraceLevel level_;
  std::optional<TracedPages> pages_;  // of the level of segments
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ADAPTORS_TRACE_H_
