#ifndef VELLUM_MEMORY_INTERNAL_HOLDER_GRAPH_H_
#define VELLUM_MEMORY_INTERNAL_HOLDER_GRAPH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "vellum/autograd/node.h"
#include "vellum/memory/ledger.h"
#include "vellum/tensor/internal/live_objects.h"

namespace vellum::internal {

// How one object owns another.
enum class Owns : uint8_t {
  kGradFn,    // a tensor its history
  kBase,      // a view its base
  kGrad,      // a tensor its .grad
  kNext,      // a node the next one
  kLeaf,      // a node the leaf into whose .grad it accumulates
  kSaved,     // a node a tensor
  kFunction,  // a node one that stands in it
};

// Tensors and nodes that are alive, and who owns whom, as of one moment: the live ones that the ledger tracks and all
// that they lead to. While it exists no tracked object begins or ends, and its thread must not make or drop any.
// Everything is iterative.
class HolderGraph {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Edge {
    uint32_t to;
    Owns how;
    uint16_t slot;  // of a saved tensor
  };
  struct Vertex {
    const TensorImpl* tensor = nullptr;  // this, or
    const autograd::Node* node = nullptr;
    uint32_t owners = 0;      // references that edges explain
    uint32_t first_edge = 0;  // its edges lie together
    uint32_t num_edges = 0;
    uint32_t keeper = kNone;  // the first vertex that has it as .grad, else the first that saved it
    uint16_t slot = 0;        // there
    bool is_grad = false;
    bool is_saved = false;
  };
  // A block and its first holder.
  struct Held {
    Storage* storage;
    MemoryCategory category;
    uint32_t vertex;  // a tensor
  };

  // kCareful is for when other threads may be at work: it leaves out graphs and gradients if another thread has nodes
  // and so may be changing them, and otherwise follows edges only to objects that are tracked, which cannot end
  // meanwhile, and to what tracked nodes saved.
  enum class Reach : uint8_t { kAll, kCareful };
  explicit HolderGraph(Reach reach = Reach::kAll);

  const std::vector<Vertex>& vertices() const { return vertices_; }
  const std::vector<Held>& blocks() const { return blocks_; }
  // Whether something other than tensors and nodes refers to it.
  bool is_held_outside(uint32_t vertex) const;

  // "mul#3", "total", "fc.weight.grad".
  std::string name_of(uint32_t vertex) const;
  // What path() starts with: by whom a vertex is held in the end.
  uint32_t root_of(uint32_t vertex);
  std::string path(const Held& block);
  MemoryHolder row(const Held& block);
  // One cycle of each strongly connected set of owners: "w -> w.grad -> mul#12 -> w". `wanted` picks the sets by their
  // vertices.
  std::vector<std::string> cycles(const std::vector<bool>& wanted) const;

 private:
  class Visitor;
  struct Step {
    uint32_t parent = kNone;
    uint32_t head = kNone;  // the ancestor that a shortened path ends its first part with
    uint32_t root = kNone;
    uint32_t depth = 0;
    bool reached = false;
  };

  // Whether an object may be looked into: it has been found already, or what owns it keeps it.
  bool may_follow(const void* object) const { return reach_ == Reach::kAll || numbers_.contains(object); }
  uint32_t vertex_of(const void* object);
  uint32_t tensor_vertex(const TensorImpl* tensor);
  uint32_t node_vertex(const autograd::Node* node);
  void connect(uint32_t from, uint32_t to, Owns how, uint16_t slot = 0);
  void expand(uint32_t vertex);
  uint16_t slot_number(std::string_view slot);
  MemoryCategory category_of(uint32_t vertex) const;
  void attribute_blocks();
  void find_paths();
  std::string step_name(uint32_t vertex) const;
  std::string steps_to(uint32_t vertex) const;
  void search_from(const std::vector<uint32_t>& roots);
  std::string cycle_through(uint32_t start, const std::vector<uint32_t>& component) const;
  std::vector<uint32_t> components() const;

  const Reach reach_;
  LiveObjects live_;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  absl::flat_hash_map<const void*, uint32_t> numbers_;
  std::vector<std::string> slots_;
  std::vector<Held> blocks_;
  std::vector<Step> steps_;  // once paths were asked for
};

}  // namespace vellum::internal

#endif  // VELLUM_MEMORY_INTERNAL_HOLDER_GRAPH_H_
