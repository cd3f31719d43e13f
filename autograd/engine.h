#ifndef VELLUM_AUTOGRAD_ENGINE_H_
#define VELLUM_AUTOGRAD_ENGINE_H_

#include <span>
#include <vector>

#include "vellum/autograd/node.h"

namespace vellum::autograd {

struct Root {
  Edge edge;
  Tensor gradient;
};

struct EngineOptions {
  bool keep_graph = false;
  bool create_graph = false;
  // When not empty, the gradients that arrive at these edges are returned and nothing is accumulated; only nodes that
  // lead to one of them run.
  std::span<const Edge> captures = {};
};

// Runs the graph from the roots, on the calling thread, without recursion: nodes in descending order of their
// sequence numbers, each once all that feeds it has run. What a node saved is released right after it ran, unless
// keep_graph. An exception leaves the nodes that have not run as they were. Thread-safe; may be called from within.
std::vector<Tensor> run(std::vector<Root> roots, const EngineOptions& options);

}  // namespace vellum::autograd

#endif  // VELLUM_AUTOGRAD_ENGINE_H_
