#include "vellum/nn/functional.h"

#include "vellum/device/error.h"

namespace vellum::nn::functional {

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options) {
  if (input.dim() != 2) throw_error<ShapeError>("cross_entropy: the input must be [N, C], it is ", input.shape());
  if (target.dim() != 1 || target.size(0) != input.size(0))
    throw_error<ShapeError>("cross_entropy: target ", target.shape(), " does not fit input ", input.shape(),
                            "; it must be [", input.size(0), "]");
  if (target.dtype() != kInt64)
    throw_error<DTypeError>("cross_entropy: the target must be int64 class indices, it is ", target.dtype(),
                            "; convert it with to(kInt64)");
  return nll_loss(log_softmax(input, 1), target, {options.reduction, options.ignore_index});
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MseLossOptions& options) {
  if (input.shape() != target.shape())
    throw_error<ShapeError>("mse_loss: input ", input.shape(), " and target ", target.shape(),
                            " differ; bring them to one shape with reshape or expand");
  if (input.is_complex() || target.is_complex())
    throw_error<DTypeError>("mse_loss: takes real tensors, these are ", input.dtype(), " and ", target.dtype(),
                            "; use view_as_real()");
  const Tensor difference = input - target;
  const Tensor squares = difference * difference;
  switch (options.reduction) {
    case Reduction::kNone:
      return squares;
    case Reduction::kMean:
      return mean(squares);
    case Reduction::kSum:
      return sum(squares);
  }
  throw_error<InvalidArgumentError>("mse_loss: ", static_cast<int>(options.reduction), " is no reduction");
}

}  // namespace vellum::nn::functional
