#ifndef VELLUM_TENSOR_BACKEND_H_
#define VELLUM_TENSOR_BACKEND_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "vellum/device/device_api.h"
#include "vellum/tensor/kernel.h"

namespace vellum {

inline constexpr uint32_t kBackendApiVersion = 1;

// A backend's descriptor: its name, its device functions and its kernels. Append-only. Lives as long as the program.
struct Backend {
  uint32_t struct_size = sizeof(Backend);
  uint32_t api_version = kBackendApiVersion;
  std::string_view name;  // "cpu", "cuda", "meta"
  const DeviceApi* device = nullptr;
  std::span<const KernelEntry> kernels;  // may be empty: composites and host fallback carry the backend
};

// Adds a backend; called by the initializer in its alwayslink `register` target. Only appends: kernels are resolved at
// the first call of each operator. Throws DeviceError on a second backend of that name or another api_version.
DeviceType register_backend(const Backend& backend);
// The backend of a device type, or null.
const Backend* find_backend(DeviceType type);
std::span<const Backend* const> registered_backends();

}  // namespace vellum

#endif  // VELLUM_TENSOR_BACKEND_H_
