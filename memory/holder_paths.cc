// From blocks back to whoever holds them in the end, and rings of owners.

#include <algorithm>

#include "vellum/device/error.h"
#include "vellum/device/text_table.h"
#include "vellum/memory/internal/holder_graph.h"
#include "vellum/memory/internal/ledger_state.h"

namespace vellum::internal {
namespace {

constexpr uint32_t kHeadSteps = 3;  // of a long path, how many are told before and after the gap
constexpr uint32_t kTailSteps = 3;

// "input 0" as PyTorch would call it.
std::string slot_name(std::string_view slot) {
  if (slot == "input 0") return "self";
  if (slot == "input 1") return "other";
  if (slot == "output 0") return "result";
  std::string text;
  for (const char c : slot) text += c == '-' ? '_' : c;
  std::erase(text, ' ');
  return text;
}

std::string numbered(std::string_view op, uint64_t sequence, uint32_t module) {
  std::string text = str_cat(op, "#", sequence);
  return module ? str_cat(text, " (", module_path(module), ")") : text;
}

}  // namespace

std::string HolderGraph::name_of(uint32_t v) const {
  const Vertex& vertex = vertices_[v];
  if (vertex.node) return str_cat(vertex.node->operator_name(), "#", vertex.node->sequence());
  const TensorImpl& t = *vertex.tensor;
  if (t.name && !t.name->empty()) return *t.name;
  if (t.grad_fn && may_follow(t.grad_fn)) {
    const auto& node = static_cast<const autograd::Node&>(*t.grad_fn);
    return numbered(node.operator_name(), node.sequence(), node.origin());
  }
  const StorageOrigin& origin = t.storage->origin();
  if (origin.id && origin.op) return numbered(ledger_state().operators.text(origin.op), origin.sequence, origin.module);
  return str_cat("a tensor ", t.dtype, Dims(t.shape_span()));
}

// Breadth first from all of them at once, so that every path is as short as can be. What has a role is an end of its
// own: a path that leads on through a parameter would tell nothing.
void HolderGraph::search_from(const std::vector<uint32_t>& roots) {
  std::vector<uint32_t> queue;
  for (const uint32_t v : roots) {
    if (std::exchange(steps_[v].reached, true)) continue;
    steps_[v].head = steps_[v].root = v;
    queue.push_back(v);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t from = queue[i];
    const Vertex& vertex = vertices_[from];
    for (uint32_t e = vertex.first_edge; e < vertex.first_edge + vertex.num_edges; ++e) {
      const uint32_t to = edges_[e].to;
      if (vertices_[to].tensor && vertices_[to].tensor->role != MemoryRole::kNone) continue;
      Step& step = steps_[to];
      if (std::exchange(step.reached, true)) continue;
      step.parent = from;
      step.root = steps_[from].root;
      step.depth = steps_[from].depth + 1;
      step.head = step.depth < kHeadSteps ? to : steps_[from].head;
      queue.push_back(to);
    }
  }
}

// Handles with labels come first, then others, then what modules and optimizers keep, then handles to nodes; what
// nobody outside holds is left to rings.
void HolderGraph::find_paths() {
  if (!steps_.empty()) return;
  steps_.resize(vertices_.size());
  std::vector<uint32_t> labelled, unlabelled, kept, nodes, tensors, rest;
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    const TensorImpl* t = vertices_[v].tensor;
    (t ? tensors : rest).push_back(v);
    if (t && t->role != MemoryRole::kNone)
      kept.push_back(v);
    else if (is_held_outside(v))
      (!t ? nodes : t->name && !t->name->empty() ? labelled : unlabelled).push_back(v);
  }
  for (const auto* roots : {&labelled, &unlabelled, &kept, &nodes}) search_from(*roots);
  for (const auto* all : {&tensors, &rest})
    for (const uint32_t v : *all)
      if (!steps_[v].reached) search_from({v});
}

uint32_t HolderGraph::root_of(uint32_t v) {
  find_paths();
  return steps_[v].root;
}

// A step of a path; "" for a node that the tensor before it, which has no label, is named by already.
std::string HolderGraph::step_name(uint32_t v) const {
  const uint32_t parent = steps_[v].parent;
  const TensorImpl* above = parent == kNone ? nullptr : vertices_[parent].tensor;
  if (!above) return name_of(v);
  if (vertices_[v].is_grad && vertices_[v].keeper == parent) return name_of(parent) + ".grad";
  const bool is_named_by_it = above->grad_fn && vertices_[v].node == above->grad_fn;
  return is_named_by_it && !(above->name && !above->name->empty()) ? "" : name_of(v);
}

// The steps from the root to `v`, without the middle of a long way.
std::string HolderGraph::steps_to(uint32_t v) const {
  std::vector<uint32_t> head, tail;
  const uint32_t depth = steps_[v].depth;
  for (uint32_t at = v; at != kNone && tail.size() < kTailSteps; at = steps_[at].parent) tail.push_back(at);
  const uint32_t told = static_cast<uint32_t>(tail.size());
  if (depth + 1 > told) {
    uint32_t at = steps_[v].head;
    while (steps_[at].depth > depth - told) at = steps_[at].parent;
    for (; at != kNone; at = steps_[at].parent) head.push_back(at);
  }
  std::string text;
  const auto append = [&text](const std::string& step) {
    if (!step.empty()) text += (text.empty() ? "" : " -> ") + step;
  };
  std::for_each(head.rbegin(), head.rend(), [&](uint32_t at) { append(step_name(at)); });
  if (const size_t gap = depth + 1 - told - head.size(); gap > 0) append(str_cat("... (", gap, " more)"));
  std::for_each(tail.rbegin(), tail.rend(), [&](uint32_t at) { append(step_name(at)); });
  return text;
}

std::string HolderGraph::path(const Held& block) {
  const Vertex& vertex = vertices_[block.vertex];
  switch (block.category) {
    case MemoryCategory::kGradient:
      return name_of(vertex.keeper) + ".grad";
    case MemoryCategory::kView: {
      const std::string own = name_of(block.vertex);
      const auto found = numbers_.find(vertex.tensor->base);
      if (found == numbers_.end()) return own + ", a view";
      const std::string base = name_of(found->second);
      return own == base ? "view of " + base : own + ", view of " + base;
    }
    case MemoryCategory::kSaved:
      find_paths();
      return steps_to(vertex.keeper) + "." + slot_name(slots_[vertex.slot]);
    case MemoryCategory::kOther:
      find_paths();
      return steps_to(block.vertex);
    default:
      return name_of(block.vertex);
  }
}

// Tarjan: "Depth-first search and linear graph algorithms", 1972, with an explicit stack. The number of each vertex's
// strongly connected component.
std::vector<uint32_t> HolderGraph::components() const {
  struct Frame {
    uint32_t vertex, next;
  };
  const uint32_t n = static_cast<uint32_t>(vertices_.size());
  std::vector<uint32_t> index(n, kNone), low(n), component(n, kNone), open;
  std::vector<Frame> stack;
  uint32_t count = 0, found = 0;
  for (uint32_t start = 0; start < n; ++start) {
    if (index[start] != kNone) continue;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      const uint32_t v = stack.back().vertex;
      if (stack.back().next == 0) {
        index[v] = low[v] = count++;
        open.push_back(v);
      }
      bool descends = false;
      while (!descends && stack.back().next < vertices_[v].num_edges) {
        const uint32_t to = edges_[vertices_[v].first_edge + stack.back().next++].to;
        if (index[to] == kNone) {
          stack.push_back({to, 0});
          descends = true;
        } else if (component[to] == kNone) {
          low[v] = std::min(low[v], index[to]);
        }
      }
      if (descends) continue;
      if (low[v] == index[v]) {
        uint32_t member;
        do {
          member = open.back();
          open.pop_back();
          component[member] = found;
        } while (member != v);
        ++found;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().vertex] = std::min(low[stack.back().vertex], low[v]);
    }
  }
  return component;
}

// The shortest way from `start` back to itself within its component; empty when there is none.
std::string HolderGraph::cycle_through(uint32_t start, const std::vector<uint32_t>& component) const {
  absl::flat_hash_map<uint32_t, uint32_t> parents;
  std::vector<uint32_t> queue{start}, way;
  for (size_t i = 0; i < queue.size() && way.empty(); ++i) {
    const Vertex& vertex = vertices_[queue[i]];
    for (uint32_t e = vertex.first_edge; e < vertex.first_edge + vertex.num_edges && way.empty(); ++e) {
      const uint32_t to = edges_[e].to;
      if (component[to] != component[start]) continue;
      if (to == start) {
        for (uint32_t at = queue[i]; at != start; at = parents[at]) way.push_back(at);
        way.push_back(start);
      } else if (parents.try_emplace(to, queue[i]).second) {
        queue.push_back(to);
      }
    }
  }
  if (way.empty()) return "";
  std::ranges::reverse(way);
  std::string text = name_of(start);
  for (size_t i = 1; i < way.size(); ++i) {
    if (i == kHeadSteps + kTailSteps && way.size() > 2 * (kHeadSteps + kTailSteps)) {
      text += str_cat(" -> ... (", way.size() - 2 * i, " more)");
      i = way.size() - i;
    }
    const Vertex& vertex = vertices_[way[i]];
    const bool is_grad = vertex.is_grad && vertex.keeper == way[i - 1];
    text += " -> " + (is_grad ? name_of(way[i - 1]) + ".grad" : name_of(way[i]));
  }
  return text + " -> " + name_of(start);
}

std::vector<std::string> HolderGraph::cycles(const std::vector<bool>& wanted) const {
  const std::vector<uint32_t> component = components();
  std::vector<uint32_t> sizes(vertices_.size()), starts(vertices_.size(), kNone);
  std::vector<bool> chosen(vertices_.size());
  // It is told from a tensor with a label, if there is one.
  const auto weight = [this](uint32_t v) {
    const TensorImpl* t = vertices_[v].tensor;
    return !t ? 0 : t->name && !t->name->empty() ? 2 : 1;
  };
  for (uint32_t v = 0; v < vertices_.size(); ++v) {
    const uint32_t c = component[v];
    ++sizes[c];
    if (wanted[v]) chosen[c] = true;
    if (starts[c] == kNone || weight(v) > weight(starts[c])) starts[c] = v;
  }
  std::vector<std::string> found;
  for (uint32_t c = 0; c < vertices_.size(); ++c)
    if (sizes[c] > 1 && chosen[c]) found.push_back(cycle_through(starts[c], component));
  return found;
}

}  // namespace vellum::internal
