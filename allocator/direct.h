#ifndef VELLUM_ALLOCATOR_DIRECT_H_
#define VELLUM_ALLOCATOR_DIRECT_H_

#include <mutex>

#include "vellum/allocator/allocator.h"
#include "vellum/device/device_api.h"

namespace vellum {

// Asks the device for every block and gives every block back at once: the upstream of the other strategies, and a
// strategy of its own for finding memory errors. Thread-safe.
//
// A block occupies its bytes rounded up to the alignment. From 2 MiB on, blocks are aligned to 2 MiB and occupy a
// multiple of it, so that the system can back them by huge pages. On a shape-only device blocks have no data but are
// counted all the same.
class DirectAllocator final : public Allocator {
 public:
  // Throws DeviceError when no backend is registered for `device`.
  explicit DirectAllocator(Device device);

  std::string_view name() const override { return "direct"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;

  static constexpr size_t kHugePage = size_t{2} << 20;  // bytes

 private:
  Status ask_device(size_t occupied, size_t alignment, void** data) noexcept;

  const Device device_;
  const DeviceApi& api_;
  mutable std::mutex mutex_;
  MemoryStats stats_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_DIRECT_H_
