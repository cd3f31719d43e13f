// The CPU without a kernel: files need its memory alone, and the fuzz target is built without the rest.

#include "vellum/backends/cpu/cpu_device.h"
#include "vellum/tensor/backend.h"

namespace vellum {
namespace {

const Backend kBareCpu{.name = "cpu", .device = &cpu_device_api()};
[[maybe_unused]] const DeviceType kRegistered = register_backend(kBareCpu);

}  // namespace
}  // namespace vellum
