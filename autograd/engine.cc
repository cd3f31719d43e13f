#include "vellum/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "absl/container/inlined_vector.h"
#include "vellum/device/error.h"
#include "vellum/device/object_pool.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::autograd {

// What one pass knows of a node.
struct TaskEntry {
  explicit TaskEntry(Node* n) : node(n), cotangents(static_cast<size_t>(n->num_outputs())) {}

  Node* node;
  int dependencies = 0;  // edges into the node that have not delivered
  bool needed = true;    // must run: leads to a capture, or nothing is captured
  bool visited = false;  // by mark_needed
  size_t index = 0;      // among the task's entries
  absl::InlinedVector<Tensor, 1> cotangents;
};

namespace {

class Task {
 public:
  explicit Task(const EngineOptions& options) : options_(options), captured_(options.captures.size()) {}
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  std::vector<Tensor> run(std::vector<Root> roots);

 private:
  TaskEntry& entry(Node* node, bool* created);
  void release(TaskEntry& entry);
  void discover(const std::vector<Root>& roots);
  void mark_needed(const std::vector<Root>& roots);
  bool is_captured(Node* node) const;
  void capture(TaskEntry& entry);
  void execute(TaskEntry& entry);
  void deliver(const Edge& edge, Tensor gradient);
  void retain(TaskEntry& entry);
  void apply(TaskEntry& entry, std::span<Tensor> gradients);
  void apply_unnamed(TaskEntry& entry, std::span<Tensor> gradients);

  const EngineOptions& options_;
  std::vector<Tensor> captured_;
  std::vector<TaskEntry*> entries_;  // all that are alive, for unwinding
  // The leaves that got their first gradient, for unwinding.
  std::vector<std::pair<Edge, AccumulateGrad::Begun>> begun_;
  std::unordered_map<Node*, TaskEntry*> side_;  // nodes that another pass has claimed
  struct Later {
    bool operator()(const TaskEntry* a, const TaskEntry* b) const { return a->node->sequence() < b->node->sequence(); }
  };
  std::priority_queue<TaskEntry*, std::vector<TaskEntry*>, Later> ready_;
};

// After an error, leaves that had no gradient have none again.
Task::~Task() {
  for (const auto& [leaf, begun] : begun_) static_cast<AccumulateGrad*>(leaf.node())->revert(begun);
  for (TaskEntry* e : entries_)
    if (e) release(*e);
}

// A node remembers its entry in the pass that claimed it first; passes that meet elsewhere use a map.
TaskEntry& Task::entry(Node* node, bool* created) {
  if (node->task.load(std::memory_order_acquire) == this) return *node->entry;
  if (!side_.empty())
    if (const auto found = side_.find(node); found != side_.end()) return *found->second;
  *created = true;
  auto* e = new (internal::pool_allocate(sizeof(TaskEntry))) TaskEntry(node);
  e->index = entries_.size();
  entries_.push_back(e);
  const void* nobody = nullptr;
  if (node->task.compare_exchange_strong(nobody, this, std::memory_order_acq_rel))
    node->entry = e;
  else
    side_[node] = e;
  return *e;
}

void Task::release(TaskEntry& e) {
  if (e.node->task.load(std::memory_order_relaxed) == this) {
    e.node->entry = nullptr;
    e.node->task.store(nullptr, std::memory_order_release);
  }
  if (!side_.empty()) side_.erase(e.node);
  entries_[e.index] = nullptr;
  e.~TaskEntry();
  internal::pool_deallocate(&e, sizeof(TaskEntry));
}

void Task::discover(const std::vector<Root>& roots) {
  std::vector<Node*> stack;
  bool created = false;
  for (const Root& root : roots) {
    created = false;
    TaskEntry& e = entry(root.edge.node(), &created);
    ++e.dependencies;
    if (created) stack.push_back(e.node);
  }
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->edges()) {
      if (!edge) continue;
      created = false;
      TaskEntry& e = entry(edge.node(), &created);
      ++e.dependencies;
      if (created) stack.push_back(e.node);
    }
  }
}

bool Task::is_captured(Node* node) const {
  return std::any_of(options_.captures.begin(), options_.captures.end(),
                     [node](const Edge& e) { return e.node() == node; });
}

// Post-order over the graph: a node is needed when an edge of it leads to a captured or needed node.
void Task::mark_needed(const std::vector<Root>& roots) {
  for (TaskEntry* e : entries_) e->needed = false;
  struct Frame {
    Node* node;
    size_t next;
  };
  std::vector<Frame> stack;
  bool created = false;
  const auto visit = [&](Node* node) {
    if (std::exchange(entry(node, &created).visited, true)) return;
    stack.push_back({node, 0});
  };
  for (const Root& root : roots) {  // one after the other: a root may lie on the way from another
    visit(root.edge.node());
    while (!stack.empty()) {
      Node* node = stack.back().node;
      if (const size_t next = stack.back().next++; next < node->edges().size()) {
        if (const Edge& edge = node->edges()[next]) visit(edge.node());
        continue;
      }
      TaskEntry& e = entry(node, &created);
      for (const Edge& edge : node->edges())
        if (edge) e.needed |= entry(edge.node(), &created).needed || is_captured(edge.node());
      stack.pop_back();
    }
  }
}

void Task::capture(TaskEntry& e) {
  for (size_t i = 0; i < options_.captures.size(); ++i) {
    const Edge& wanted = options_.captures[i];
    if (wanted.node() != e.node) continue;
    if (const Tensor& g = e.cotangents[wanted.input_nr()]; g.defined()) captured_[i] = g;
  }
}

// Tensors with retain_grad() take what arrives at their output.
void Task::retain(TaskEntry& e) {
  if (!e.node->retained()) return;
  for (internal::TensorImpl* t : *e.node->retained()) {
    const Tensor& g = e.cotangents[t->output_nr];
    if (!g.defined()) continue;
    internal::check_dry_gradient(*t);
    Tensor& grad = state_of(*t).grad;
    accumulate(grad, options_.create_graph ? g : g.clone());
    internal::note_role(grad, MemoryRole::kGradient);
  }
}

void Task::deliver(const Edge& edge, Tensor gradient) {
  bool created = false;
  TaskEntry& e = entry(edge.node(), &created);
  if (gradient.defined()) accumulate(e.cotangents[edge.input_nr()], std::move(gradient));
  if (--e.dependencies == 0) ready_.push(&e);
}

// Names the step only for who reads the name.
void Task::apply(TaskEntry& e, std::span<Tensor> gradients) {
  if (!(thread_state().mode & (kModeProfiler | kModeLedger | kModeDryRun))) [[likely]]
    return apply_unnamed(e, gradients);
  const AnnotationScope annotation(Annotation::Kind::kBackward, e.node->name(), {}, e.node->origin());
  apply_unnamed(e, gradients);
}

void Task::apply_unnamed(TaskEntry& e, std::span<Tensor> gradients) {
  if (e.node->kind() != Node::Kind::kAccumulate)
    return e.node->apply({e.cotangents.data(), e.cotangents.size()}, gradients);
  auto& [leaf, begun] = begun_.emplace_back(Edge(e.node, 0), AccumulateGrad::Begun{});
  begun = static_cast<AccumulateGrad*>(e.node)->accumulate(std::move(e.cotangents[0]));
}

void Task::execute(TaskEntry& e) {
  Node* node = e.node;
  const bool capturing = !options_.captures.empty();
  if (capturing)
    capture(e);
  else
    retain(e);
  absl::InlinedVector<Tensor, 4> gradients(node->edges().size());
  const bool arrived =
      std::any_of(e.cotangents.begin(), e.cotangents.end(), [](const Tensor& g) { return g.defined(); });
  const bool runs = e.needed && arrived && !(capturing && node->kind() == Node::Kind::kAccumulate);
  if (runs) {
    apply(e, {gradients.data(), gradients.size()});
    e.cotangents.clear();
    if (!options_.keep_graph) node->release_saved();
  }
  for (size_t i = 0; i < gradients.size(); ++i)
    if (const Edge& edge = node->edges()[i]) deliver(edge, std::move(gradients[i]));
}

std::vector<Tensor> Task::run(std::vector<Root> roots) {
  const uint32_t grad = kModeGrad;
  const ModeGuard mode(options_.create_graph ? grad : 0, options_.create_graph ? 0 : grad);
  discover(roots);
  if (!options_.captures.empty()) mark_needed(roots);
  for (Root& root : roots) deliver(root.edge, std::move(root.gradient));
  while (!ready_.empty()) {
    TaskEntry& e = *ready_.top();
    ready_.pop();
    execute(e);
    release(e);
  }
  begun_.clear();
  return std::move(captured_);
}

}  // namespace

std::vector<Tensor> run(std::vector<Root> roots, const EngineOptions& options) {
  return Task(options).run(std::move(roots));
}

}  // namespace vellum::autograd
