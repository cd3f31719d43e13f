#ifndef VELLUM_TENSOR_OPS_SLOTS_H_
#define VELLUM_TENSOR_OPS_SLOTS_H_

#include "vellum/tensor/op_def.h"

namespace vellum::internal {

// The operators that the core itself calls.
extern OpSlot copy_slot;
extern OpSlot fill_slot;

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_OPS_SLOTS_H_
