#ifndef VELLUM_TOOLS_ALLOCATOR_REPLAY_TRAINING_TRACE_H_
#define VELLUM_TOOLS_ALLOCATOR_REPLAY_TRAINING_TRACE_H_

#include <cstdint>
#include <iosfwd>

namespace vellum::allocator_replay {

struct TrainingTraceOptions {
  int layers = 12;
  int steps = 20;
  uint64_t seed = 0;
};

// Writes a log as the training of a network of so many layers makes it: parameters and optimizer state that stay,
// activations that live from the forward to the backward pass, gradients, short-lived workspaces; the batch, and with
// it every activation, is of another size in each step. The same options write the same log on every machine.
// Throws InvalidArgumentError unless layers and steps are from 1 to 100000.
void write_training_trace(std::ostream& out, const TrainingTraceOptions& options);

}  // namespace vellum::allocator_replay

#endif  // VELLUM_TOOLS_ALLOCATOR_REPLAY_TRAINING_TRACE_H_
