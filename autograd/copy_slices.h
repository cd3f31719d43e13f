#ifndef VELLUM_AUTOGRAD_COPY_SLICES_H_
#define VELLUM_AUTOGRAD_COPY_SLICES_H_

#include "vellum/autograd/op_node.h"

namespace vellum::autograd {

// How a view lies in the memory of its base, and how gradients move between the two. The gradient of the base is laid
// out as the base is: a buffer of one dimension in which both geometries pick elements. Where the view has another
// dtype (real and imaginary parts), the buffer is seen in the view's dtype.
class BaseWindow {
 public:
  BaseWindow(const internal::TensorImpl& base, const internal::TensorImpl& view);

  Tensor to_buffer(const Tensor& base_gradient) const;  // elements of the view's dtype
  Tensor from_buffer(const Tensor& buffer) const;       // back to the base's shape and dtype
  Tensor slice(const Tensor& buffer) const;             // the window: a view of the buffer
  Tensor scatter(const Tensor& view_gradient) const;    // a buffer of zeros with the window filled

 private:
  Dims base_shape_, base_stride_, view_shape_, view_stride_;
  int64_t base_offset_, view_offset_;  // within the buffer, in elements of the base's and the view's dtype
  int64_t extent_;                     // of the buffer, in elements of the base's dtype
  DType base_dtype_, view_dtype_;
};

// The history of a base after one of its views was written in place by `function`: the window's part of the gradient
// passes through the function, the rest goes on unchanged. Edges: the base's old history, then the function's others.
// The function keeps its own edges too: the saved tensors of a recorded backward pass get their history from them.
class CopySlices final : public Node {
 public:
  // Takes over the reference to `function`, whose input 0 is the view.
  static CopySlices* create(Edge base, const BaseWindow& window, OpNode* function);

  std::string_view name() const override { return "CopySlices"; }
  std::string_view operator_name() const override { return "copy_slices"; }
  void apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) override;
  void release_saved() override { function_->release_saved(); }
  void visit_owned(OwnerVisitor& visitor) const override;

 private:
  CopySlices(const BaseWindow& window, OpNode* function)
      : Node(Kind::kFunction), window_(window), function_(function) {}
  void destroy() noexcept override;

  BaseWindow window_;
  OpNode* function_;
  std::vector<Edge> storage_;
};

// The history of a view whose base was written: the window's gradient, scattered into the base.
class ViewOfBase final : public Node {
 public:
  static ViewOfBase* create(Edge base, const BaseWindow& window);

  std::string_view name() const override { return "AsStridedBackward"; }
  std::string_view operator_name() const override { return "as_strided"; }
  void apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) override;

 private:
  ViewOfBase(Edge base, const BaseWindow& window);
  void destroy() noexcept override;

  BaseWindow window_;
  Edge base_;
};

}  // namespace vellum::autograd

#endif  // VELLUM_AUTOGRAD_COPY_SLICES_H_
