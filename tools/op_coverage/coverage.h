#ifndef VELLUM_TOOLS_OP_COVERAGE_COVERAGE_H_
#define VELLUM_TOOLS_OP_COVERAGE_COVERAGE_H_

#include <string>

#include "vellum/tensor/op_def.h"

namespace vellum::tools {

// What each gradient of an operator keeps alive: "0: input 1; 1: input 0". A trailing "*" says that a call may keep
// less. "nothing" where no gradient reads anything, "-" where there is no gradient.
std::string describe_saves(const OpDef& op);

// Every operator that is linked in, on every registered backend, for every compute dtype, with its provenance.
std::string coverage_table();  // for people
// The part of docs/operators.md that comes from the definitions, up to and including kHandWritten: for each family a
// table of operators with their dtypes, gradient and what it keeps. Without the operators of backends or tests.
std::string operators_page();
inline constexpr const char* kHandWritten = "<!-- What follows is written by hand. -->\n";
std::string coverage_csv();  // operator,family,device,dtype,provenance,differentiable,saves

}  // namespace vellum::tools

#endif  // VELLUM_TOOLS_OP_COVERAGE_COVERAGE_H_
