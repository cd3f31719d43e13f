#include "vellum/memory/fake_device.h"

#include <array>
#include <atomic>
#include <bit>
#include <new>
#include <string>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"

namespace vellum::internal {
namespace {

constexpr int kFakes = 256;                             // alive at once, of all models
constexpr uintptr_t kRegion = uintptr_t{1} << 44;       // addresses of one fake device
constexpr uint64_t kRegions = kDryAddresses / kRegion;  // before they are used again
constexpr Status kFull{StatusCode::kOutOfMemory, "the budget of the dry run is used up"};
constexpr Status kNoRecords{StatusCode::kOutOfMemory, "no host memory is left for the records of the dry run"};

// Of one model. The functions are told which device they work for by its index.
struct Family {
  std::string name;
  DeviceApi api;
  DeviceType type;
};

struct Registry {
  std::mutex mutex;
  std::array<Family*, kMaxDeviceTypes> families{};
  std::array<FakeDevice*, kFakes> fakes{};
  uint64_t regions = 0;
};

// Leaked: memory may be given back during static destruction.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// Null when it is gone; then nothing is kept of its memory.
FakeDevice* find(int index) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return all.fakes[static_cast<size_t>(index)];
}

Status allocate(int index, size_t bytes, size_t alignment, void** out) noexcept {
  FakeDevice* fake = find(index);
  return fake ? fake->allocate(bytes, alignment, out) : kFull;
}
Status deallocate(int index, void* data, size_t) noexcept {
  if (FakeDevice* fake = find(index)) fake->deallocate(data);
  return ok_status();
}
Status reserve(int index, size_t bytes, void** out) noexcept {
  FakeDevice* fake = find(index);
  return fake ? fake->reserve(bytes, out) : kFull;
}
Status map(int index, void*, size_t bytes) noexcept {
  FakeDevice* fake = find(index);
  return fake ? fake->map(bytes) : kFull;
}
Status unmap(int index, void*, size_t bytes) noexcept {
  if (FakeDevice* fake = find(index)) fake->unmap(bytes);
  return ok_status();
}
Status release(int index, void* data, size_t bytes) noexcept {
  if (FakeDevice* fake = find(index)) fake->release(data, bytes);
  return ok_status();
}
Status no_copy(int, void*, const void*, size_t, CopyKind, StreamHandle) noexcept { return ok_status(); }
Status no_memset(int, void*, int, size_t, StreamHandle) noexcept { return ok_status(); }

Family* make_family(Device model) {
  const DeviceApi& real = device_api(model.type);
  auto* family = new Family;
  family->name = str_cat("dry run of ", device_type_name(model.type));
  family->api.device_count = []() noexcept { return kFakes; };
  family->api.allocate = allocate;
  family->api.deallocate = deallocate;
  family->api.copy = no_copy;
  family->api.memset = no_memset;
  family->api.shape_only = real.shape_only;
  if (real.granularity != 0) {
    family->api.granularity = real.granularity;
    family->api.reserve = reserve;
    family->api.map = map;
    family->api.unmap = unmap;
    family->api.release = release;
  }
  family->type = register_device(family->name, family->api);
  return family;
}

uintptr_t aligned(uintptr_t address, size_t alignment) { return (address + alignment - 1) & ~(alignment - 1); }

}  // namespace

FakeDevice::FakeDevice(Device model, int64_t budget)
    : budget_(budget > 0 ? static_cast<size_t>(budget) : size_t{1} << 62) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  Family*& family = all.families[model.type.id];
  if (!family) family = make_family(model);
  size_t index = 0;
  while (index < all.fakes.size() && all.fakes[index]) ++index;
  if (index == all.fakes.size())
    throw_error<DeviceError>("predict_peak: ", kFakes, " dry runs are under way; finish some first");
  all.fakes[index] = this;
  device_ = Device(family->type, static_cast<int>(index));
  next_ = kDryAddresses + all.regions++ % kRegions * kRegion;
  end_ = next_ + kRegion;
}

FakeDevice::~FakeDevice() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.fakes[device_.index] = nullptr;
}

bool FakeDevice::take(size_t bytes) {
  if (bytes > budget_ - used_) return false;
  used_ += bytes;
  return true;
}

// 0 where there are no more.
uintptr_t FakeDevice::fresh(size_t bytes, size_t alignment) {
  const uintptr_t start = aligned(next_, alignment);
  if (start > end_ || bytes > end_ - start) return 0;
  next_ = start + bytes;
  return start;
}

Status FakeDevice::allocate(size_t bytes, size_t alignment, void** out) noexcept try {
  *out = nullptr;
  std::lock_guard lock(mutex_);
  std::vector<uintptr_t>& again = free_again_[bytes];
  const bool reuses = !again.empty() && again.back() % alignment == 0;
  if (bytes > budget_ - used_) return kFull;
  const uintptr_t start = reuses ? again.back() : fresh(bytes, alignment);
  if (start == 0) return kFull;
  live_.emplace(std::bit_cast<void*>(start), bytes);
  if (reuses) again.pop_back();
  used_ += bytes;
  *out = std::bit_cast<void*>(start);
  return ok_status();
} catch (const std::bad_alloc&) {
  return kNoRecords;
}

// Addresses that cannot be noted for reuse are given up.
void FakeDevice::deallocate(void* data) noexcept try {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(data);
  if (found == live_.end()) return;
  const size_t bytes = found->second;
  live_.erase(found);
  used_ -= bytes;
  free_again_[bytes].push_back(std::bit_cast<uintptr_t>(data));
} catch (const std::bad_alloc&) {
}

Status FakeDevice::reserve(size_t bytes, void** out) noexcept try {
  std::lock_guard lock(mutex_);
  std::vector<uintptr_t>& again = reserved_before_[bytes];
  uintptr_t start = 0;
  if (again.empty()) {
    start = fresh(bytes, size_t{2} << 20);
  } else {
    start = again.back();
    again.pop_back();
  }
  if (start == 0) return kFull;
  *out = std::bit_cast<void*>(start);
  return ok_status();
} catch (const std::bad_alloc&) {
  return kNoRecords;
}

// As deallocate().
void FakeDevice::release(void* data, size_t bytes) noexcept try {
  std::lock_guard lock(mutex_);
  reserved_before_[bytes].push_back(std::bit_cast<uintptr_t>(data));
} catch (const std::bad_alloc&) {
}

Status FakeDevice::map(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  return take(bytes) ? ok_status() : kFull;
}

void FakeDevice::unmap(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  used_ -= bytes;
}

}  // namespace vellum::internal
