#ifndef VELLUM_MEMORY_LEAK_SCOPE_H_
#define VELLUM_MEMORY_LEAK_SCOPE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vellum/memory/ledger.h"

namespace vellum {

class Allocator;

// What outlives a LeakScope.
struct LeakReport {
  std::string scope;  // the LeakScope's name
  struct Leak {
    std::string holder;  // whose handle it is in the end: "total"
    std::string path;    // to its largest block: "total -> add#8812 -> mul#3.self"
    int64_t blocks = 0;
    int64_t bytes = 0;
    int64_t nodes = 0;  // of the graph that this holder keeps, also older ones
  };
  std::vector<Leak> leaks;          // by holder, most bytes first
  std::vector<std::string> cycles;  // of owners: "w -> w.grad -> mul#12 -> w"; only the user can break them
  int64_t bytes = 0;                // of all leaks

  bool empty() const { return leaks.empty() && cycles.empty(); }
  // For people to read; "" when empty.
  std::string text() const;
};

// Finds what was allocated within a scope and outlives it, and who holds it:
//
//   {
//     LeakScope scope("epoch");
//     for (...) total = total + loss(batch);    // keeps every step's graph
//   }
//   LeakScope 'epoch': 3.00 MiB in 4000 blocks outlive it
//     total -> add#8812 -> ... (997 more) -> mul#3.self, 3.00 MiB in 4000 blocks, 3000 nodes
//
// The ledger is on within it. Not reported are parameters, buffers, optimizer state and gradients without a history,
// which a training loop keeps; nor tensors without a history that take no more room than what was freed meanwhile of
// what was there before, as a running mean does that is replaced at each step (counted for each allocator: of the CPU,
// the current device, and pinned memory). Scopes nest. As a report of the ledger it must not end while another thread
// works on a graph.
class LeakScope {
 public:
  // `listener` is called at the end with what was found, if anything; without one it is printed to stderr.
  explicit LeakScope(std::string name = "", std::function<void(const LeakReport&)> listener = {});
  ~LeakScope();
  LeakScope(const LeakScope&) = delete;
  LeakScope& operator=(const LeakScope&) = delete;

  // What would be found if the scope ended here.
  LeakReport report() const;

 private:
  std::map<const Allocator*, int64_t> live_bytes() const;

  const std::string name_;
  const std::function<void(const LeakReport&)> listener_;
  const LedgerScope ledger_;
  const Device device_;  // the current one
  const uint32_t epoch_;
  const std::map<const Allocator*, int64_t> bytes_before_;
};

}  // namespace vellum

#endif  // VELLUM_MEMORY_LEAK_SCOPE_H_
