#ifndef VELLUM_MEMORY_FAKE_DEVICE_H_
#define VELLUM_MEMORY_FAKE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/device/device_api.h"

namespace vellum::internal {

// A device whose memory is addresses only (see kDryAddresses), for the strategies of dry runs: they take it for the
// real one. It is registered as "dry run of cpu", has the page size of its model and works at once.
//
// Addresses are distinct among all fake devices, aligned as asked, and used again for memory of the same size, the one
// freed last first. A device has 16 TiB of them, whatever its budget. Thread-safe.
class FakeDevice {
 public:
  // `budget`: bytes that it has; 0: as many as it has addresses. Throws DeviceError where `model` has no backend, or
  // too many are alive.
  FakeDevice(Device model, int64_t budget);
  ~FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  // As a strategy is told it.
  Device device() const { return device_; }

  Status allocate(size_t bytes, size_t alignment, void** out) noexcept;
  void deallocate(void* data) noexcept;
  Status reserve(size_t bytes, void** out) noexcept;
  Status map(size_t bytes) noexcept;
  void unmap(size_t bytes) noexcept;
  void release(void* data, size_t bytes) noexcept;

 private:
  bool take(size_t bytes);
  uintptr_t fresh(size_t bytes, size_t alignment);

  Device device_;
  const size_t budget_;
  std::mutex mutex_;
  size_t used_ = 0;
  uintptr_t next_, end_;                                 // addresses never given so far
  std::map<void*, size_t> live_;                         // bytes
  std::map<size_t, std::vector<uintptr_t>> free_again_;  // by bytes
  std::map<size_t, std::vector<uintptr_t>> reserved_before_;
};

}  // namespace vellum::internal

#endif  // VELLUM_MEMORY_FAKE_DEVICE_H_
