#ifndef VELLUM_DEVICE_DEVICE_H_
#define VELLUM_DEVICE_DEVICE_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace vellum {

struct DeviceApi;

inline constexpr int kMaxDeviceTypes = 16;

// A kind of device. An id that the registry hands out by name, not a closed enum, so that backends defined in other
// workspaces get one too. CPU is always 0.
struct DeviceType {
  uint8_t id = 0;

  friend constexpr bool operator==(DeviceType, DeviceType) = default;
};

inline constexpr DeviceType kCPU{0};

// One device: its type and its index among the devices of that type. A value of two bytes.
struct Device {
  DeviceType type = kCPU;
  uint8_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType t, int i = 0) : type(t), index(static_cast<uint8_t>(i)) {}

  // Parses "cpu", "cuda" or "cuda:1". Throws DeviceError when no backend of that name is registered.
  explicit Device(std::string_view text);

  std::string str() const;
  friend constexpr bool operator==(Device, Device) = default;
};

std::ostream& operator<<(std::ostream& out, Device device);

// The registry. Thread-safe. The names and tables that it is given must live as long as the program.

// The id of `name`, handing out a new one if the name is new. Throws DeviceError beyond kMaxDeviceTypes names.
DeviceType device_type(std::string_view name);
// Whether `name` has an id and a DeviceApi; `type` is set when it has.
bool find_device_type(std::string_view name, DeviceType* type);
std::string_view device_type_name(DeviceType type);

// Gives the type named `name` its functions. Throws DeviceError when that name already has others or when the table
// was built against another api_version, naming both.
DeviceType register_device(std::string_view name, const DeviceApi& api);
// The functions of a type. Throws DeviceError naming the target to link when there are none.
const DeviceApi& device_api(DeviceType type);

// Throws DeviceError when this machine has no such device, with the backend's reason where it has none of the type.
void check_exists(Device device);

}  // namespace vellum

#endif  // VELLUM_DEVICE_DEVICE_H_
