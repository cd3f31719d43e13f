#ifndef VELLUM_TESTS_FAKES_SIM_STATE_H_
#define VELLUM_TESTS_FAKES_SIM_STATE_H_

#include <mutex>

#include "vellum/tests/fakes/sim_memory.h"
#include "vellum/tests/fakes/sim_queues.h"

namespace vellum::sim {

// Everything behind the one lock. Recursive, so that work may look at memory.
struct State {
  std::recursive_mutex mutex;
  Memory memory;
  Queues queues;
};

State& state();

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_STATE_H_
