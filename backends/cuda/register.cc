#include "vellum/backends/cuda/cuda_backend.h"
#include "vellum/device/device.h"

namespace vellum {
namespace {

[[maybe_unused]] const DeviceType kRegistered = register_backend(cuda_backend());

}  // namespace
}  // namespace vellum
