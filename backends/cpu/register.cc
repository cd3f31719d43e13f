#include "vellum/backends/cpu/cpu_backend.h"
#include "vellum/device/device.h"

namespace vellum {
namespace {

[[maybe_unused]] const DeviceType kRegistered = register_backend(cpu_backend());

}  // namespace
}  // namespace vellum
