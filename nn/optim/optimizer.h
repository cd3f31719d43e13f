#ifndef VELLUM_NN_OPTIM_OPTIMIZER_H_
#define VELLUM_NN_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vellum/tensor/tensor.h"

namespace vellum::optim {

// Changes parameters in place by their gradients. Keeps the parameters alive. A parameter's state is made at the first
// step that finds a gradient, on the parameter's device and in its dtype: move the module before that.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient, without recording. Takes all memory that it needs before it writes:
  // when that throws, nothing has changed and the step can be tried again. (Operators that fall back to the host may
  // take more.)
  void step();
  // Drops the gradients of all parameters, or fills those that exist with zeros.
  void zero_grad(bool set_to_none = true);

  double learning_rate() const { return learning_rate_; }
  // For schedules. Throws InvalidArgumentError unless the rate is finite and not negative.
  void set_learning_rate(double learning_rate);

  const std::vector<Tensor>& parameters() const { return parameters_; }
  // What the optimizer keeps beside the parameters, in bytes.
  virtual int64_t state_bytes() const = 0;

 protected:
  // Throws InvalidArgumentError when there are no parameters, when one is undefined, is no leaf or is listed twice, and
  // as set_learning_rate.
  Optimizer(const char* name, std::vector<Tensor> parameters, double learning_rate);

  // A parameter that has a gradient, and its place in parameters().
  struct Pending {
    size_t index;
    Tensor parameter, grad;
  };
  // One step, with grad mode off. Must not take memory once it has begun to write.
  virtual void apply(std::span<Pending> pending) = 0;

  // Throws InvalidArgumentError unless value lies in [low, high).
  void check_option(const char* option, double value, double low, double high) const;

 private:
  const char* name_;
  std::vector<Tensor> parameters_;
  double learning_rate_ = 0;
};

// `state` as what the optimizer keeps for a parameter, in reports of memory too; labelled "<parameter>.<what>" if the
// parameter has a label.
Tensor kept_state(Tensor state, const Tensor& parameter, std::string_view what);
// A tensor of rank 0 for use as an operand of others like `tensor`: numbers as operands take memory at every use.
Tensor number_like(double value, const Tensor& tensor);
// Bytes of the tensors that are defined.
int64_t bytes_of(std::span<const Tensor> tensors);

}  // namespace vellum::optim

#endif  // VELLUM_NN_OPTIM_OPTIMIZER_H_
