#ifndef VELLUM_NN_FUNCTIONAL_H_
#define VELLUM_NN_FUNCTIONAL_H_

#include "vellum/tensor/ops/ops.h"

namespace vellum::nn::functional {

// The same functions as in the outer namespace, so that both names can be used side by side.
using vellum::dropout;
using vellum::linear;
using vellum::log_softmax;
using vellum::nll_loss;
using vellum::relu;

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;  // targets that do not count, in the mean neither
};

// nll_loss(log_softmax(input, 1), target): how badly the scores `input` [N, C], floating, predict the classes `target`
// [N], int64. A scalar, or [N] without reduction; the mean over no targets at all is NaN. Keeps the log-probabilities
// and the target for a backward pass. Throws ShapeError, DTypeError, and InvalidArgumentError when a target is neither
// in [0, C) nor ignore_index.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options = {});

struct MseLossOptions {
  Reduction reduction = Reduction::kMean;
};

// (input - target)^2, reduced. Both are real and have one shape: unlike PyTorch, which warns, this throws ShapeError
// rather than compare every pair of [N, 1] with [N].
Tensor mse_loss(const Tensor& input, const Tensor& target, const MseLossOptions& options = {});

}  // namespace vellum::nn::functional

#endif  // VELLUM_NN_FUNCTIONAL_H_
