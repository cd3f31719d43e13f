#ifndef VELLUM_TOOLS_ALLOCATOR_REPLAY_REPORT_H_
#define VELLUM_TOOLS_ALLOCATOR_REPLAY_REPORT_H_

#include <string>
#include <vector>

#include "vellum/tools/allocator_replay/tournament.h"

namespace vellum::allocator_replay {

// One line on the trace: how many calls, and the most bytes live at once.
std::string summary(const Trace& trace, const std::string& name);

// A line for each strategy, and which held least and took least time among those that served every allocation.
std::string table(const Trace& trace, const std::vector<Outcome>& outcomes);

// {"trace": {...}, "strategies": [{...}]}; bytes and nanoseconds.
std::string json(const Trace& trace, const std::string& name, const std::vector<Outcome>& outcomes);

}  // namespace vellum::allocator_replay

#endif  // VELLUM_TOOLS_ALLOCATOR_REPLAY_REPORT_H_
