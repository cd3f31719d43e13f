#include "vellum/allocator/direct.h"

#include <algorithm>
#include <bit>
#include <new>

#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"

namespace vellum {

DirectAllocator::DirectAllocator(Device device)
    : device_(device), api_(device_api(device.type)), pages_(api_, device.index), events_(device) {}

PageSource* DirectAllocator::pages() noexcept {
  return api_.granularity > 0 && api_.reserve && api_.map && api_.unmap && api_.release ? &pages_ : nullptr;
}

EventSource* DirectAllocator::events() noexcept { return events_.available() ? &events_ : nullptr; }

Status DirectAllocator::ask_device(size_t occupied, size_t alignment, void** data) noexcept {
  const Status status = api_.allocate(device_.index, occupied, alignment, data);
  if (!status.ok() || *data || api_.shape_only) return status;
  return {StatusCode::kDeviceError, "the device reported success but gave no memory"};
}

Status DirectAllocator::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  alignment = std::max(alignment, bytes >= kHugePage ? kHugePage : kDefaultAlignment);
  const size_t occupied = internal::round_up(bytes, alignment);
  void* data = nullptr;
  if (bytes > 0)
    if (const Status status = ask_device(occupied, alignment, &data); !status.ok()) return status;

  // The handle carries what the block occupies, which the device wants back and the block does not tell.
  const Block block{data, bytes, std::bit_cast<void*>(occupied)};
  std::lock_guard lock(mutex_);
  if (const Status status = note_live(block, occupied, stream); !status.ok()) return status;
  *out = block;
  ++stats_.allocations;
  if (bytes == 0) return ok_status();
  ++stats_.upstream_allocations;
  internal::increase(stats_.requested, static_cast<int64_t>(bytes));
  internal::increase(stats_.active, static_cast<int64_t>(occupied));
  segments_.count(stats_.reserved, SegmentChange::kAllocated, data, occupied);
  return ok_status();
}

Status DirectAllocator::note_live(const Block& block, size_t occupied, const Stream& stream) noexcept try {
  if (block.data) live_[block.data] = {block.bytes, occupied, stream};
  return ok_status();
} catch (const std::bad_alloc&) {
  (void)api_.deallocate(device_.index, block.data, occupied);
  return internal::kNoRecords;
}

void DirectAllocator::deallocate(const Block& block, const Stream&) noexcept {
  const auto occupied = std::bit_cast<size_t>(block.handle);
  {
    std::lock_guard lock(mutex_);
    ++stats_.frees;
    if (occupied == 0) return;
    ++stats_.upstream_frees;
    live_.erase(block.data);
    internal::decrease(stats_.requested, static_cast<int64_t>(block.bytes));
    internal::decrease(stats_.active, static_cast<int64_t>(occupied));
    segments_.count(stats_.reserved, SegmentChange::kFreed, block.data, occupied);
  }
  // A fault here is sticky on the device and surfaces at the next synchronize.
  if (block.data) (void)api_.deallocate(device_.index, block.data, occupied);
}

size_t DirectAllocator::active_bytes(const Block& block) const noexcept { return std::bit_cast<size_t>(block.handle); }

void DirectAllocator::visit_segments(SegmentVisitor& visitor) const {
  std::lock_guard lock(mutex_);
  for (const auto& [data, live] : live_) {
    visitor.segment({data, live.occupied, live.stream});
    visitor.block({data, live.occupied, live.requested, BlockInfo::State::kActive});
  }
}

void DirectAllocator::observe_segments(SegmentObserver* observer, const Allocator& source) noexcept {
  std::lock_guard lock(mutex_);
  segments_.set_observer(observer, source);
}

MemoryStats DirectAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void DirectAllocator::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  internal::reset_peaks(stats_.requested, stats_.active, stats_.reserved);
}

}  // namespace vellum
