#ifndef VELLUM_MEMORY_INTERNAL_LEDGER_STATE_H_
#define VELLUM_MEMORY_INTERNAL_LEDGER_STATE_H_

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "vellum/device/text_table.h"
#include "vellum/tensor/ledger.h"

namespace vellum::internal {

struct WorkspaceBlock {
  Allocator* source;
  Block block;
  StorageOrigin origin;
};

// Hears of blocks while it is installed. Thread-safe.
class BlockListener {
 public:
  virtual void allocated(const StorageOrigin& origin, Allocator& source, const Block& block, const Stream& stream,
                         bool is_workspace) = 0;
  virtual void described(uint64_t id, const TensorImpl& tensor) = 0;
  // The tensor, one of the block's, got a label.
  virtual void named(uint64_t id, const TensorImpl& tensor) = 0;
  virtual void freed(uint64_t id, uint8_t roles) = 0;
  virtual void out_of_memory(const Allocator& source, int64_t bytes, const std::string& text) = 0;

 protected:
  ~BlockListener() = default;
};

// What the ledger knows beside the live objects. One for the process, never destroyed; thread-safe.
struct LedgerState {
  TextTable operators;
  TextTable labels;
  std::atomic<uint32_t> epoch{1};  // LeakScopes that have begun or ended
  std::atomic<BlockListener*> listener{nullptr};
  std::atomic<void (*)(Device, const Allocator&)> at_out_of_memory{
      nullptr};  // called after the listener has heard of it

  std::mutex mutex;
  std::vector<WorkspaceBlock> workspaces;  // under the mutex
};

LedgerState& ledger_state();

// Null: none any more.
void set_block_listener(BlockListener* listener);

// Numbers of blocks, unique and growing on each thread.
uint64_t next_block_id();

}  // namespace vellum::internal

#endif  // VELLUM_MEMORY_INTERNAL_LEDGER_STATE_H_
