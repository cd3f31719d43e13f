#ifndef VELLUM_TENSOR_RECORDER_H_
#define VELLUM_TENSOR_RECORDER_H_

#include <span>
#include <vector>

#include "vellum/tensor/op_def.h"

namespace vellum {

// The graph as tensor/ sees it: autograd/ implements and installs it in hooks().recorder. The dispatcher calls the
// recording functions only while grad mode is on and an input requires a gradient.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // What must be kept for the gradients that `inputs` need.
  virtual Saves saves_for(const OpDef& op, Inputs inputs, const void* attrs) = 0;
  // Makes the node of a call that has run, and the outputs' history.
  virtual void record(OpSlot& slot, Inputs inputs, const void* attrs, std::span<Tensor> outputs,
                      std::span<const Tensor> by_products) = 0;
  // Called while grad mode is on. Throws AutogradError when `self` may not be written in place; `recording` says
  // whether the write will be recorded.
  virtual void check_in_place(const OpDef& op, const Tensor& self, bool recording) = 0;
  // Like record; self's history (and its base's, for a view) is rewritten. `old_self` holds the values before the
  // write when a gradient reads them.
  virtual void record_in_place(OpSlot& slot, Inputs inputs, const void* attrs, Tensor& self, const Tensor& old_self,
                               std::span<const Tensor> by_products) = 0;

  virtual void requires_grad(const Tensor& t, bool value) = 0;
  virtual Tensor grad(const Tensor& t) = 0;
  virtual void set_grad(const Tensor& t, const Tensor& grad) = 0;
  virtual GradFn grad_fn(const Tensor& t) = 0;
  virtual void detach_in_place(const Tensor& t) = 0;
  virtual void retain_grad(const Tensor& t) = 0;
  virtual bool retains_grad(const Tensor& t) = 0;
  virtual void backward(const Tensor& root, const Tensor& gradient, BackwardOptions options) = 0;
  virtual std::vector<GradFn> next_functions(internal::GraphNode* node) = 0;
};

// The installed recorder. Throws NotImplementedError naming //autograd when there is none.
Recorder& recorder();

}  // namespace vellum

#endif  // VELLUM_TENSOR_RECORDER_H_
