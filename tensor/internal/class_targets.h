#ifndef VELLUM_TENSOR_INTERNAL_CLASS_TARGETS_H_
#define VELLUM_TENSOR_INTERNAL_CLASS_TARGETS_H_

#include <string_view>

#include "vellum/tensor/reference.h"
#include "vellum/tensor/tensor.h"

// What the losses over classes share. Scores are [C], [N, C] or [N, C, d1, ...].

namespace vellum::internal {

// The dimension of scores that runs over the classes. Throws ShapeError naming `op` for scores of rank 0.
int class_dim(std::string_view op, const Dims& scores);

// The scores' shape without that dimension.
Dims target_shape(std::string_view op, const Dims& scores);

// Throws ShapeError or DTypeError unless the target is int64 and fits the scores, and `weight`, where defined, is real
// and has one element for each class.
void check_class_targets(std::string_view op, const Dims& scores, const Tensor& target, const Tensor& weight);
void check_class_weight(std::string_view op, const Dims& scores, const Tensor& weight);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_CLASS_TARGETS_H_
