#include "vellum/backends/meta/meta_backend.h"
#include "vellum/device/device.h"

namespace vellum {
namespace {

[[maybe_unused]] const DeviceType kRegistered = register_backend(meta_backend());

}  // namespace
}  // namespace vellum
