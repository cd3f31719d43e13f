#include "vellum/allocator/adaptors/statistics.h"

#include <algorithm>
#include <utility>

#include "vellum/allocator/request.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

// Continues `below` by what `above` counted since it was pushed.
void append(MemoryStat& below, const MemoryStat& above) {
  below.peak = std::max(below.peak, below.current + above.peak);
  below.current += above.current;
  below.allocated += above.allocated;
  below.freed += above.freed;
}

}  // namespace

StatisticsAdaptor::StatisticsAdaptor(std::unique_ptr<Allocator> upstream)
    : Adaptor("statistics", std::move(upstream)), stack_(1) {}

Status StatisticsAdaptor::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (const Status status = Adaptor::allocate(bytes, alignment, stream, out); !status.ok()) return status;
  const size_t active = active_bytes(*out);
  std::lock_guard lock(mutex_);
  internal::increase(stack_.back().requested, static_cast<int64_t>(bytes));
  internal::increase(stack_.back().active, static_cast<int64_t>(active));
  internal::increase(stack_.back().blocks, 1);
  return ok_status();
}

void StatisticsAdaptor::deallocate(const Block& block, const Stream& stream) noexcept {
  const size_t active = active_bytes(block);
  {
    std::lock_guard lock(mutex_);
    internal::decrease(stack_.back().requested, static_cast<int64_t>(block.bytes));
    internal::decrease(stack_.back().active, static_cast<int64_t>(active));
    internal::decrease(stack_.back().blocks, 1);
  }
  Adaptor::deallocate(block, stream);
}

void StatisticsAdaptor::push_counters() {
  std::lock_guard lock(mutex_);
  stack_.emplace_back();
}

MemoryCounters StatisticsAdaptor::pop_counters() {
  std::lock_guard lock(mutex_);
  if (stack_.size() == 1)
    throw_error<InvalidArgumentError>("pop_counters: no counters were pushed; call push_counters() before");
  const MemoryCounters counted = stack_.back();
  stack_.pop_back();
  append(stack_.back().requested, counted.requested);
  append(stack_.back().active, counted.active);
  append(stack_.back().blocks, counted.blocks);
  return counted;
}

StatisticsScope::~StatisticsScope() {
  try {
    statistics_.pop_counters();
  } catch (const InvalidArgumentError&) {
    // Popped already: what the scope counted has gone where it belongs.
  }
}

MemoryCounters StatisticsAdaptor::counters() const {
  std::lock_guard lock(mutex_);
  return stack_.back();
}

}  // namespace vellum
