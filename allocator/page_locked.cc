#include "vellum/allocator/page_locked.h"

#include <bit>

#include "vellum/allocator/request.h"
#include "vellum/device/error.h"

namespace vellum {

PageLockedAllocator::PageLockedAllocator(Device device)
    : device_(device), api_(device_api(device.type)), events_(device) {
  check_exists(device);
  if (!api_.host_allocate || !api_.host_deallocate)
    throw_error<NotImplementedError>("pinned memory: ", device, " has no page-locked host memory");
}

Status PageLockedAllocator::allocate(size_t bytes, size_t alignment, const Stream&, Block* out) noexcept {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  void* data = nullptr;
  if (bytes > 0)
    if (const Status status = api_.host_allocate(device_.index, bytes, &data); !status.ok()) return status;
  if (std::bit_cast<uintptr_t>(data) % alignment != 0) {
    (void)api_.host_deallocate(device_.index, data, bytes);
    return {StatusCode::kInvalidArgument, "page-locked memory is aligned to pages; ask for less"};
  }
  *out = {data, bytes, nullptr};
  std::lock_guard lock(mutex_);
  ++stats_.allocations;
  ++stats_.upstream_allocations;
  for (MemoryStat* stat : {&stats_.requested, &stats_.active, &stats_.reserved})
    internal::increase(*stat, static_cast<int64_t>(bytes));
  return ok_status();
}

void PageLockedAllocator::deallocate(const Block& block, const Stream&) noexcept {
  {
    std::lock_guard lock(mutex_);
    ++stats_.frees;
    ++stats_.upstream_frees;
    for (MemoryStat* stat : {&stats_.requested, &stats_.active, &stats_.reserved})
      internal::decrease(*stat, static_cast<int64_t>(block.bytes));
  }
  // A fault here is sticky on the device and surfaces at the next synchronize.
  if (block.data) (void)api_.host_deallocate(device_.index, block.data, block.bytes);
}

MemoryStats PageLockedAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void PageLockedAllocator::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  internal::reset_peaks(stats_.requested, stats_.active, stats_.reserved);
}

EventSource* PageLockedAllocator::events() noexcept { return events_.available() ? &events_ : nullptr; }

}  // namespace vellum
