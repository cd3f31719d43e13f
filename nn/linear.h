#ifndef VELLUM_NN_LINEAR_H_
#define VELLUM_NN_LINEAR_H_

#include <optional>

#include "vellum/nn/module.h"

namespace vellum::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = kFloat32;
  std::optional<Device> device = {};  // none: current_device()
};

// y = x W^T + b: [..., in_features] -> [..., out_features], with parameters "weight" [out_features, in_features] and
// "bias" [out_features]. For a backward pass it keeps the input alive.
class Linear : public Module {
 public:
  // Throws InvalidArgumentError unless both sizes are positive.
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {});

  Tensor forward(const Tensor& input) override;
  // Draws both parameters anew from U(-1/sqrt(in_features), 1/sqrt(in_features)), as PyTorch does.
  void reset_parameters();

  int64_t in_features() const { return weight_.size(1); }
  int64_t out_features() const { return weight_.size(0); }
  Tensor weight() const { return weight_; }
  Tensor bias() const { return bias_; }  // undefined without bias

 private:
  Tensor weight_, bias_;
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_LINEAR_H_
