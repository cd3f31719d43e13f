#ifndef VELLUM_ALLOCATOR_DIRECT_H_
#define VELLUM_ALLOCATOR_DIRECT_H_

#include <map>
#include <mutex>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/device_events.h"
#include "vellum/allocator/segment_report.h"
#include "vellum/device/device_api.h"

namespace vellum {

// Asks the device for every block and gives every block back at once: the upstream of the other strategies, and a
// strategy of its own for finding memory errors. Thread-safe.
//
// A block occupies its bytes rounded up to the alignment. From 2 MiB on, blocks are aligned to 2 MiB and occupy a
// multiple of it, so that the system can back them by huge pages. On a shape-only device blocks have no data but are
// counted all the same; snapshots leave them out.
//
// A block that is freed while streams still use it is the device's affair: strategies that keep blocks wait first.
class DirectAllocator final : public Allocator {
 public:
  // Throws DeviceError when no backend is registered for `device`.
  explicit DirectAllocator(Device device);

  std::string_view name() const override { return "direct"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;
  MemoryStats stats() const override;
  void reset_peak_stats() noexcept override;
  size_t active_bytes(const Block& block) const noexcept override;
  void visit_segments(SegmentVisitor& visitor) const override;
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override;
  // Those of the device, where it has them.
  PageSource* pages() noexcept override;
  EventSource* events() noexcept override;

  static constexpr size_t kHugePage = size_t{2} << 20;  // bytes

 private:
  class Pages final : public PageSource {
   public:
    Pages(const DeviceApi& api, int index) : api_(api), index_(index) {}
    size_t granularity() const noexcept override { return api_.granularity; }
    Status reserve(size_t bytes, void** out) noexcept override { return api_.reserve(index_, bytes, out); }
    Status map(void* data, size_t bytes) noexcept override { return api_.map(index_, data, bytes); }
    Status unmap(void* data, size_t bytes) noexcept override { return api_.unmap(index_, data, bytes); }
    Status release(void* data, size_t bytes) noexcept override { return api_.release(index_, data, bytes); }

   private:
    const DeviceApi& api_;
    const int index_;
  };

  struct Live {
    size_t requested;
    size_t occupied;
    Stream stream;
  };

  Status ask_device(size_t occupied, size_t alignment, void** data) noexcept;
  Status note_live(const Block& block, size_t occupied, const Stream& stream) noexcept;

  const Device device_;
  const DeviceApi& api_;
  Pages pages_;
  internal::DeviceEvents events_;
  mutable std::mutex mutex_;
  MemoryStats stats_;
  internal::SegmentReport segments_;
  std::map<const void*, Live> live_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_DIRECT_H_
