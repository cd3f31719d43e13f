#ifndef VELLUM_NN_OPTIM_ADAMW_H_
#define VELLUM_NN_OPTIM_ADAMW_H_

#include <vector>

#include "vellum/nn/optim/optimizer.h"

namespace vellum::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

// Loshchilov, Hutter: "Decoupled weight decay regularization", ICLR 2019, as in PyTorch. At step t of a parameter
//
//   p = p - lr weight_decay p
//   m = beta1 m + (1 - beta1) grad,   v = beta2 v + (1 - beta2) grad^2
//   p = p - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
//
// Keeps m and v, two tensors for each parameter. A step makes one more, of the size of the largest. A complex parameter
// is treated as its real and imaginary parts.
class AdamW : public Optimizer {
 public:
  // Throws InvalidArgumentError for options that are negative or not finite, and for betas of 1 or more.
  explicit AdamW(std::vector<Tensor> parameters, const AdamWOptions& options = {});

  int64_t state_bytes() const override;

 private:
  struct State {
    Tensor mean, square;  // m and v
    int64_t steps = 0;
  };

  // All that one parameter's step works on.
  struct Operands {
    Tensor parameter, grad;    // real
    Tensor scratch;            // of their shape
    Tensor beta1, beta2, one;  // numbers
  };

  void apply(std::span<Pending> pending) override;
  void update(State& state, Operands& x) const;

  AdamWOptions options_;
  std::vector<State> states_;
};

}  // namespace vellum::optim

#endif  // VELLUM_NN_OPTIM_ADAMW_H_
