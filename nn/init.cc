#include "vellum/nn/init.h"

#include <cmath>
#include <numbers>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"

namespace vellum::nn::init {
namespace {

Tensor centred_uniform(Tensor tensor, double std) {
  const double bound = std::numbers::sqrt3 * std;
  return tensor.numel() == 0 ? tensor : uniform_(tensor, -bound, bound);
}

Tensor centred_normal(Tensor tensor, double std) { return tensor.numel() == 0 ? tensor : normal_(tensor, 0, std); }

double xavier_std(const Tensor& tensor, double gain) {
  const Fans fans = fans_of(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

double kaiming_std(const Tensor& tensor, const KaimingOptions& options) {
  const Fans fans = fans_of(tensor);
  const int64_t fan = options.mode == FanMode::kFanIn ? fans.in : fans.out;
  return calculate_gain(options.nonlinearity, options.a) / std::sqrt(static_cast<double>(fan));
}

}  // namespace

Tensor constant_(Tensor tensor, const Scalar& value) {
  const NoGradGuard no_grad;
  tensor.fill_(value);
  return tensor;
}

Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }

Tensor uniform_(Tensor tensor, double from, double to) {
  const NoGradGuard no_grad;
  if (tensor.is_complex())
    tensor.view_as_real().uniform_(from / std::numbers::sqrt2, to / std::numbers::sqrt2);
  else
    tensor.uniform_(from, to);
  return tensor;
}

Tensor normal_(Tensor tensor, double mean, double std) {
  const NoGradGuard no_grad;
  tensor.normal_(mean, std);
  return tensor;
}

Fans fans_of(const Tensor& weight) {
  if (weight.dim() < 2)
    throw_error<ShapeError>("init: fan in and fan out need a weight [out, in, ...], this tensor is ", weight.shape());
  int64_t window = 1;
  for (int d = 2; d < weight.dim(); ++d) window *= weight.size(d);
  return {weight.size(1) * window, weight.size(0) * window};
}

double calculate_gain(Nonlinearity nonlinearity, double negative_slope) {
  switch (nonlinearity) {
    case Nonlinearity::kTanh:
      return 5.0 / 3;
    case Nonlinearity::kRelu:
      return std::numbers::sqrt2;
    case Nonlinearity::kLeakyRelu:
      return std::sqrt(2 / (1 + negative_slope * negative_slope));
    case Nonlinearity::kSelu:
      return 3.0 / 4;
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      return 1;
  }
  throw_error<InvalidArgumentError>("calculate_gain: ", static_cast<int>(nonlinearity), " is no nonlinearity");
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return centred_uniform(std::move(tensor), std);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return centred_normal(std::move(tensor), std);
}

Tensor kaiming_uniform_(Tensor tensor, const KaimingOptions& options) {
  const double std = kaiming_std(tensor, options);
  return centred_uniform(std::move(tensor), std);
}

Tensor kaiming_normal_(Tensor tensor, const KaimingOptions& options) {
  const double std = kaiming_std(tensor, options);
  return centred_normal(std::move(tensor), std);
}

}  // namespace vellum::nn::init
