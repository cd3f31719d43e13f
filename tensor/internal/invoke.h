#ifndef VELLUM_TENSOR_INTERNAL_INVOKE_H_
#define VELLUM_TENSOR_INTERNAL_INVOKE_H_

#include <span>

#include "vellum/tensor/op_def.h"

namespace vellum::internal {

// Computes a call into existing tensors: casts inputs, moves scalars to the device, plans the iteration, gives
// workspace and runs the kernel, on the host with copies where the device has none. Nothing is recorded. A by-product
// may be undefined: nobody reads it. Throws NotImplementedError when there is no kernel.
void invoke(OpSlot& slot, const OpCall& call, DTypes types, Device device, std::span<const Tensor> outputs,
            std::span<const Tensor> by_products);

// Writes the values of `from` (any dtype, broadcastable) into `to`, on one device, unrecorded, without version bump.
void copy_values(const Tensor& to, const Tensor& from);

// A row-major copy of dtype `dtype`, unrecorded.
Tensor cast_copy(const Tensor& from, DType dtype);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_INVOKE_H_
