#include "vellum/device/device.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <ostream>

#include "vellum/device/device_api.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

struct Registry {
  std::mutex mutex;
  int size = 1;
  std::array<std::string, kMaxDeviceTypes> names{{"cpu"}};
  std::array<const DeviceApi*, kMaxDeviceTypes> apis{};
};

// Leaked on purpose: initializers and destructors of other files may use it in any order.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

int find_locked(const Registry& r, std::string_view name) {
  for (int i = 0; i < r.size; ++i)
    if (r.names[i] == name) return i;
  return -1;
}

DeviceType device_type_locked(Registry& r, std::string_view name) {
  if (const int found = find_locked(r, name); found >= 0) return {static_cast<uint8_t>(found)};
  if (r.size == kMaxDeviceTypes)
    throw_error<DeviceError>("device type '", name, "': there are already ", kMaxDeviceTypes,
                             " types; link fewer backends");
  r.names[r.size] = std::string(name);
  return {static_cast<uint8_t>(r.size++)};
}

}  // namespace

DeviceType device_type(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return device_type_locked(r, name);
}

bool find_device_type(std::string_view name, DeviceType* type) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const int found = find_locked(r, name);
  if (found < 0 || !r.apis[found]) return false;
  type->id = static_cast<uint8_t>(found);
  return true;
}

std::string_view device_type_name(DeviceType type) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return type.id < r.size ? std::string_view(r.names[type.id]) : "unknown";
}

DeviceType register_device(std::string_view name, const DeviceApi& api) {
  if (api.api_version != kDeviceApiVersion)
    throw_error<DeviceError>("device '", name, "' was built against DeviceApi version ", api.api_version,
                             ", this library has ", kDeviceApiVersion, "; rebuild the backend");
  if (api.struct_size < offsetof(DeviceApi, why_no_devices) || api.struct_size > sizeof(DeviceApi))
    throw_error<DeviceError>("device '", name, "' has a DeviceApi of ", api.struct_size, " bytes, this library's has ",
                             sizeof(DeviceApi), "; rebuild the backend");
  if (api.granularity & (api.granularity - 1))
    throw_error<DeviceError>("device '", name, "' maps pages of ", api.granularity,
                             " bytes; DeviceApi::granularity must be a power of two, or 0 without pages");
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const DeviceType type = device_type_locked(r, name);
  if (r.apis[type.id] && r.apis[type.id] != &api)
    throw_error<DeviceError>("device '", name, "' is registered twice; link only one backend of that name");
  r.apis[type.id] = &api;
  return type;
}

const DeviceApi& device_api(DeviceType type) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (type.id >= r.size || !r.apis[type.id]) {
    const std::string name = type.id < r.size ? r.names[type.id] : "unknown";
    throw_error<DeviceError>("no backend is registered for device '", name, "'; depend on its register target (",
                             "//backends/", name, ":register)");
  }
  return *r.apis[type.id];
}

void check_exists(Device device) {
  const DeviceApi& api = device_api(device.type);
  const int count = api.device_count();
  if (device.index < count) return;
  if (count > 0)
    throw_error<DeviceError>("device ", device, " does not exist: there are ", count,
                             " of its type; use one from 0 to ", count - 1);
  // A table that was built before the entry existed ends before it.
  const bool tells = api.struct_size > offsetof(DeviceApi, why_no_devices) && api.why_no_devices;
  throw_error<DeviceError>("device ", device, " does not exist: ",
                           tells ? api.why_no_devices() : "this machine has none of its type; use 'cpu'");
}

Device::Device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (!find_device_type(name, &type))
    throw_error<DeviceError>("device '", text, "': no backend of that name is registered; link //backends/", name,
                             ":register or use 'cpu'");
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  int value = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const int count = device_api(type).device_count();
  if (count == 0) check_exists(*this);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value >= count)
    throw_error<DeviceError>("device '", text, "': the index must be a number from 0 to ", count - 1);
  index = static_cast<uint8_t>(value);
}

std::string Device::str() const {
  return type == kCPU ? "cpu" : str_cat(device_type_name(type), ":", static_cast<int>(index));
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }

}  // namespace vellum
