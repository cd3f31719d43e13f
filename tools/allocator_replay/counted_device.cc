#include "vellum/tools/allocator_replay/counted_device.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "vellum/backends/cpu/cpu_device.h"
#include "vellum/device/device_api.h"

namespace vellum::allocator_replay {
namespace {

struct Counters {
  std::mutex mutex;
  DeviceUse use;
  int64_t limit = std::numeric_limits<int64_t>::max();
};

// Leaked on purpose: allocators may outlive static destruction.
Counters& counters() {
  static Counters& all = *new Counters;
  return all;
}

const DeviceApi& host() { return cpu_device_api(); }

bool take(size_t bytes) {
  Counters& all = counters();
  std::lock_guard lock(all.mutex);
  if (bytes > static_cast<uint64_t>(std::max<int64_t>(0, all.limit - all.use.bytes))) return false;
  all.use.bytes += static_cast<int64_t>(bytes);
  all.use.peak_bytes = std::max(all.use.peak_bytes, all.use.bytes);
  ++all.use.allocations;
  return true;
}

void give_back(size_t bytes, bool counts_as_free) {
  Counters& all = counters();
  std::lock_guard lock(all.mutex);
  all.use.bytes -= static_cast<int64_t>(bytes);
  if (counts_as_free)
    ++all.use.frees;
  else
    --all.use.allocations;
}

// Counts what `ask` gets from the host.
template <typename Ask>
Status counted(size_t bytes, Ask ask) {
  if (!take(bytes)) return {StatusCode::kOutOfMemory, "the device of this replay has no more memory"};
  const Status status = ask();
  if (!status.ok()) give_back(bytes, false);
  return status;
}

Status allocate(int, size_t bytes, size_t alignment, void** out) noexcept {
  return counted(bytes, [&] { return host().allocate(0, bytes, alignment, out); });
}

Status deallocate(int, void* data, size_t bytes) noexcept {
  give_back(bytes, true);
  return host().deallocate(0, data, bytes);
}

Status map(int, void* data, size_t bytes) noexcept {
  return counted(bytes, [&] { return host().map(0, data, bytes); });
}

Status unmap(int, void* data, size_t bytes) noexcept {
  give_back(bytes, true);
  return host().unmap(0, data, bytes);
}

const DeviceApi& api() {
  static const DeviceApi counting = [] {
    DeviceApi made = host();
    made.allocate = allocate;
    made.deallocate = deallocate;
    if (made.map) made.map = map;
    if (made.unmap) made.unmap = unmap;
    return made;
  }();
  return counting;
}

}  // namespace

Device counted_device() {
  static const Device device(register_device("counted", api()));
  return device;
}

void restart_counting(int64_t limit) {
  Counters& all = counters();
  std::lock_guard lock(all.mutex);
  all.use = {};
  all.limit = limit;
}

DeviceUse device_use() {
  Counters& all = counters();
  std::lock_guard lock(all.mutex);
  return all.use;
}

}  // namespace vellum::allocator_replay
