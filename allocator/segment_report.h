#ifndef VELLUM_ALLOCATOR_SEGMENT_REPORT_H_
#define VELLUM_ALLOCATOR_SEGMENT_REPORT_H_

#include <cstddef>
#include <cstdint>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/request.h"

namespace vellum::internal {

// Whom a strategy tells of its segments. Counting and telling are one, so that what an observer hears sums to what is
// counted. All under the lock that guards the count.
class SegmentReport {
 public:
  void set_observer(SegmentObserver* observer, const Allocator& source) {
    observer_ = observer;
    source_ = &source;
  }

  void count(MemoryStat& reserved, SegmentChange change, const void* data, size_t bytes) noexcept {
    const bool grows = change == SegmentChange::kAllocated || change == SegmentChange::kMapped;
    (grows ? increase : decrease)(reserved, static_cast<int64_t>(bytes));
    if (observer_) [[unlikely]]
      observer_->segment_changed(*source_, change, data, bytes);
  }

 private:
  SegmentObserver* observer_ = nullptr;
  const Allocator* source_ = nullptr;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_SEGMENT_REPORT_H_
