#ifndef VELLUM_TESTS_FAKES_SIM_KERNELS_H_
#define VELLUM_TESTS_FAKES_SIM_KERNELS_H_

#include <span>

#include "vellum/tensor/kernel.h"

namespace vellum::sim {

// The CPU's kernels of a few operators as work on the queues.
std::span<const KernelEntry> kernels();

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_KERNELS_H_
