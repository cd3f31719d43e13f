#include "vellum/allocator/adaptors/limit.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace vellum {

LimitAdaptor::LimitAdaptor(std::unique_ptr<Allocator> upstream, size_t limit)
    : Adaptor("limit", std::move(upstream)), limit_(limit) {}

bool LimitAdaptor::take(size_t bytes) noexcept {
  size_t active = active_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - active) return false;
  } while (!active_.compare_exchange_weak(active, active + bytes, std::memory_order_relaxed));
  return true;
}

Status LimitAdaptor::refuse() noexcept {
  refusals_.fetch_add(1, std::memory_order_relaxed);
  return {StatusCode::kOutOfMemory, "the request would exceed the limit on active bytes that a LimitAdaptor sets"};
}

Status LimitAdaptor::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  // No block occupies less than was asked for: what exceeds the limit even so does not trouble the strategy.
  if (bytes > limit_ - active()) return refuse();
  Block block;
  if (const Status status = Adaptor::allocate(bytes, alignment, stream, &block); !status.ok()) return status;
  if (!take(active_bytes(block))) {
    Adaptor::deallocate(block, stream);
    return refuse();
  }
  *out = block;
  return ok_status();
}

void LimitAdaptor::deallocate(const Block& block, const Stream& stream) noexcept {
  const size_t bytes = active_bytes(block);
  Adaptor::deallocate(block, stream);
  active_.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryStats LimitAdaptor::stats() const {
  MemoryStats stats = Adaptor::stats();
  const auto limit = static_cast<int64_t>(std::min<size_t>(limit_, std::numeric_limits<int64_t>::max()));
  stats.limit = stats.limit >= 0 ? std::min(stats.limit, limit) : limit;
  return stats;
}

}  // namespace vellum
