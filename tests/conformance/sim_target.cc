#include "vellum/device/stream.h"
#include "vellum/tests/conformance/conformance.h"
#include "vellum/tests/fakes/sim.h"

namespace vellum::conformance {
namespace {

// Nothing may come to rest by luck: work runs late and in an arbitrary order, and the default stream, on which whoever
// forgets the current one enqueues, is held up for ever.
struct Adverse {
  const Device device{SIM_DEVICE};
  const sim::Gate gate = (sim::set_mode(sim::Mode::kRandom, 20240), sim::hold({device, 0}));
  const StreamGuard stream{create_stream(device)};
};

}  // namespace

Target target() {
  static const Adverse adverse;
  return {.device = SIM_DEVICE, .expected_failures = {}};
}

}  // namespace vellum::conformance
