// What the ledger does while tensors are made: it notes where each block comes from, and no more.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "vellum/allocator/memory.h"
#include "vellum/device/error.h"
#include "vellum/memory/internal/holder_graph.h"
#include "vellum/memory/internal/holder_rows.h"
#include "vellum/memory/internal/ledger_state.h"
#include "vellum/memory/ledger.h"

namespace vellum {
namespace internal {

LedgerState& ledger_state() {
  static LedgerState& state = *new LedgerState;
  return state;
}

// Taken many at a time, since all threads share the counter.
uint64_t next_block_id() {
  constexpr uint64_t kIdsAtOnce = 1024;
  static constinit std::atomic<uint64_t> unused{1};
  static constinit thread_local uint64_t next = 0, end = 0;
  if (next == end) [[unlikely]] {
    next = unused.fetch_add(kIdsAtOnce, std::memory_order_relaxed);
    end = next + kIdsAtOnce;
  }
  return next++;
}

namespace {

constexpr size_t kTopHolders = 5;

// The number of a text in a table, remembered by where the text lies: names of operators lie always in one place.
class NumberCache {
 public:
  uint32_t number(TextTable& table, std::string_view text) {
    if (text.empty()) return 0;
    const uintptr_t place = reinterpret_cast<uintptr_t>(text.data());
    Entry& entry = entries_[(place >> 3 ^ place >> 9) % entries_.size()];
    if (entry.table != &table || entry.text != text) [[unlikely]] {
      const uint32_t number = table.number(text);
      entry = {&table, table.text(number), number};
    }
    return entry.number;
  }

 private:
  struct Entry {
    const TextTable* table = nullptr;
    std::string_view text;
    uint32_t number = 0;
  };
  std::array<Entry, 128> entries_;
};

// Reads the annotations of the thread from within.
void write_origin(StorageOrigin& origin) {
  static constinit thread_local NumberCache cache;
  LedgerState& state = ledger_state();
  std::string_view op, label;
  bool in_module = false;
  for (const Annotation* a = thread_state().annotation; a; a = a->parent) {
    in_module |= a->kind == Annotation::Kind::kModule || a->kind == Annotation::Kind::kBackward;
    if (a->kind == Annotation::Kind::kBackward || (a->kind == Annotation::Kind::kOperator && op.empty())) op = a->text;
    if (a->kind == Annotation::Kind::kUser && label.empty()) label = a->text;
    if (a->kind == Annotation::Kind::kBackward) break;  // what lies outside called backward()
  }
  origin.sequence = thread_state().next_node;
  origin.op = cache.number(state.operators, op);
  origin.module = in_module ? current_module() : 0;
  origin.label = cache.number(state.labels, label);
  origin.epoch = state.epoch.load(std::memory_order_relaxed);
  origin.id = next_block_id();
}

// The largest groups of blocks, each of one category and place, with the path to its largest block.
std::string top_holders(const Allocator& source) {
  struct Group {
    int64_t bytes = 0;
    int blocks = 0;
    MemoryHolder first;
  };
  std::map<std::string, Group> groups;
  for (MemoryHolder& row : holder_rows(source, HolderGraph::Reach::kCareful)) {
    const std::string key = str_cat(memory_category_name(row.category), " ", row.module, " ", row.operator_name);
    Group& group = groups[key];
    group.bytes += row.bytes;
    if (++group.blocks == 1) group.first = std::move(row);
  }
  std::vector<Group> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::sort(sorted, [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  std::string text = "\nTop holders:";
  for (size_t i = 0; i < std::min(sorted.size(), kTopHolders); ++i) {
    const Group& group = sorted[i];
    text += str_cat("\n  ", format_bytes(group.bytes), " in ", group.blocks,
                    group.blocks == 1 ? " block, " : " blocks, ", memory_category_name(group.first.category));
    if (!group.first.path.empty()) text += ": " + group.first.path;
    if (!group.first.module.empty()) text += " (" + group.first.module + ")";
  }
  return text;
}

class Hook final : public Ledger {
 public:
  void allocated(Storage& storage) noexcept override try {
    StorageOrigin& origin = storage.origin();
    write_origin(origin);
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire)) {
      listener->allocated(origin, *storage.source(), storage.block(), storage.stream(), false);
      origin.wants_description = true;
    }
  } catch (const std::bad_alloc&) {
    storage.origin().id = 0;
  }

  void described(const TensorImpl& tensor) noexcept override try {
    tensor.storage->origin().wants_description = false;
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire))
      listener->described(tensor.storage->origin().id, tensor);
  } catch (const std::bad_alloc&) {
  }

  void named(const TensorImpl& tensor) noexcept override try {
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire))
      listener->named(tensor.storage->origin().id, tensor);
  } catch (const std::bad_alloc&) {
  }

  void freed(Storage& storage) noexcept override try {
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire))
      listener->freed(storage.origin().id, storage.roles());
  } catch (const std::bad_alloc&) {
  }

  void workspace_allocated(Allocator& source, const Block& block, const Stream& stream) noexcept override try {
    WorkspaceBlock workspace{&source, block, {}};
    write_origin(workspace.origin);
    {
      std::lock_guard lock(state_.mutex);
      state_.workspaces.push_back(workspace);
    }
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire))
      listener->allocated(workspace.origin, source, block, stream, true);
  } catch (const std::bad_alloc&) {
  }

  void workspace_freed(const Block& block) noexcept override try {
    uint64_t id = 0;
    {
      std::lock_guard lock(state_.mutex);
      const auto found = std::ranges::find_if(
          state_.workspaces, [&](const WorkspaceBlock& workspace) { return workspace.block.data == block.data; });
      if (found == state_.workspaces.end()) return;
      id = found->origin.id;
      state_.workspaces.erase(found);
    }
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire)) listener->freed(id, 0);
  } catch (const std::bad_alloc&) {
  }

  std::string out_of_memory(Device device, int64_t bytes, const Allocator& source,
                            const std::string& error) noexcept override try {
    if (!is_ledger_enabled()) return "; VELLUM_LEDGER=1 in the environment names what holds memory";
    const std::string text = top_holders(source);
    if (thread_state().mode & kModeDryRun) return text;  // nothing has happened but in a question
    if (BlockListener* listener = state_.listener.load(std::memory_order_acquire))
      listener->out_of_memory(source, bytes, error + text);
    if (void (*const then)(Device, const Allocator&) = state_.at_out_of_memory.load()) then(device, source);
    return text;
  } catch (const std::exception&) {
    return "";  // the error itself must come through
  }

  void set_listener(BlockListener* listener) {
    state_.listener.store(listener, std::memory_order_release);
    hears_of_frees_.store(listener != nullptr, std::memory_order_relaxed);
  }

 private:
  LedgerState& state_ = ledger_state();
};

// Never destroyed: tensors may outlive any static object.
Hook& hook() {
  static Hook& instance = *new Hook;
  return instance;
}

[[maybe_unused]] const bool kInstalled = [] {
  hooks().ledger = &hook();
  const char* wanted = std::getenv("VELLUM_LEDGER");
  if (wanted && std::string_view(wanted) == "1") set_ledger_enabled(true);
  return true;
}();

}  // namespace

void set_block_listener(BlockListener* listener) { hook().set_listener(listener); }

}  // namespace internal

bool is_ledger_enabled() { return thread_state().mode & kModeLedger; }

void set_ledger_enabled(bool on) {
  uint32_t& mode = thread_state().mode;
  mode = on ? mode | kModeLedger : mode & ~uint32_t{kModeLedger};
}

}  // namespace vellum
