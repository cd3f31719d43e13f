#ifndef VELLUM_ALLOCATOR_ADAPTORS_STATISTICS_H_
#define VELLUM_ALLOCATOR_ADAPTORS_STATISTICS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "vellum/allocator/adaptors/adaptor.h"

namespace vellum {

// What happened since the counters were pushed: `current` and `peak` start at 0, so `current` is negative where more
// was freed than allocated.
struct MemoryCounters {
  MemoryStat requested;  // bytes that callers asked for
  MemoryStat active;     // bytes that blocks occupy
  MemoryStat blocks;     // their number
};

// Counts for parts of a program, which may lie in one another. Counters are pushed and popped by all threads alike:
// they count what every thread does. Thread-safe.
//
//   statistics.push_counters();
//   step();
//   const int64_t peak = statistics.pop_counters().active.peak;  // above what was live before
class StatisticsAdaptor final : public Adaptor {
 public:
  // Throws InvalidArgumentError when `upstream` is null.
  explicit StatisticsAdaptor(std::unique_ptr<Allocator> upstream);

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  PageSource* pages() noexcept override { return nullptr; }

  // Starts counting from 0.
  void push_counters();
  // What was counted since the last push; it goes into the counters below as well. Throws InvalidArgumentError when
  // nothing was pushed.
  MemoryCounters pop_counters();
  // The innermost counters; those since the adaptor was made when nothing was pushed.
  MemoryCounters counters() const;

 private:
  mutable std::mutex mutex_;
  std::vector<MemoryCounters> stack_;
};

// Counts for a scope. Ends without counters of its own where someone else has popped all.
class StatisticsScope {
 public:
  explicit StatisticsScope(StatisticsAdaptor& statistics) : statistics_(statistics) { statistics_.push_counters(); }
  ~StatisticsScope();
  StatisticsScope(const StatisticsScope&) = delete;
  StatisticsScope& operator=(const StatisticsScope&) = delete;

  MemoryCounters counters() const { return statistics_.counters(); }

 private:
  StatisticsAdaptor& statistics_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ADAPTORS_STATISTICS_H_
