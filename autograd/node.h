#ifndef VELLUM_AUTOGRAD_NODE_H_
#define VELLUM_AUTOGRAD_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vellum/tensor/tensor.h"

namespace vellum::autograd {

class Node;
class AccumulateGrad;
struct TaskEntry;

// Where the gradient of one input goes: slot `input_nr` of a node. Owning: it keeps the node alive, or, where the node
// accumulates into a leaf, the leaf's tensor (which owns that node, so that there is no cycle).
class Edge {
 public:
  Edge() = default;
  Edge(Node* node, uint32_t input_nr);
  ~Edge() { reset(); }
  Edge(Edge&& other) noexcept : node_(std::exchange(other.node_, nullptr)), input_nr_(other.input_nr_) {}
  Edge& operator=(Edge&& other) noexcept {
    std::swap(node_, other.node_);
    std::swap(input_nr_, other.input_nr_);
    return *this;
  }
  Edge clone() const { return node_ ? Edge(node_, input_nr_) : Edge(); }

  explicit operator bool() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  uint32_t input_nr() const { return input_nr_; }

 private:
  void reset();

  Node* node_ = nullptr;
  uint32_t input_nr_ = 0;
};

// What a node owns, for destruction, traversal and leak search.
class OwnerVisitor {
 public:
  virtual void edge(const Edge& edge) = 0;
  virtual void saved(const Tensor& tensor, std::string_view slot) = 0;
  // A node that the visited one owns otherwise than by an edge. Shows what that one owns, unless it is wanted itself.
  virtual void function(const Node& node);

 protected:
  ~OwnerVisitor() = default;
};

// A step of the backward pass: maps the cotangents of a call's outputs to those of its inputs. Reference-counted and
// destroyed without recursion: the last release queues the node, and the outermost release on the thread drains the
// queue, so that a chain of any length dies on a small stack.
class Node : public internal::GraphNode {
 public:
  enum class Kind : uint8_t { kFunction, kAccumulate };

  Kind kind() const { return kind_; }
  // Order of creation on the recording thread; accumulation comes before everything else.
  uint64_t sequence() const { return sequence_; }
  // The module that the forward call was in, if a profiler or the ledger was on. See observed_module.
  uint32_t origin() const { return origin_; }
  std::span<const Edge> edges() const { return {edges_, num_edges_}; }
  int num_outputs() const { return num_outputs_; }

  // Writes gradients[i] for edge i; undefined means zero. Cotangents may be undefined, not all of them are. With
  // grad mode on, the computation is recorded.
  virtual void apply(std::span<Tensor> cotangents, std::span<Tensor> gradients) = 0;
  // The operator that it differentiates, as reports of memory name it: "mul".
  virtual std::string_view operator_name() const = 0;
  // Drops what only the backward pass needs. A later apply() that needs it throws.
  virtual void release_saved() {}
  // Every owning reference of this node (invariant I7).
  virtual void visit_owned(OwnerVisitor& visitor) const {
    for (const Edge& e : edges())
      if (e) visitor.edge(e);
  }

  // Tensors that retain the gradient that arrives at one of this node's outputs. Not owning.
  void add_retained(internal::TensorImpl* t);
  void remove_retained(internal::TensorImpl* t);
  const std::vector<internal::TensorImpl*>* retained() const { return retained_.get(); }

  // Scratch of the engine: the task that walks this node and its entry there.
  std::atomic<const void*> task{nullptr};
  TaskEntry* entry = nullptr;

 protected:
  explicit Node(Kind kind);
  ~Node() override = default;
  void dispose() noexcept final;
  // Ends the object and frees its memory.
  virtual void destroy() noexcept = 0;

  Edge* edges_ = nullptr;  // storage belongs to the derived class
  uint32_t num_edges_ = 0;
  uint32_t num_outputs_ = 1;

 private:
  uint64_t sequence_;
  Node* next_disposed_ = nullptr;
  std::unique_ptr<std::vector<internal::TensorImpl*>> retained_;
  uint32_t origin_;
  Kind kind_;
};

// Ends the graph at a leaf: adds what arrives to the leaf's gradient.
class AccumulateGrad final : public Node {
 public:
  static AccumulateGrad* create(internal::TensorImpl* leaf);

  std::string_view name() const override { return "AccumulateGrad"; }
  std::string_view operator_name() const override { return "accumulate_grad"; }
  void apply(std::span<Tensor> cotangents, std::span<Tensor>) override { accumulate(std::move(cotangents[0])); }

  // A gradient that a leaf did not have before, and the version it had then.
  struct Begun {
    const internal::TensorImpl* gradient = nullptr;  // null where there was one to add to
    uint32_t version = 0;
  };
  Begun accumulate(Tensor gradient);
  // Takes away what was begun, unless it has been added to or replaced since.
  void revert(const Begun& begun) noexcept;

  internal::TensorImpl* leaf() const { return leaf_; }
  void forget_leaf() { leaf_ = nullptr; }

 private:
  explicit AccumulateGrad(internal::TensorImpl* leaf) : Node(Kind::kAccumulate), leaf_(leaf) {}
  void destroy() noexcept override;

  // Threads may run backward into one leaf at the same time.
  class Busy {
   public:
    void lock() noexcept;
    void unlock() noexcept { flag_.clear(std::memory_order_release); }

   private:
    std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
  };

  internal::TensorImpl* leaf_;  // owns this node; null once it is gone
  Busy busy_;
};

// What autograd hangs on a tensor.
struct TensorState final : internal::AutogradState {
  explicit TensorState(internal::TensorImpl* t) : owner(t) {}
  ~TensorState() override;

  internal::TensorImpl* owner;
  Tensor grad;
  AccumulateGrad* accumulate = nullptr;  // of a leaf; one reference
  Node* retaining_node = nullptr;        // where `owner` is registered as retained; borrowed
  bool retains_grad = false;
};

inline void OwnerVisitor::function(const Node& node) { node.visit_owned(*this); }

// The state of a tensor, made when missing.
TensorState& state_of(internal::TensorImpl& t);
inline TensorState* state_or_null(const internal::TensorImpl& t) { return static_cast<TensorState*>(t.autograd.get()); }

// Where the gradient of `t` goes; no edge when none is wanted. Renews the history of a view whose base was written.
Edge gradient_edge(internal::TensorImpl& t);

// Makes `node` the history of `t` (null: none).
void set_history(internal::TensorImpl& t, Node* node, uint32_t output_nr);

// Sums `from` into `into`, in place where nobody else can see it.
void accumulate(Tensor& into, Tensor from);

}  // namespace vellum::autograd

#endif  // VELLUM_AUTOGRAD_NODE_H_
