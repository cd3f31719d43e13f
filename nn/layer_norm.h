#ifndef VELLUM_NN_LAYER_NORM_H_
#define VELLUM_NN_LAYER_NORM_H_

#include <optional>

#include "vellum/nn/module.h"

namespace vellum::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // learn a weight and a bias for each element of normalized_shape
  DType dtype = kFloat32;
  std::optional<Device> device = {};  // none: current_device()
};

// Layer normalization (Ba, Kiros & Hinton 2016): (x - mean) / sqrt(variance + eps) * weight + bias over the last
// dimensions, [..., normalized_shape...] -> the same, with parameters "weight", at first 1, and "bias", at first 0,
// both of normalized_shape. See layer_norm() for what a backward pass keeps.
class LayerNorm : public Module {
 public:
  // Throws InvalidArgumentError unless normalized_shape has a dimension and its sizes are positive.
  explicit LayerNorm(const Dims& normalized_shape, const LayerNormOptions& options = {});

  Tensor forward(const Tensor& input) override;
  void reset_parameters();

  const Dims& normalized_shape() const { return normalized_shape_; }
  double eps() const { return eps_; }
  Tensor weight() const { return weight_; }  // undefined without elementwise_affine
  Tensor bias() const { return bias_; }

 private:
  Dims normalized_shape_;
  double eps_;
  Tensor weight_, bias_;
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_LAYER_NORM_H_
