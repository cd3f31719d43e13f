#ifndef VELLUM_NN_GRADIENTS_H_
#define VELLUM_NN_GRADIENTS_H_

#include <span>

#include "vellum/tensor/tensor.h"

namespace vellum::nn {

// Drops the gradients of `parameters`, or fills those that exist with zeros (and takes their history away).
void clear_gradients(std::span<const Tensor> parameters, bool set_to_none);

}  // namespace vellum::nn

#endif  // VELLUM_NN_GRADIENTS_H_
