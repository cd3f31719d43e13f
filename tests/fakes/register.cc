#include "vellum/tests/fakes/sim.h"

namespace vellum::sim {
namespace {

[[maybe_unused]] const DeviceType kRegistered = register_backend(backend());
[[maybe_unused]] const DeviceType kBareRegistered = register_backend(bare_backend());

}  // namespace
}  // namespace vellum::sim
