#include "vellum/autograd/op_node.h"

#include <new>

#include "absl/container/inlined_vector.h"
#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/device/object_pool.h"
#include "vellum/tensor/internal/live_objects.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::autograd {
namespace {

using internal::TensorImpl;

constexpr uint32_t kOutputBit = 8, kByProductBit = 16;

size_t rounded(size_t bytes) { return (bytes + 15) & ~size_t{15}; }

}  // namespace

Saves saves_union(const OpDef& op, size_t inputs, const void* attrs, uint32_t needs) {
  Saves all;
  for (size_t i = 0; i < inputs && i < kMaxInputs; ++i) {
    if (!(needs >> i & 1)) continue;
    const Saves declared = op.saves[i];
    all = all | (op.refine_saves ? op.refine_saves(attrs, static_cast<int>(i), needs, declared) : declared);
  }
  return all;
}

// Where the arrays lie behind the node, in bytes from its start.
struct OpNode::Layout {
  size_t edges, metas, sizes, saved, attrs, total;

  Layout(size_t inputs, size_t operands, size_t dims, size_t saved_count, size_t attrs_bytes) {
    edges = rounded(sizeof(OpNode));
    metas = rounded(edges + inputs * sizeof(Edge));
    sizes = rounded(metas + operands * sizeof(OperandMeta));
    saved = rounded(sizes + dims * sizeof(int64_t));
    attrs = rounded(saved + saved_count * sizeof(SavedTensor));
    total = rounded(attrs + attrs_bytes);
  }
};

OpNode* OpNode::create(OpSlot& slot, Inputs inputs, const void* attrs, std::span<const Tensor> outputs,
                       std::span<const Tensor> by_products) {
  return make(slot, inputs, attrs, outputs, by_products, nullptr);
}

OpNode* OpNode::create_in_place(OpSlot& slot, Inputs inputs, const void* attrs, const Tensor& old_self,
                                std::span<const Tensor> by_products) {
  return make(slot, inputs, attrs, {inputs[0], 1}, by_products, &old_self);
}

OpNode* OpNode::make(OpSlot& slot, Inputs inputs, const void* attrs, std::span<const Tensor> outputs,
                     std::span<const Tensor> by_products, const Tensor* old_self) {
  const OpDef& def = slot.def();
  size_t dims = 0;
  uint32_t needs = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl* t = inputs[i]->impl_or_null();
    if (!t) continue;
    dims += t->rank;
    if (t->needs_grad() && i < 32) needs |= 1u << i;
  }
  for (const Tensor& t : outputs) dims += static_cast<size_t>(t.dim());
  const Saves saves = saves_union(def, inputs.size(), attrs, needs);
  if (__builtin_popcount(saves.bits) > kMaxSaved)
    throw_error<InvalidArgumentError>(def.name, ": its definition saves more than ", kMaxSaved, " tensors");
  const Layout at(inputs.size(), inputs.size() + outputs.size(), dims,
                  static_cast<size_t>(__builtin_popcount(saves.bits)), def.attrs.size);
  char* memory = static_cast<char*>(internal::pool_allocate(at.total));
  auto* node = new (memory) OpNode(slot, outputs[0].device());
  struct Unwind {  // an exception below must not lose what the node holds already
    Node* node;
    ~Unwind() {
      if (node) node->release();
    }
  } unwind{node};
  node->bytes_ = static_cast<uint32_t>(at.total);
  node->edges_ = reinterpret_cast<Edge*>(memory + at.edges);
  node->metas_ = reinterpret_cast<OperandMeta*>(memory + at.metas);
  node->saved_ = reinterpret_cast<SavedTensor*>(memory + at.saved);
  node->num_outputs_ = static_cast<uint32_t>(outputs.size());
  int64_t* sizes = reinterpret_cast<int64_t*>(memory + at.sizes);
  OperandMeta* meta = node->metas_;
  const auto describe = [&](const TensorImpl* t) {
    *meta = {sizes, t ? t->dtype : DType::kUndefined, t ? t->rank : uint8_t{0}, t ? t->device : Device()};
    for (int d = 0; d < meta->rank; ++d) *sizes++ = t->sizes[d];
    ++meta;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorImpl* t = inputs[i]->impl_or_null();
    new (&node->edges_[i]) Edge(t && t->needs_grad() ? gradient_edge(*t) : Edge());
    ++node->num_edges_;
    describe(t);
  }
  for (const Tensor& t : outputs) describe(&t.impl());
  if (def.attrs.size) {
    def.attrs.copy(memory + at.attrs, attrs);
    node->attrs_ = memory + at.attrs;
  }
  node->save_all(saves, inputs, outputs, by_products, old_self);
  unwind.node = nullptr;
  internal::track(*node);
  return node;
}

void OpNode::save_all(Saves saves, Inputs inputs, std::span<const Tensor> outputs, std::span<const Tensor> by_products,
                      const Tensor* old_self) {
  for (uint32_t bits = saves.bits; bits; bits &= bits - 1) {
    const uint32_t bit = static_cast<uint32_t>(__builtin_ctz(bits));
    if (bit >= kByProductBit) {
      const Tensor& t = by_products[bit - kByProductBit];
      save(bit, t, t.version());
    } else if (bit >= kOutputBit) {
      save(bit, outputs[bit - kOutputBit], outputs[bit - kOutputBit].version());
    } else if (old_self && old_self->defined() && inputs[bit]->is_same(*inputs[0])) {
      save(bit, *old_self, old_self->version());
    } else if (const Tensor& t = *inputs[bit]; t.defined()) {
      // The write in place has just overwritten an operand that shares its memory.
      const bool overwritten = old_self && t.shares_storage_with(*inputs[0]);
      save(bit, t, t.version() - overwritten);
    } else {
      save(bit, t, 0);
    }
  }
}

void OpNode::save(uint32_t bit, const Tensor& t, uint32_t version) {
  SavedTensor* slot = saved_ + __builtin_popcount(saved_bits_);
  new (slot) SavedTensor{t.defined() ? internal::untracked_alias(t) : Tensor(), version};
  if (t.defined()) internal::note_role(t, MemoryRole::kSaved);
  if (t.defined() && !t.name().empty()) slot->alias.set_name(t.name());  // for the error about a write
  saved_bits_ |= 1u << bit;
}

void OpNode::destroy() noexcept {
  const size_t bytes = bytes_;
  release_saved();
  for (uint32_t i = 0; i < num_edges_; ++i) edges_[i].~Edge();
  if (attrs_ && def().attrs.destroy) def().attrs.destroy(attrs_);
  this->~OpNode();
  internal::pool_deallocate(this, bytes);
}

void OpNode::release_saved() {
  const int count = released_ ? 0 : __builtin_popcount(saved_bits_);
  {
    const internal::LiveGuard guard(live_slot);
    released_ = true;
  }
  for (int i = 0; i < count; ++i) saved_[i].~SavedTensor();
}

std::string OpNode::saved_name(uint32_t bit) const {
  if (bit >= kByProductBit) return str_cat("by-product ", bit - kByProductBit);
  return bit >= kOutputBit ? str_cat("output ", bit - kOutputBit) : str_cat("input ", bit);
}

void OpNode::visit_owned(OwnerVisitor& visitor) const {
  Node::visit_owned(visitor);
  if (released_) return;
  for (uint32_t bits = saved_bits_; bits; bits &= bits - 1) {
    const uint32_t bit = static_cast<uint32_t>(__builtin_ctz(bits));
    if (const Tensor& t = saved_[saved_index(bit)].alias; t.defined()) visitor.saved(t, saved_name(bit));
  }
}

std::string named(const Tensor& t) { return t.name().empty() ? "" : str_cat("'", t.name(), "', "); }

// The saved tensor for a gradient to read; with its history when the backward pass is itself recorded.
Tensor OpNode::unpack(uint32_t bit, Node* history) const {
  const SavedTensor& saved = saved_[saved_index(bit)];
  if (!saved.alias.defined()) return {};
  const uint32_t version = saved.alias.version();
  if (version != saved.version) {
    const bool output = bit >= kOutputBit && bit < kByProductBit;
    std::string origin = output ? str_cat("output ", bit - kOutputBit, " of ", name()) : "";
    if (bit < kOutputBit)
      origin = edges_[bit] ? str_cat("output ", edges_[bit].input_nr(), " of ", edges_[bit].node()->name())
                           : "an operand without gradient";
    throw_error<AutogradError>(
        "one of the variables needed for gradient computation has been modified by an inplace operation: [",
        saved.alias.dtype(), " ", saved.alias.shape(), "], which is ", named(saved.alias), origin, " and was saved by ",
        name(), " as ", saved_name(bit), ", is at version ", version, "; expected version ", saved.version,
        " instead. ", saved.alias.impl().storage->last_writer(),
        "() wrote to it last; write to a clone(), or before the operator "
        "that needs the old values");
  }
  if (!is_grad_enabled()) return saved.alias;
  Tensor t = internal::shallow_alias(saved.alias);
  if (bit >= kOutputBit && bit < kByProductBit) {
    set_history(t.impl(), history, bit - kOutputBit);
  } else if (bit < kOutputBit && edges_[bit]) {
    Node* node = edges_[bit].node();
    if (node->kind() == Kind::kAccumulate) return Tensor::share(static_cast<AccumulateGrad*>(node)->leaf());
    set_history(t.impl(), node, edges_[bit].input_nr());
  }
  return t;
}

// The gradient's view of a node. Saved tensors are unpacked when they are asked for.
class NodeVjp final : public Vjp {
 public:
  NodeVjp(const OpNode& node, std::span<const Tensor> cotangents, std::span<Tensor> gradients, Node* history)
      : Vjp(node.attrs_, cotangents, gradients), node_(node), history_(history) {}

  const Tensor& input(int i) const override { return saved(static_cast<uint32_t>(i)); }
  const Tensor& output(int i) const override { return saved(kOutputBit + static_cast<uint32_t>(i)); }
  const Tensor& by_product(int i) const override { return saved(kByProductBit + static_cast<uint32_t>(i)); }
  Dims input_shape(int i) const override { return shape(node_.metas_[i]); }
  DType input_dtype(int i) const override { return node_.metas_[i].dtype; }
  Dims output_shape(int i) const override { return shape(output_meta(i)); }
  DType output_dtype(int i) const override { return output_meta(i).dtype; }
  Device device() const override { return node_.device_; }
  bool needs(int i) const override { return node_.needs(i); }

 private:
  static Dims shape(const OperandMeta& m) { return Dims(std::span(m.sizes, m.rank)); }
  const OperandMeta& output_meta(int i) const { return node_.metas_[node_.num_edges_ + static_cast<uint32_t>(i)]; }

  const Tensor& saved(uint32_t bit) const {
    static const Tensor kUndefined;
    if (bit >= 24 || !(node_.saved_bits_ >> bit & 1)) return kUndefined;
    Tensor& t = unpacked_[static_cast<size_t>(node_.saved_index(bit))];
    if (!t.defined()) t = node_.unpack(bit, history_);
    return t;
  }

  const OpNode& node_;
  Node* history_;  // of the outputs
  mutable std::array<Tensor, kMaxSaved> unpacked_;
};

// Sums over what was broadcast and returns to the input's dtype and device.
Tensor OpNode::fit(Tensor gradient, int input) const {
  const OperandMeta& meta = metas_[input];
  const TensorImpl& g = gradient.impl();
  bool same = g.rank == meta.rank;
  for (int d = 0; same && d < meta.rank; ++d) same = g.sizes[d] == meta.sizes[d];
  if (!same) {
    const Dims shape(std::span(meta.sizes, meta.rank));
    if (!is_broadcastable_to(shape, gradient.shape()))
      throw_error<AutogradError>(name(), ": the gradient of input ", input, " has shape ", gradient.shape(),
                                 ", the input ", shape, "; the operator's vjp is wrong");
    gradient = sum_to(gradient, shape);
  }
  if (gradient.is_complex() && !is_complex(meta.dtype)) gradient = gradient.real();
  return gradient.to(meta.device, meta.dtype);
}

void OpNode::apply_with_history(std::span<Tensor> cotangents, std::span<Tensor> gradients, Node* history) {
  if (released_ && saved_bits_)
    throw_error<AutogradError>(
        "Trying to backward through the graph a second time: the tensors that ", name(),
        " saved were freed by the first backward pass. Specify retain_graph = true there if you need it again, or "
        "detach() what the passes share");
  NodeVjp vjp(*this, cotangents, gradients, history);
  def().vjp(vjp);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    if (!needs(static_cast<int>(i)))
      gradients[i].reset();
    else
      gradients[i] = fit(std::move(gradients[i]), static_cast<int>(i));
  }
}

}  // namespace vellum::autograd
