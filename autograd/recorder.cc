#include "vellum/tensor/recorder.h"

#include <mutex>

#include "vellum/autograd/autograd.h"
#include "vellum/autograd/copy_slices.h"
#include "vellum/autograd/engine.h"
#include "vellum/autograd/op_node.h"
#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::autograd {

using internal::TensorImpl;

namespace {

std::mutex& renewing() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// Gives a view whose memory was written through another handle its history from the base. No gradient flows through
// views that were made in no_grad mode. Several threads that read one view may come here at once.
void renew_view(TensorImpl& t) {
  if (!t.is_stale() || !t.base->needs_grad() || !is_differentiable(t.dtype)) return;
  const std::lock_guard lock(renewing());
  if (!t.is_stale()) return;
  Node* node = ViewOfBase::create(gradient_edge(*t.base), BaseWindow(*t.base, t));
  set_history(t, node, 0);
  node->release();
}

}  // namespace

Edge gradient_edge(TensorImpl& t) {
  if (t.base) renew_view(t);
  if (t.grad_fn) return Edge(static_cast<Node*>(t.grad_fn), t.output_nr);
  if (!(t.flags & TensorImpl::kRequiresGrad)) return {};
  return Edge(state_or_null(t)->accumulate, 0);
}

namespace {

bool carries_gradient(const OpDef& def, const Tensor& output, size_t i) {
  return is_differentiable(output.dtype()) && !(i < 8 && def.non_differentiable_outputs >> i & 1);
}

Edge required_edge(const Tensor& t, size_t i) {
  const Tensor* const tensors[] = {&t};
  internal::check_dry_history("backward", tensors);
  Edge edge = gradient_edge(t.impl());
  if (!edge)
    throw_error<AutogradError>("element ", i,
                               " of tensors does not require grad and does not have a grad_fn: ", t.dtype(), " ",
                               t.shape(), "; call requires_grad_() on what it is computed from, with grad mode on");
  return edge;
}

// The cotangent of an output: what was given, checked, or 1 for a real scalar.
Tensor root_gradient(const Tensor& output, const Tensor& given, size_t i) {
  if (!given.defined()) {
    if (output.numel() != 1)
      throw_error<AutogradError>("grad can be implicitly created only for scalar outputs; output ", i, " has shape ",
                                 output.shape(), ": pass its gradient, or reduce it with sum() or mean()");
    if (output.is_complex())
      throw_error<AutogradError>("grad can be implicitly created only for real scalar outputs but got ", output.dtype(),
                                 ": pass the gradient, or take real() or the squared magnitude");
    return ones_like(output);
  }
  if (given.shape() != output.shape())
    throw_error<AutogradError>("Mismatch in shape: grad_output[", i, "] has a shape of ", given.shape(), " and output[",
                               i, "] has a shape of ", output.shape());
  if (given.device() != output.device())
    throw_error<AutogradError>("grad_output[", i, "] is on ", given.device(), ", output[", i, "] on ", output.device());
  if (given.is_complex() && !output.is_complex())
    throw_error<AutogradError>("grad_output[", i, "] is ", given.dtype(), ", but output[", i, "] is ", output.dtype(),
                               "; a real output has a real gradient");
  return given.to(output.dtype());
}

std::vector<Root> make_roots(std::span<const Tensor> outputs, std::span<const Tensor> gradients) {
  if (!gradients.empty() && gradients.size() != outputs.size())
    throw_error<InvalidArgumentError>("backward: ", outputs.size(), " outputs but ", gradients.size(), " gradients");
  std::vector<Root> roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Edge edge = required_edge(outputs[i], i);
    roots.push_back({std::move(edge), root_gradient(outputs[i], gradients.empty() ? Tensor() : gradients[i], i)});
  }
  return roots;
}

class GraphRecorder final : public Recorder {
 public:
  Saves saves_for(const OpDef& op, Inputs inputs, const void* attrs) override {
    uint32_t needs = 0;
    for (size_t i = 0; i < inputs.size() && i < 32; ++i)
      if (const TensorImpl* t = inputs[i]->impl_or_null(); t && t->needs_grad()) needs |= 1u << i;
    return saves_union(op, inputs.size(), attrs, needs);
  }

  void record(OpSlot& slot, Inputs inputs, const void* attrs, std::span<Tensor> outputs,
              std::span<const Tensor> by_products) override {
    bool any = false;
    for (size_t i = 0; i < outputs.size(); ++i) any |= carries_gradient(slot.def(), outputs[i], i);
    if (!any) return;
    OpNode* node = OpNode::create(slot, inputs, attrs, outputs, by_products);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!carries_gradient(slot.def(), outputs[i], i)) continue;
      TensorImpl& t = outputs[i].impl();
      node->retain();
      t.grad_fn = node;
      t.output_nr = static_cast<uint32_t>(i);
    }
    node->release();
  }

  void check_in_place(const OpDef& op, const Tensor& self, bool recording) override {
    const TensorImpl& t = self.impl();
    if (!t.needs_grad() && !recording && !(t.base && t.base->needs_grad())) return;
    if (!t.grad_fn && (t.flags & TensorImpl::kRequiresGrad))
      throw_error<AutogradError>(
          op.name, ": a leaf Variable that requires grad is being used in an in-place operation: ", t.dtype, " ",
          self.shape(), "; write under a NoGradGuard, or to a clone()");
    if (!t.base) return;
    if (!t.base->grad_fn && (t.base->flags & TensorImpl::kRequiresGrad))
      throw_error<AutogradError>(op.name,
                                 ": a view of a leaf Variable that requires grad is being used in an in-place "
                                 "operation; write under a NoGradGuard, or to a clone()");
    if (t.creation == CreationMode::kNoGrad)
      throw_error<AutogradError>(op.name,
                                 ": a view was created in no_grad mode and is being modified inplace with grad "
                                 "mode enabled; make the view with grad mode on, or write under a NoGradGuard");
    if (t.creation == CreationMode::kMultiOutput)
      throw_error<AutogradError>(op.name, ": output ", t.output_nr,
                                 " of a function that returns multiple views is being "
                                 "modified inplace, which cannot be recorded; take the view with slice() instead");
  }

  void record_in_place(OpSlot& slot, Inputs inputs, const void* attrs, Tensor& self, const Tensor& old_self,
                       std::span<const Tensor> by_products) override {
    TensorImpl& t = self.impl();
    OpNode* node = OpNode::create_in_place(slot, inputs, attrs, old_self, by_products);
    // Views among the operands have just got the history that their base had before this write.
    for (const Tensor* input : inputs)
      if (TensorImpl* in = input->impl_or_null(); in && in->base && in->storage == t.storage)
        in->view_version.store(t.storage->version() - 1, std::memory_order_relaxed);
    if (!t.base) {
      set_history(t, node, 0);
      node->release();
      return;
    }
    const BaseWindow window(*t.base, t);
    Node* slices = CopySlices::create(gradient_edge(*t.base), window, node);
    set_history(*t.base, slices, 0);
    slices->release();
    renew_view(t);
  }

  void requires_grad(const Tensor& tensor, bool value) override {
    TensorImpl& t = tensor.impl();
    if (value && !is_differentiable(t.dtype))
      throw_error<AutogradError>(
          "requires_grad_: only Tensors of floating point and complex dtype can require gradients; "
          "this one is ",
          t.dtype);
    if (t.grad_fn) {
      if (!value)
        throw_error<AutogradError>(
            "requires_grad_: you can only change requires_grad flags of leaf variables; use "
            "detach() for a tensor without history");
      return;
    }
    // Made here and not at first use, since threads may then record one leaf at the same time.
    if (value && !state_of(t).accumulate) state_of(t).accumulate = AccumulateGrad::create(&t);
    t.flags = static_cast<uint8_t>(value ? t.flags | TensorImpl::kRequiresGrad : t.flags & ~TensorImpl::kRequiresGrad);
  }

  Tensor grad(const Tensor& tensor) override {
    const TensorState* state = state_or_null(tensor.impl());
    return state ? state->grad : Tensor();
  }

  void set_grad(const Tensor& tensor, const Tensor& grad) override {
    if (grad.defined() &&
        (grad.shape() != tensor.shape() || grad.dtype() != tensor.dtype() || grad.device() != tensor.device()))
      throw_error<ShapeError>("set_grad: a gradient of ", grad.dtype(), " ", grad.shape(), " on ", grad.device(),
                              " does not fit a tensor of ", tensor.dtype(), " ", tensor.shape(), " on ",
                              tensor.device());
    if (grad.defined() && grad.is_same(tensor))
      throw_error<InvalidArgumentError>("set_grad: a tensor cannot be its own gradient");
    if (grad.defined()) internal::note_role(grad, MemoryRole::kGradient);
    if (grad.defined() || state_or_null(tensor.impl())) state_of(tensor.impl()).grad = grad;
  }

  GradFn grad_fn(const Tensor& tensor) override {
    TensorImpl& t = tensor.impl();
    if (t.base) renew_view(t);
    return GradFn(t.grad_fn);
  }

  void detach_in_place(const Tensor& tensor) override {
    TensorImpl& t = tensor.impl();
    if (t.base) throw_error<AutogradError>("detach_: can't detach views in-place; use detach() instead");
    set_history(t, nullptr, 0);
    t.flags &= static_cast<uint8_t>(~TensorImpl::kRequiresGrad);
    if (TensorState* state = state_or_null(t)) state->retains_grad = false;
  }

  void retain_grad(const Tensor& tensor) override {
    TensorImpl& t = tensor.impl();
    if (!t.needs_grad())
      throw_error<AutogradError>("retain_grad: can't retain_grad on a Tensor that has requires_grad = false");
    if (t.base) renew_view(t);
    if (!t.grad_fn) return;  // a leaf keeps its gradient anyway
    TensorState& state = state_of(t);
    if (state.retains_grad) return;
    state.retains_grad = true;
    state.retaining_node = static_cast<Node*>(t.grad_fn);
    state.retaining_node->add_retained(&t);
  }

  bool retains_grad(const Tensor& tensor) override {
    const TensorState* state = state_or_null(tensor.impl());
    return state && state->retains_grad;
  }

  void backward(const Tensor& root, const Tensor& gradient, BackwardOptions options) override {
    vellum::backward({&root, 1}, {&gradient, 1}, options);
  }

  std::vector<GradFn> next_functions(internal::GraphNode* node) override {
    std::vector<GradFn> next;
    for (const Edge& e : static_cast<Node*>(node)->edges()) next.emplace_back(e.node());
    return next;
  }
};

// Leaked, as the registries are: tensors of static storage duration may outlive any destructor here.
const bool installed = [] {
  hooks().recorder = new GraphRecorder;
  return true;
}();

}  // namespace
}  // namespace vellum::autograd

namespace vellum {

void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients, BackwardOptions options) {
  std::vector<autograd::Root> roots = autograd::make_roots(tensors, gradients);
  autograd::run(std::move(roots), {.keep_graph = options.retain_graph.value_or(options.create_graph),
                                   .create_graph = options.create_graph});
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs, GradOptions options) {
  if (inputs.empty())
    throw_error<InvalidArgumentError>(
        "grad: the list of inputs is empty; name the tensors whose gradient is wanted, or "
        "use backward() to fill .grad of the leaves");
  std::vector<autograd::Edge> captures;
  for (size_t i = 0; i < inputs.size(); ++i) captures.push_back(autograd::required_edge(inputs[i], i));
  std::vector<autograd::Root> roots = autograd::make_roots(outputs, grad_outputs);
  std::vector<Tensor> gradients =
      autograd::run(std::move(roots), {.keep_graph = options.retain_graph.value_or(options.create_graph),
                                       .create_graph = options.create_graph,
                                       .captures = captures});
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined() && !options.allow_unused)
      throw_error<AutogradError>("grad: input ", i, " (", inputs[i].dtype(), " ", inputs[i].shape(),
                                 ") appears to not have been used in the graph; set allow_unused if that is meant");
  return gradients;
}

std::vector<Tensor> grad(std::initializer_list<Tensor> outputs, std::initializer_list<Tensor> inputs,
                         std::initializer_list<Tensor> grad_outputs, GradOptions options) {
  const auto span = [](std::initializer_list<Tensor> list) {
    return std::span<const Tensor>(list.begin(), list.size());
  };
  return grad(span(outputs), span(inputs), span(grad_outputs), options);
}

}  // namespace vellum
