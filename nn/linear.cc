#include "vellum/nn/linear.h"

#include <cmath>

#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/nn/init.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::nn {

Linear::Linear(int64_t in_features, int64_t out_features, const LinearOptions& options) {
  if (in_features <= 0 || out_features <= 0)
    throw_error<InvalidArgumentError>("Linear: in_features and out_features must be positive, they are ", in_features,
                                      " and ", out_features);
  const TensorOptions storage(options.dtype, options.device.value_or(current_device()));
  weight_ = register_parameter("weight", empty({out_features, in_features}, storage));
  if (options.bias) bias_ = register_parameter("bias", empty({out_features}, storage));
  reset_parameters();
}

void Linear::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(in_features()));
  init::uniform_(weight_, -bound, bound);
  if (bias_.defined()) init::uniform_(bias_, -bound, bound);
}

Tensor Linear::forward(const Tensor& input) { return linear(input, weight_, bias_); }

}  // namespace vellum::nn
