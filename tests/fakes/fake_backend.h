#ifndef VELLUM_TESTS_FAKES_FAKE_BACKEND_H_
#define VELLUM_TESTS_FAKES_FAKE_BACKEND_H_

#include "vellum/tensor/backend.h"

namespace vellum::testing {

// A device "fake" without a single kernel, whose memory the host cannot read or write: only the functions of its
// DeviceApi reach it, and any other access ends the program with a segmentation fault. What works here works by the
// host fallback and by the DeviceApi alone. Depend on //tests/fakes:register to have it registered.
const Backend& fake_backend();

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_FAKES_FAKE_BACKEND_H_
