#include "vellum/memory/internal/holder_graph.h"

#include <algorithm>

#include "vellum/device/error.h"
#include "vellum/device/text_table.h"
#include "vellum/memory/internal/holder_rows.h"
#include "vellum/memory/internal/ledger_state.h"

namespace vellum::internal {
namespace {

using autograd::AccumulateGrad;
using autograd::Node;

const autograd::TensorState* state_of(const TensorImpl& t) { return autograd::state_or_null(t); }

// The category's place in the documented order.
int rank(MemoryCategory category) {
  static constexpr MemoryCategory kOrder[] = {
      MemoryCategory::kParameter, MemoryCategory::kBuffer, MemoryCategory::kOptimizerState, MemoryCategory::kGradient,
      MemoryCategory::kSaved,     MemoryCategory::kUser,   MemoryCategory::kView,           MemoryCategory::kOther};
  return static_cast<int>(std::ranges::find(kOrder, category) - std::begin(kOrder));
}

}  // namespace

class HolderGraph::Visitor final : public autograd::OwnerVisitor {
 public:
  Visitor(HolderGraph& graph, uint32_t from) : graph_(graph), from_(from) {}

  void edge(const autograd::Edge& edge) override {
    const Node* node = edge.node();
    if (node->kind() == Node::Kind::kAccumulate) {
      const TensorImpl* leaf = static_cast<const AccumulateGrad*>(node)->leaf();
      if (graph_.may_follow(leaf)) graph_.connect(from_, graph_.tensor_vertex(leaf), Owns::kLeaf);
      return;
    }
    if (graph_.may_follow(node)) graph_.connect(from_, graph_.node_vertex(node), Owns::kNext);
  }
  void saved(const Tensor& tensor, std::string_view slot) override {
    graph_.connect(from_, graph_.tensor_vertex(tensor.impl_or_null()), Owns::kSaved, graph_.slot_number(slot));
  }
  void function(const Node& node) override {
    if (graph_.may_follow(&node)) graph_.connect(from_, graph_.node_vertex(&node), Owns::kFunction);
  }

 private:
  HolderGraph& graph_;
  const uint32_t from_;
};

HolderGraph::HolderGraph(Reach reach) : reach_(reach) {
  live_.for_each_tensor([this](const TensorImpl* tensor) { tensor_vertex(tensor); });
  if (reach == Reach::kAll || !live_.others_have_nodes()) {
    live_.for_each_node([this](const GraphNode* node) { node_vertex(static_cast<const Node*>(node)); });
    // The list grows while it is gone through.
    for (uint32_t v = 0; v < vertices_.size(); ++v) expand(v);
  }
  attribute_blocks();
}

uint32_t HolderGraph::vertex_of(const void* object) {
  const auto [found, is_new] = numbers_.try_emplace(object, static_cast<uint32_t>(vertices_.size()));
  if (is_new) vertices_.emplace_back();
  return found->second;
}

uint32_t HolderGraph::tensor_vertex(const TensorImpl* tensor) {
  const uint32_t v = vertex_of(tensor);
  vertices_[v].tensor = tensor;
  return v;
}

uint32_t HolderGraph::node_vertex(const Node* node) {
  const uint32_t v = vertex_of(node);
  vertices_[v].node = node;
  return v;
}

// Slots have few names; most graphs use one of the first.
uint16_t HolderGraph::slot_number(std::string_view slot) {
  const size_t number = static_cast<size_t>(std::ranges::find(slots_, slot) - slots_.begin());
  if (number == slots_.size()) slots_.emplace_back(slot);
  return static_cast<uint16_t>(number);
}

void HolderGraph::connect(uint32_t from, uint32_t to, Owns how, uint16_t slot) {
  edges_.push_back({to, how, slot});
  ++vertices_[from].num_edges;
  Vertex& owned = vertices_[to];
  ++owned.owners;
  const bool is_first_grad = how == Owns::kGrad && !owned.is_grad;
  const bool is_first_save = how == Owns::kSaved && !owned.is_grad && !owned.is_saved;
  owned.is_grad |= how == Owns::kGrad;
  owned.is_saved |= how == Owns::kSaved;
  if (!is_first_grad && !is_first_save) return;
  owned.keeper = from;
  owned.slot = slot;
}

void HolderGraph::expand(uint32_t v) {
  vertices_[v].first_edge = static_cast<uint32_t>(edges_.size());
  if (const Node* node = vertices_[v].node) {
    Visitor visitor(*this, v);
    node->visit_owned(visitor);
    return;
  }
  const TensorImpl& t = *vertices_[v].tensor;
  if (const auto* node = static_cast<const Node*>(t.grad_fn); node && may_follow(node))
    connect(v, node_vertex(node), Owns::kGradFn);
  if (t.base && may_follow(t.base)) connect(v, tensor_vertex(t.base), Owns::kBase);
  const autograd::TensorState* state = state_of(t);
  const TensorImpl* grad = state ? state->grad.impl_or_null() : nullptr;
  if (grad && may_follow(grad)) connect(v, tensor_vertex(grad), Owns::kGrad);
}

bool HolderGraph::is_held_outside(uint32_t v) const {
  const Vertex& vertex = vertices_[v];
  const uint32_t references =
      vertex.tensor ? vertex.tensor->refs.load(std::memory_order_relaxed) : vertex.node->use_count();
  return references > vertex.owners;
}

MemoryCategory HolderGraph::category_of(uint32_t v) const {
  const Vertex& vertex = vertices_[v];
  const TensorImpl& t = *vertex.tensor;
  if (t.role == MemoryRole::kParameter) return MemoryCategory::kParameter;
  if (t.role == MemoryRole::kBuffer) return MemoryCategory::kBuffer;
  if (t.role == MemoryRole::kOptimizerState) return MemoryCategory::kOptimizerState;
  if (vertex.is_grad) return MemoryCategory::kGradient;
  if (vertex.is_saved) return MemoryCategory::kSaved;
  if (!is_held_outside(v)) return MemoryCategory::kOther;
  return t.base && t.base->storage == t.storage ? MemoryCategory::kView : MemoryCategory::kUser;
}

// Of the holders in a category one with a name is first.
void HolderGraph::attribute_blocks() {
  const auto place = [](const TensorImpl& t, MemoryCategory category) { return 2 * rank(category) + !t.name; };
  absl::flat_hash_map<const Storage*, uint32_t> places;
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    if (!vertices_[v].tensor) continue;
    Storage* storage = vertices_[v].tensor->storage;
    if (!storage || !storage->source()) continue;
    const MemoryCategory category = category_of(v);
    const auto [found, is_new] = places.try_emplace(storage, static_cast<uint32_t>(blocks_.size()));
    if (is_new)
      blocks_.push_back({storage, category, v});
    else if (const Held& first = blocks_[found->second];
             place(*vertices_[v].tensor, category) < place(*vertices_[first.vertex].tensor, first.category))
      blocks_[found->second] = {storage, category, v};
  }
}

MemoryHolder HolderGraph::row(const Held& block) {
  const Vertex& vertex = vertices_[block.vertex];
  const TensorImpl& t = *vertex.tensor;
  const Storage& storage = *block.storage;
  MemoryHolder row;
  row.category = block.category;
  row.path = path(block);
  row.bytes = static_cast<int64_t>(storage.source()->active_bytes(storage.block()));
  row.data = storage.block().data;
  row.dtype = t.dtype;
  row.shape = Dims(t.shape_span());
  if (t.name) row.name = *t.name;
  if (const StorageOrigin& origin = storage.origin(); origin.id) {
    row.module = module_path(origin.module);
    row.operator_name = ledger_state().operators.text(origin.op);
    row.label = ledger_state().labels.text(origin.label);
    row.sequence = origin.sequence;
  }
  if (block.category == MemoryCategory::kSaved) {
    const Node& node = *vertices_[vertex.keeper].node;
    row.operator_name = node.operator_name();
    row.sequence = node.sequence();
    row.module = module_path(node.origin());
  } else if (block.category == MemoryCategory::kGradient) {
    const TensorImpl& owner = *vertices_[vertex.keeper].tensor;
    if (owner.role == MemoryRole::kParameter && owner.name) row.module = module_of_label(*owner.name, 1);
  } else if (t.role == MemoryRole::kParameter || t.role == MemoryRole::kBuffer) {
    row.module = module_of_label(row.name, 1);
  } else if (t.role == MemoryRole::kOptimizerState) {
    row.module = module_of_label(row.name, 2);
  }
  return row;
}

}  // namespace vellum::internal
