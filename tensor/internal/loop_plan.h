#ifndef VELLUM_TENSOR_INTERNAL_LOOP_PLAN_H_
#define VELLUM_TENSOR_INTERNAL_LOOP_PLAN_H_

#include <span>

#include "vellum/tensor/kernel.h"
#include "vellum/tensor/tensor_impl.h"

namespace vellum::internal {

// Plans an elementwise loop over `out`'s shape; each input broadcasts to it.
void plan_elementwise(LoopPlan& plan, const TensorImpl& out, std::span<const TensorImpl* const> inputs);

// Plans the reduction of `in` over the dimensions in `reduced` (bit mask) into `out`, which has the reduced shape with
// or without the sizes of 1.
void plan_reduction(LoopPlan& plan, const TensorImpl& out, const TensorImpl& in, uint32_t reduced);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_LOOP_PLAN_H_
