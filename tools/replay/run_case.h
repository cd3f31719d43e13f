#ifndef VELLUM_TOOLS_REPLAY_RUN_CASE_H_
#define VELLUM_TOOLS_REPLAY_RUN_CASE_H_

#include <string>

#include "vellum/tools/replay/case.h"
#include "vellum/tools/replay/compare.h"

namespace vellum::replay {

enum class Verdict { kPassed, kFailed, kUnsupported };

struct Outcome {
  Verdict verdict;
  std::string why;  // the first difference, the error, or what is unsupported; empty where it passed
};

// Calls the operator on `device` and compares results, and gradients where the case has them, with PyTorch's.
// Unsupported is a call that the library cannot express: no binding, a missing argument, form, dtype or kernel. Any
// other exception is a failure. `wider` stands in for the tolerance of every dtype. Does not throw.
Outcome run_case(const Case& c, Device device, const Tolerance* wider = nullptr);

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_RUN_CASE_H_
