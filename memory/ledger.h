#ifndef VELLUM_MEMORY_LEDGER_H_
#define VELLUM_MEMORY_LEDGER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"

namespace vellum {

// Who holds a block. One that has several holders counts under the first of the order below, and of those in one
// category under one with a name (see Tensor::set_name):
//
//   parameter, buffer, optimizer_state, gradient, saved, user, view, workspace, pending, untracked.
enum class MemoryCategory : uint8_t {
  kOther,           // nothing that is known of: between two holders
  kParameter,       // of a module
  kBuffer,          // of a module
  kGradient,        // .grad of a tensor
  kOptimizerState,  // what an optimizer keeps
  kSaved,           // by a node, for the backward pass
  kView,            // a handle to a view, and no handle to its base
  kUser,            // a handle: a variable, a container, an operator that is running
  kWorkspace,       // scratch memory of a kernel that is running
  kPending,         // freed, but work on another stream may still use it
  kUntracked,       // allocated while the ledger was off, or on a thread where it was
};
inline constexpr int kMemoryCategories = 11;
std::string_view memory_category_name(MemoryCategory category);  // "optimizer_state"

// The ledger says who holds each byte:
//
//   LedgerScope ledger;
//   train_step();
//   std::cout << memory_holders_table();
//
// It is on or off for each thread, as grad mode is, and VELLUM_LEDGER=1 in the environment turns it on for the main
// thread from the start. Off, it costs a test of the mode word. On, every block, tensor and node that is made is
// entered in a table; holders are worked out only when they are asked for. Parameters, buffers and optimizer state are
// known even if the ledger is turned on after they were made; so is what their graphs hold.
//
// Reports may be made on any thread while others allocate and free. They must not run while another thread records a
// graph, runs backward or changes .grad: they follow the edges of the graph.
class LedgerScope {
 public:
  LedgerScope() : mode_(kModeLedger, 0) {}

 private:
  ModeGuard mode_;
};

bool is_ledger_enabled();          // on this thread
void set_ledger_enabled(bool on);  // on this thread

// A block and its first holder.
struct MemoryHolder {
  MemoryCategory category = MemoryCategory::kOther;
  // From a handle of the user's, or a parameter, to the block: "total -> add#8812 -> mul#3.self". A tensor is named by
  // its label (Tensor::set_name), else by the operator that produced it, that operator's sequence number and its
  // module; a saved tensor by the node that saved it and the operand's place. Long paths lack their middle.
  std::string path;
  int64_t bytes = 0;          // as they count in memory_allocated()
  std::string module;         // "encoder.0.conv1": where it was saved, or else where it was allocated
  std::string operator_name;  // that saved it, or else allocated it ("MulBackward" within that step)
  uint64_t sequence = 0;      // number of that operator's node, or of the node that the thread recorded next
  std::string label;          // of the AnnotationScope of kind kUser in which it was allocated
  std::string name;           // the tensor's label
  DType dtype = DType::kUndefined;
  Dims shape;
  const void* data = nullptr;
};

// Every live block of a device's allocator, the largest first; their bytes sum to memory_allocated(device), as long as
// no other thread allocates or frees meanwhile. What the ledger does not know makes one row, kUntracked.
std::vector<MemoryHolder> memory_holders(Device device = {});

// The same by module and category. A parameter, its gradient and its optimizer state count for the module that its
// label names.
struct ModuleMemory {
  std::string module;  // "": outside of all
  int64_t bytes = 0;
  int64_t by_category[kMemoryCategories] = {};
};
std::vector<ModuleMemory> memory_by_module(Device device = {});  // in the order of their paths

// Totals by category and the largest `rows` blocks, as a text for people to read.
std::string memory_holders_table(Device device = {}, int rows = 20);

}  // namespace vellum

#endif  // VELLUM_MEMORY_LEDGER_H_
