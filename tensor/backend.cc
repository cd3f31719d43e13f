#include "vellum/tensor/backend.h"

#include <array>
#include <mutex>

#include "vellum/device/device.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

struct Registry {
  std::mutex mutex;
  std::array<const Backend*, kMaxDeviceTypes> by_type{};
  std::array<const Backend*, kMaxDeviceTypes> in_order{};
  size_t count = 0;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

DeviceType register_backend(const Backend& backend) {
  if (backend.api_version != kBackendApiVersion)
    throw_error<DeviceError>("backend '", backend.name, "' was built against Backend version ", backend.api_version,
                             ", this library has ", kBackendApiVersion, "; rebuild the backend");
  if (backend.struct_size != sizeof(Backend))
    throw_error<DeviceError>("backend '", backend.name, "' has a descriptor of ", backend.struct_size,
                             " bytes, this library's has ", sizeof(Backend), "; rebuild the backend");
  if (!backend.device) throw_error<DeviceError>("backend '", backend.name, "' has no DeviceApi");
  const DeviceType type = register_device(backend.name, *backend.device);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (r.by_type[type.id] == &backend) return type;
  if (r.by_type[type.id])
    throw_error<DeviceError>("backend '", backend.name, "' is registered twice; link only one of that name");
  r.by_type[type.id] = &backend;
  r.in_order[r.count++] = &backend;
  return type;
}

const Backend* find_backend(DeviceType type) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.by_type[type.id];
}

std::span<const Backend* const> registered_backends() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return {r.in_order.data(), r.count};
}

}  // namespace vellum
