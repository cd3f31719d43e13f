#ifndef VELLUM_AUTOGRAD_OP_NODE_H_
#define VELLUM_AUTOGRAD_OP_NODE_H_

#include "vellum/autograd/node.h"
#include "vellum/tensor/op_def.h"

namespace vellum::autograd {

// What the gradients of the inputs in `needs` (bit mask; all of a variadic operator) read.
Saves saves_union(const OpDef& op, size_t inputs, const void* attrs, uint32_t needs);

// A tensor kept for the backward pass: an alias without history (so no cycle can form) and the version it had.
struct SavedTensor {
  Tensor alias;
  uint32_t version;
};

// Shape, dtype and device of an operand; always kept.
struct OperandMeta {
  const int64_t* sizes;
  DType dtype;
  uint8_t rank;
  Device device;
};

// The node of any operator: made from its definition, its operands and its attributes. One pooled allocation holds the
// node and its arrays.
class OpNode final : public Node {
 public:
  // The node has one reference.
  static OpNode* create(OpSlot& slot, Inputs inputs, const void* attrs, std::span<const Tensor> outputs,
                        std::span<const Tensor> by_products);
  // For a write in place: input 0 is the output, and `old_self` holds its values before the write when they are saved.
  static OpNode* create_in_place(OpSlot& slot, Inputs inputs, const void* attrs, const Tensor& old_self,
                                 std::span<const Tensor> by_products);

  std::string_view name() const override { return slot_->gradient_name(); }
  std::string_view operator_name() const override { return def().name; }
  void apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) override {
    apply_with_history(cotangents, gradients, this);
  }
  // The same for a node that stands in the graph by way of another: `history` is what its outputs have.
  void apply_with_history(std::span<Tensor> cotangents, std::span<Tensor> gradients, Node* history);
  void release_saved() override;
  void visit_owned(OwnerVisitor& visitor) const override;

  const OpDef& def() const { return slot_->def(); }
  bool needs(int i) const { return static_cast<bool>(edges_[i]); }

 private:
  friend class NodeVjp;
  struct Layout;

  OpNode(OpSlot& slot, Device device) : Node(Kind::kFunction), slot_(&slot), device_(device) {}
  ~OpNode() override = default;
  void destroy() noexcept override;
  void save(uint32_t bit, const Tensor& t, uint32_t version);
  void save_all(Saves saves, Inputs inputs, std::span<const Tensor> outputs, std::span<const Tensor> by_products,
                const Tensor* old_self);
  static OpNode* make(OpSlot& slot, Inputs inputs, const void* attrs, std::span<const Tensor> outputs,
                      std::span<const Tensor> by_products, const Tensor* old_self);
  Tensor unpack(uint32_t bit, Node* history) const;
  std::string saved_name(uint32_t bit) const;
  int saved_index(uint32_t bit) const { return __builtin_popcount(saved_bits_ & ((1u << bit) - 1)); }
  Tensor fit(Tensor gradient, int input) const;

  OpSlot* slot_;
  OperandMeta* metas_ = nullptr;  // inputs, then outputs
  SavedTensor* saved_ = nullptr;  // in the order of the bits of saved_bits_
  void* attrs_ = nullptr;
  uint32_t saved_bits_ = 0;
  uint32_t bytes_ = 0;
  Device device_;
  bool released_ = false;
};

}  // namespace vellum::autograd

#endif  // VELLUM_AUTOGRAD_OP_NODE_H_
