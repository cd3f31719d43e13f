#ifndef VELLUM_NN_DROPOUT_H_
#define VELLUM_NN_DROPOUT_H_

#include "vellum/nn/module.h"

namespace vellum::nn {

// In training, zeroes each element with probability p and scales the rest by 1 / (1 - p); otherwise returns its input.
// For a backward pass it keeps 16 bytes. Hinton et al.: "Improving neural networks by preventing co-adaptation of
// feature detectors", 2012.
class Dropout : public Module {
 public:
  // Throws InvalidArgumentError unless p lies in [0, 1].
  explicit Dropout(double p = 0.5);

  Tensor forward(const Tensor& input) override;
  double p() const { return p_; }

 private:
  double p_;
};

}  // namespace vellum::nn

#endif  // VELLUM_NN_DROPOUT_H_
