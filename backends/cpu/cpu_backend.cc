#include "vellum/backends/cpu/cpu_backend.h"

#include <vector>

#include "vellum/backends/cpu/cpu_device.h"
#include "vellum/backends/cpu/kernels/families.h"

namespace vellum {

const Backend& cpu_backend() {
  // Leaked: kernels may be called while statics are destroyed.
  static const std::vector<KernelEntry>& kernels = *new std::vector<KernelEntry>(cpu::all_kernels());
  static const Backend backend{.name = "cpu", .device = &cpu_device_api(), .kernels = kernels};
  return backend;
}

}  // namespace vellum
