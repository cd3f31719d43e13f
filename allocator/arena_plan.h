#ifndef VELLUM_ALLOCATOR_ARENA_PLAN_H_
#define VELLUM_ALLOCATOR_ARENA_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vellum/allocator/arena_scope.h"
#include "vellum/allocator/step_record.h"

namespace vellum {

// How a plan has fared.
struct ArenaPlanReport {
  int64_t recorded_steps = 0;   // served by upstream, to learn from
  int64_t replayed_steps = 0;   // those that kept to the plan
  int64_t differing_steps = 0;  // those that did not
  int64_t planned = 0;          // allocations at their planned place
  int64_t fallbacks = 0;        // allocations that upstream served though a plan was there, for they differed from it
  size_t region_bytes = 0;      // what the planned blocks take together; 0 while there is no plan
  size_t max_live_bytes = 0;    // the most of their bytes that are alive at once: no plan takes less
  std::string first_difference;
};

// Where each block of a training step lies, so that every step runs in one piece of memory that is hardly larger than
// what is alive at once. Steps are recorded until two in a row make the same requests: that takes two, or three with an
// optimizer that makes its state in the first. The lifetimes found are then packed (best fit, decreasing) into one
// region of upstream, and the following steps get their blocks at fixed offsets of it.
//
//   ArenaPlan plan;
//   for (const data::Batch& batch : loader) {
//     ReplayScope scope(plan);
//     optimizer.zero_grad();
//     cross_entropy(model(batch.data), batch.target).backward();
//     optimizer.step();
//   }
//
// A request that differs from the plan in size, order or by what is still alive is served by upstream, and so is what
// outlives a whole step (the state of an optimizer), what is used on several streams and what is not aligned to 64
// bytes. Results never depend on it. The first difference is written to stderr; report() counts them. A last, smaller
// batch thus costs a few blocks of upstream and no more; a program that changes for good calls reset().
//
// Used by one thread at a time; its blocks can be freed on any. Blocks outlive it safely, but keep the whole region.
// Does nothing where the device's allocator is not the arena strategy.
class ArenaPlan {
 public:
  explicit ArenaPlan(Device device = {}) : device_(device) {}
  ~ArenaPlan() { forget(); }
  ArenaPlan(const ArenaPlan&) = delete;
  ArenaPlan& operator=(const ArenaPlan&) = delete;

  const ArenaPlanReport& report() const { return report_; }
  // Forgets the plan; the next steps are recorded. Throws InvalidArgumentError while a ReplayScope is open.
  void reset();

 private:
  friend class ReplayScope;

  struct Entry {
    internal::RecordedBlock request;
    size_t offset = 0;
    bool planned = false;
    uint64_t used_in = 0;  // the last replay that took it
  };

  void forget() noexcept;
  void begin(ArenaAllocator& arena);
  void end() noexcept;
  void make();

  Status replay(size_t bytes, size_t alignment, const Stream& stream, Block* out);
  Entry* match(size_t bytes, size_t alignment, const Stream& stream);
  bool place(const Entry& entry, Block* out);
  bool has_region(const Stream& stream);
  // `describe` makes a text of how the step differs; called for the first difference of the plan only.
  template <typename Describe>
  void differ(const Describe& describe) noexcept;

  const Device device_;
  ArenaAllocator* arena_ = nullptr;  // that which first asked
  bool open_ = false;                // a ReplayScope is
  bool begun_ = false;               // and has asked for memory
  bool differs_ = false;             // so far in this step
  bool no_memory_ = false;           // for the region, in this step

  internal::StepRecord record_;
  std::vector<Entry> entries_;  // in the order of the step; empty: there is no plan
  internal::ArenaRegion* region_ = nullptr;
  size_t next_ = 0;      // entry that should come
  uint64_t replay_ = 0;  // number of this one, from 1
  ArenaPlanReport report_;
};

// A step of a plan: records it, or replays it. See ArenaPlan. Ends on its own thread.
class ReplayScope final : private internal::ArenaScopeBase {
 public:
  // Throws InvalidArgumentError when another scope of the plan is open.
  explicit ReplayScope(ArenaPlan& plan);
  ~ReplayScope();

 private:
  Status allocate(ArenaAllocator& arena, size_t bytes, size_t alignment, const Stream& stream,
                  Block* out) noexcept override;

  ArenaPlan& plan_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ARENA_PLAN_H_
