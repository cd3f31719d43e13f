#include "vellum/autograd/copy_slices.h"

#include <algorithm>
#include <new>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/object_pool.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/view_geometry.h"

namespace vellum::autograd {

using internal::TensorImpl;

BaseWindow::BaseWindow(const TensorImpl& base, const TensorImpl& view)
    : base_shape_(base.shape_span()),
      base_stride_(base.stride_span()),
      view_shape_(view.shape_span()),
      view_stride_(view.stride_span()),
      base_dtype_(base.dtype),
      view_dtype_(view.dtype) {
  // The buffer starts at the lower of the two first elements, on a whole element of the wider dtype.
  const int64_t base_bytes = static_cast<int64_t>(dtype_size(base.dtype));
  const int64_t view_bytes = static_cast<int64_t>(dtype_size(view.dtype));
  const int64_t wide = std::max(base_bytes, view_bytes);
  const int64_t start = std::min(base.offset * base_bytes, view.offset * view_bytes) / wide * wide;
  const int64_t end = std::max((base.offset + reach(base_shape_, base_stride_)) * base_bytes,
                               (view.offset + reach(view_shape_, view_stride_)) * view_bytes);
  base_offset_ = base.offset - start / base_bytes;
  view_offset_ = view.offset - start / view_bytes;
  extent_ = (end - start + wide - 1) / wide * (wide / base_bytes);
}

Tensor BaseWindow::to_buffer(const Tensor& g) const {
  Tensor buffer = base_offset_ == 0 && extent_ == g.numel() && base_stride_ == contiguous_strides(base_shape_)
                      ? g.contiguous().view({extent_})
                      : as_strided_backward(g, {{extent_}, base_shape_, base_stride_, base_offset_});
  if (base_dtype_ == view_dtype_) return buffer;
  return is_complex(base_dtype_) ? buffer.view_as_real().view({2 * extent_})
                                 : buffer.view({extent_ / 2, 2}).view_as_complex();
}

Tensor BaseWindow::from_buffer(const Tensor& buffer) const {
  Tensor in_base_dtype = buffer;
  if (base_dtype_ != view_dtype_)
    in_base_dtype =
        is_complex(base_dtype_) ? buffer.view({extent_, 2}).view_as_complex() : buffer.view_as_real().view({extent_});
  return in_base_dtype.as_strided(base_shape_, base_stride_, in_base_dtype.storage_offset() + base_offset_);
}

Tensor BaseWindow::slice(const Tensor& buffer) const {
  return buffer.as_strided(view_shape_, view_stride_, buffer.storage_offset() + view_offset_);
}

Tensor BaseWindow::scatter(const Tensor& g) const {
  const int64_t size = base_dtype_ == view_dtype_ ? extent_ : is_complex(base_dtype_) ? 2 * extent_ : extent_ / 2;
  return as_strided_backward(g, {{size}, view_shape_, view_stride_, view_offset_});
}

CopySlices* CopySlices::create(Edge base, const BaseWindow& window, OpNode* function) {
  auto* node = new (internal::pool_allocate(sizeof(CopySlices))) CopySlices(window, function);
  node->storage_.push_back(std::move(base));
  for (const Edge& edge : function->edges().subspan(1)) node->storage_.push_back(edge.clone());
  node->edges_ = node->storage_.data();
  node->num_edges_ = static_cast<uint32_t>(node->storage_.size());
  internal::track(*node);
  return node;
}

void CopySlices::destroy() noexcept {
  function_->release();
  this->~CopySlices();
  internal::pool_deallocate(this, sizeof(CopySlices));
}

void CopySlices::visit_owned(OwnerVisitor& visitor) const {
  Node::visit_owned(visitor);
  visitor.function(*function_);
}

void CopySlices::apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) {
  Tensor buffer = window_.to_buffer(cotangents[0]);
  Tensor part = window_.slice(buffer).clone();
  std::vector<Tensor> inner(gradients.size());
  if (is_grad_enabled()) {  // the function's output is the window of what this node put into the base
    Node* history = ViewOfBase::create(Edge(this, 0), window_);
    const GradFn keep(history);
    history->release();
    function_->apply_with_history({&part, 1}, inner, history);
  } else {
    function_->apply({&part, 1}, inner);
  }
  for (size_t i = 1; i < gradients.size(); ++i) gradients[i] = std::move(inner[i]);
  if (!edges_[0]) return;
  Tensor& through = inner[0];
  if (is_grad_enabled()) {  // functional, so that it can be differentiated
    const Tensor mask = window_.scatter(ones_like(part)) != Scalar(0);
    const Tensor filled = through.defined() ? window_.scatter(through) : zeros_like(buffer);
    gradients[0] = window_.from_buffer(where(mask, filled, buffer));
    return;
  }
  if (buffer.shares_storage_with(cotangents[0])) buffer = buffer.clone();
  Tensor window = window_.slice(buffer);
  if (through.defined())
    window.copy_(through);
  else
    window.zero_();
  gradients[0] = window_.from_buffer(buffer);
}

ViewOfBase::ViewOfBase(Edge base, const BaseWindow& window)
    : Node(Kind::kFunction), window_(window), base_(std::move(base)) {
  edges_ = &base_;
  num_edges_ = 1;
}

ViewOfBase* ViewOfBase::create(Edge base, const BaseWindow& window) {
  auto* node = new (internal::pool_allocate(sizeof(ViewOfBase))) ViewOfBase(std::move(base), window);
  internal::track(*node);
  return node;
}

void ViewOfBase::destroy() noexcept {
  this->~ViewOfBase();
  internal::pool_deallocate(this, sizeof(ViewOfBase));
}

void ViewOfBase::apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) {
  gradients[0] = window_.from_buffer(window_.scatter(cotangents[0]));
}

}  // namespace vellum::autograd
