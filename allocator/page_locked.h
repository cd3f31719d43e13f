#ifndef VELLUM_ALLOCATOR_PAGE_LOCKED_H_
#define VELLUM_ALLOCATOR_PAGE_LOCKED_H_

#include <mutex>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/device_events.h"
#include "vellum/device/device_api.h"

namespace vellum {

// Asks a device for page-locked host memory, block by block (DeviceApi::host_allocate): the upstream of
// PinnedAllocator. Its events are those of the device. Thread-safe.
class PageLockedAllocator final : public Allocator {
 public:
  // Throws DeviceError when no backend is registered for `device`, NotImplementedError when the device has no
  // page-locked memory.
  explicit PageLockedAllocator(Device device);

  std::string_view name() const override { return "page_locked"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  EventSource* events() noexcept override;

 private:
  const Device device_;
  const DeviceApi& api_;
  internal::DeviceEvents events_;
  mutable std::mutex mutex_;
  MemoryStats stats_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_PAGE_LOCKED_H_
