#ifndef VELLUM_TESTS_FAKES_REFERENCE_BACKEND_H_
#define VELLUM_TESTS_FAKES_REFERENCE_BACKEND_H_

#include <set>
#include <string_view>

#include "vellum/tensor/backend.h"

namespace vellum::testing {

// Registers a device "reference" in the host's memory whose kernel of every operator is that operator's reference, for
// every dtype of its domain: what runs there shows what the references say. Views have no kernel anywhere. Call it from
// main(), when all operators have joined their list, and link //backends/cpu:register.
DeviceType register_reference_backend();

// The operators whose references computed something since the program started, by name.
std::set<std::string_view> references_used();

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_FAKES_REFERENCE_BACKEND_H_
