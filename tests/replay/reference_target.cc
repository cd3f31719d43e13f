#include "vellum/tests/fakes/reference_backend.h"
#include "vellum/tests/replay/target.h"

vellum::Device vellum::replay::target() {
  static const DeviceType type = testing::register_reference_backend();
  return Device(type);
}
