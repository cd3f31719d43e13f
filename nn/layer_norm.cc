#include "vellum/nn/layer_norm.h"

#include <algorithm>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::nn {

LayerNorm::LayerNorm(const Dims& normalized_shape, const LayerNormOptions& options)
    : normalized_shape_(normalized_shape), eps_(options.eps) {
  if (normalized_shape.empty() || !std::ranges::all_of(normalized_shape, [](int64_t size) { return size > 0; }))
    throw_error<InvalidArgumentError>("LayerNorm: normalized_shape must have dimensions of positive size, it is ",
                                      normalized_shape);
  if (!options.elementwise_affine) return;
  const TensorOptions storage(options.dtype, options.device.value_or(current_device()));
  weight_ = register_parameter("weight", empty(normalized_shape, storage));
  bias_ = register_parameter("bias", empty(normalized_shape, storage));
  reset_parameters();
}

void LayerNorm::reset_parameters() {
  if (!weight_.defined()) return;
  const NoGradGuard no_grad;
  weight_.fill_(1);
  bias_.zero_();
}

Tensor LayerNorm::forward(const Tensor& input) { return layer_norm(input, normalized_shape_, weight_, bias_, eps_); }

}  // namespace vellum::nn
