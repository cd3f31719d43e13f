#include "vellum/autograd/node.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <thread>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/device/object_pool.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/invoke.h"
#include "vellum/tensor/internal/live_objects.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::autograd {
namespace {

using internal::TensorImpl;

// Nodes without references that wait for the outermost release on this thread.
struct DisposeQueue {
  Node* head = nullptr;
  bool draining = false;
};
constinit thread_local DisposeQueue tls_disposed;

// Nobody else can see the values, and they lie row by row.
bool is_exclusive(const Tensor& t) {
  const TensorImpl& impl = t.impl();
  return t.use_count() == 1 && impl.storage->use_count() == 1 && impl.is_contiguous() && !impl.base;
}

// set_data() may have given the leaf other memory since the graph was recorded.
Tensor fit_to_leaf(Tensor gradient, const TensorImpl& leaf) {
  if (gradient.shape() != Dims(leaf.shape_span()))
    throw_error<AutogradError>("AccumulateGrad: a gradient of shape ", gradient.shape(), " reached a leaf of shape ",
                               Dims(leaf.shape_span()), "; its set_data() came between forward and backward");
  if (gradient.is_complex() && !is_complex(leaf.dtype)) gradient = gradient.real();
  return gradient.to(leaf.device, leaf.dtype);
}

}  // namespace

Edge::Edge(Node* node, uint32_t input_nr) : node_(node), input_nr_(input_nr) {
  if (node->kind() == Node::Kind::kAccumulate)
    static_cast<AccumulateGrad*>(node)->leaf()->retain();
  else
    node->retain();
}

void Edge::reset() {
  if (!node_) return;
  if (node_->kind() == Node::Kind::kAccumulate)
    static_cast<AccumulateGrad*>(node_)->leaf()->release();
  else
    node_->release();
  node_ = nullptr;
}

Node::Node(Kind kind)
    : sequence_(kind == Kind::kAccumulate ? std::numeric_limits<uint64_t>::max() : thread_state().next_node++),
      origin_(observed_module()),
      kind_(kind) {}

void Node::dispose() noexcept {
  DisposeQueue& queue = tls_disposed;
  next_disposed_ = queue.head;
  queue.head = this;
  if (queue.draining) return;
  queue.draining = true;
  while (Node* node = queue.head) {
    queue.head = node->next_disposed_;
    if (node->live_slot) [[unlikely]]
      internal::LiveTable::remove(std::exchange(node->live_slot, nullptr), internal::LiveKind::kNode);
    node->destroy();
  }
  queue.draining = false;
}

void Node::add_retained(TensorImpl* t) {
  if (!retained_) retained_ = std::make_unique<std::vector<TensorImpl*>>();
  retained_->push_back(t);
}

void Node::remove_retained(TensorImpl* t) {
  if (retained_) std::erase(*retained_, t);
}

AccumulateGrad* AccumulateGrad::create(TensorImpl* leaf) {
  return new (internal::pool_allocate(sizeof(AccumulateGrad))) AccumulateGrad(leaf);
}

void AccumulateGrad::destroy() noexcept {
  this->~AccumulateGrad();
  internal::pool_deallocate(this, sizeof(AccumulateGrad));
}

void AccumulateGrad::Busy::lock() noexcept {
  while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
}

AccumulateGrad::Begun AccumulateGrad::accumulate(Tensor gradient) {
  if (!(leaf_->flags & TensorImpl::kRequiresGrad)) return {};  // switched off since it was recorded
  internal::check_dry_gradient(*leaf_);
  gradient = fit_to_leaf(std::move(gradient), *leaf_);
  const std::lock_guard locked(busy_);
  Tensor& grad = state_of(*leaf_).grad;
  if (grad.defined()) {
    if (is_grad_enabled())
      internal::note_role(grad = add(grad, gradient), MemoryRole::kGradient);
    else
      grad.add_(gradient);
    return {};
  }
  // Steals the buffer where nobody else holds it.
  grad = is_exclusive(gradient) ? std::move(gradient) : gradient.clone();
  internal::note_role(grad, MemoryRole::kGradient);
  return {&grad.impl(), grad.impl().storage->version()};
}

void AccumulateGrad::revert(const Begun& begun) noexcept {
  if (!begun.gradient || !leaf_ || !leaf_->autograd) return;
  Tensor taken;  // dropped when the leaf is no longer locked
  const std::lock_guard locked(busy_);
  Tensor& grad = static_cast<TensorState&>(*leaf_->autograd).grad;
  if (grad.defined() && &grad.impl() == begun.gradient && grad.impl().storage->version() == begun.version)
    taken = std::move(grad);
}

TensorState::~TensorState() {
  if (retaining_node) retaining_node->remove_retained(owner);
  if (!accumulate) return;
  accumulate->forget_leaf();
  accumulate->release();
}

TensorState& state_of(TensorImpl& t) {
  if (!t.autograd) t.autograd = std::make_unique<TensorState>(&t);
  return static_cast<TensorState&>(*t.autograd);
}

void set_history(TensorImpl& t, Node* node, uint32_t output_nr) {
  TensorState* state = state_or_null(t);
  if (state && state->retaining_node) {
    state->retaining_node->remove_retained(&t);
    state->retaining_node = nullptr;
  }
  if (node) node->retain();
  internal::GraphNode* old = std::exchange(t.grad_fn, node);
  t.output_nr = output_nr;
  if (state && node && state->retains_grad) {
    node->add_retained(&t);
    state->retaining_node = node;
  }
  t.view_version.store(t.storage->version(), std::memory_order_release);
  if (old) old->release();
}

void accumulate(Tensor& into, Tensor from) {
  if (!into.defined()) {
    into = std::move(from);
  } else if (!is_grad_enabled() && is_exclusive(into) && into.dtype() == from.dtype()) {
    into.add_(from);
  } else {
    into = add(into, from);
  }
}

}  // namespace vellum::autograd
