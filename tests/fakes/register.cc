#include "vellum/tests/fakes/fake_backend.h"

namespace vellum::testing {
namespace {

[[maybe_unused]] const DeviceType kRegistered = register_backend(fake_backend());

}  // namespace
}  // namespace vellum::testing
