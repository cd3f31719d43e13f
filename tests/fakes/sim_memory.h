#ifndef VELLUM_TESTS_FAKES_SIM_MEMORY_H_
#define VELLUM_TESTS_FAKES_SIM_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vellum/device/status.h"

namespace vellum::sim {

inline constexpr int kDevices = 2;
inline constexpr size_t kGranularity = size_t{2} << 20;  // bytes; of CUDA's devices

// The memory of all devices, not thread-safe. Device addresses are address space without access; the bytes lie a fixed
// distance behind, in the same mapping.
class Memory {
 public:
  Memory();

  Status allocate(int device, size_t bytes, size_t alignment, void** out);
  Status deallocate(int device, void* data);
  Status host_allocate(size_t bytes, void** out);
  Status host_deallocate(void* data);
  Status reserve(int device, size_t bytes, void** out);
  Status map(int device, void* data, size_t bytes);
  Status unmap(int device, void* data, size_t bytes);
  Status release(int device, void* data, size_t bytes);

  // Where the host reaches the bytes; null when they are not all mapped memory of this device (any device: -1).
  char* resolve(int device, const void* data, size_t bytes) const;
  bool is_device_address(const void* data) const { return find(data) != nullptr; }
  bool is_page_locked(const void* data, size_t bytes) const;
  // "byte 4 of 512 of sim:0, allocated by 'mul'"; empty for an address that is none of the devices'.
  std::string describe(const void* data) const;

  size_t used(int device) const { return used_[device]; }
  size_t limit(int device) const { return limit_[device]; }
  void set_limit(int device, size_t bytes) { limit_[device] = bytes; }

 private:
  struct Region {
    int device;
    char* data;    // the device's address
    size_t bytes;  // of address space
    char* mapping;
    size_t mapping_bytes;
    bool is_reservation;
    std::vector<bool> mapped;  // granules of a reservation
    std::string operator_name;

    char* host() const { return data + bytes; }
    bool is_mapped(size_t offset, size_t count) const;
  };

  Status add_region(int device, size_t bytes, size_t alignment, Region** out);
  void remove_region(const Region& region);
  const Region* find(const void* data) const;
  // The reservation that [data, data + bytes) lies in, in whole granules; null if none.
  Region* find_reservation(int device, void* data, size_t bytes);
  bool has_room(int device, size_t bytes) const {
    return bytes <= limit_[device] - std::min(limit_[device], used_[device]);
  }

  std::map<const char*, Region> regions_;      // by device address
  std::map<const char*, size_t> page_locked_;  // bytes by address
  size_t used_[kDevices] = {};
  size_t limit_[kDevices];
};

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_MEMORY_H_
