#include "vellum/nn/batch_norm.h"

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::nn {
namespace {

// A dry run does not know it, and needs no memory that depends on it.
double count_of(const Tensor& batches) {
  const Tensor host = batches.cpu();
  return vellum::internal::has_values(host) ? host.item<double>() : 0;
}

}  // namespace

BatchNormBase::BatchNormBase(const char* name, uint32_t ranks, int64_t num_features, const BatchNormOptions& options)
    : class_name_(name), ranks_(ranks), num_features_(num_features), eps_(options.eps), momentum_(options.momentum) {
  if (num_features <= 0)
    throw_error<InvalidArgumentError>(name, ": num_features must be positive, it is ", num_features);
  const Device device = options.device.value_or(current_device());
  const TensorOptions storage(options.dtype, device);
  if (options.affine) {
    weight_ = register_parameter("weight", empty({num_features}, storage));
    bias_ = register_parameter("bias", empty({num_features}, storage));
  }
  if (options.track_running_stats) {
    running_mean_ = register_buffer("running_mean", empty({num_features}, storage));
    running_var_ = register_buffer("running_var", empty({num_features}, storage));
    num_batches_tracked_ = register_buffer("num_batches_tracked", empty({}, TensorOptions(kInt64, device)));
  }
  reset_parameters();
}

void BatchNormBase::reset_parameters() {
  reset_running_stats();
  if (!weight_.defined()) return;
  const NoGradGuard no_grad;
  weight_.fill_(1);
  bias_.zero_();
}

void BatchNormBase::reset_running_stats() {
  if (!running_mean_.defined()) return;
  running_mean_.zero_();
  running_var_.fill_(1);
  num_batches_tracked_.zero_();
}

Tensor BatchNormBase::forward(const Tensor& input) {
  if (input.dim() > 31 || !(ranks_ >> input.dim() & 1) || input.size(1) != num_features_)
    throw_error<ShapeError>(class_name_, ": the input has shape ", input.shape(), "; it must have ", num_features_,
                            " channels in dimension 1, and the rank that this class takes");
  const bool tracks = running_mean_.defined();
  if (!is_training() || !tracks)
    return batch_norm(input, running_mean_, running_var_, weight_, bias_, !tracks, 0, eps_);
  // The count moves last, so that an input that is refused changes nothing.
  const double momentum = momentum_ ? *momentum_ : 1 / (count_of(num_batches_tracked_) + 1);
  const Tensor output = batch_norm(input, running_mean_, running_var_, weight_, bias_, true, momentum, eps_);
  num_batches_tracked_.add_(1);
  return output;
}

}  // namespace vellum::nn
