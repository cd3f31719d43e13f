#include "vellum/memory/ledger.h"

#include <algorithm>
#include <map>

#include "vellum/allocator/memory.h"
#include "vellum/device/error.h"
#include "vellum/device/text_table.h"
#include "vellum/memory/internal/holder_rows.h"
#include "vellum/memory/internal/ledger_state.h"

namespace vellum {
namespace internal {
namespace {

class PendingBlocks final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo&) override {}
  void block(const BlockInfo& block) override {
    if (block.state == BlockInfo::State::kPending) found.push_back(block);
  }

  std::vector<BlockInfo> found;
};

void add_workspaces(const Allocator& source, std::vector<MemoryHolder>& rows) {
  LedgerState& state = ledger_state();
  std::lock_guard lock(state.mutex);
  for (const WorkspaceBlock& workspace : state.workspaces)
    if (workspace.source == &source) rows.push_back(workspace_row(workspace.origin, source, workspace.block));
}

}  // namespace

std::vector<BlockInfo> pending_blocks(const Allocator& source) {
  PendingBlocks pending;
  source.visit_segments(pending);
  return std::move(pending.found);
}

MemoryHolder workspace_row(const StorageOrigin& origin, const Allocator& source, const Block& block) {
  MemoryHolder row;
  row.category = MemoryCategory::kWorkspace;
  row.bytes = static_cast<int64_t>(source.active_bytes(block));
  row.data = block.data;
  row.module = module_path(origin.module);
  row.operator_name = ledger_state().operators.text(origin.op);
  row.label = ledger_state().labels.text(origin.label);
  row.sequence = origin.sequence;
  row.path = str_cat(row.operator_name, "#", row.sequence, ".workspace");
  return row;
}

std::string module_of_label(std::string_view label, int parts) {
  for (; parts > 0; --parts) {
    const size_t dot = label.rfind('.');
    label = dot == std::string_view::npos ? "" : label.substr(0, dot);
  }
  return std::string(label);
}

std::vector<MemoryHolder> holder_rows(const Allocator& source, HolderGraph::Reach reach) {
  std::vector<MemoryHolder> rows;
  HolderGraph graph(reach);
  for (const HolderGraph::Held& block : graph.blocks())
    if (block.storage->source() == &source) rows.push_back(graph.row(block));
  add_workspaces(source, rows);
  for (const BlockInfo& block : pending_blocks(source)) {
    MemoryHolder& row = rows.emplace_back();
    row.category = MemoryCategory::kPending;
    row.bytes = static_cast<int64_t>(block.bytes);
    row.data = block.data;
  }
  int64_t rest = source.stats().active.current;
  for (const MemoryHolder& row : rows) rest -= row.bytes;
  if (rest != 0) {
    MemoryHolder untracked;
    untracked.category = MemoryCategory::kUntracked;
    untracked.bytes = rest;
    rows.push_back(std::move(untracked));
  }
  std::ranges::stable_sort(rows, [](const MemoryHolder& a, const MemoryHolder& b) { return a.bytes > b.bytes; });
  return rows;
}

}  // namespace internal

std::string_view memory_category_name(MemoryCategory category) {
  static constexpr std::string_view kNames[kMemoryCategories] = {"other",           "parameter", "buffer",   "gradient",
                                                                 "optimizer_state", "saved",     "view",     "user",
                                                                 "workspace",       "pending",   "untracked"};
  return kNames[static_cast<size_t>(category)];
}

std::vector<MemoryHolder> memory_holders(Device device) {
  return internal::holder_rows(allocator(device), internal::HolderGraph::Reach::kAll);
}

std::vector<ModuleMemory> memory_by_module(Device device) {
  std::map<std::string, ModuleMemory> modules;
  for (const MemoryHolder& row : memory_holders(device)) {
    ModuleMemory& module = modules[row.module];
    module.bytes += row.bytes;
    module.by_category[static_cast<size_t>(row.category)] += row.bytes;
  }
  std::vector<ModuleMemory> list;
  for (auto& [path, module] : modules) {
    module.module = path;
    list.push_back(std::move(module));
  }
  return list;
}

std::string memory_holders_table(Device device, int rows) {
  if (rows < 0) throw_error<InvalidArgumentError>("memory_holders_table: rows must be 0 or more, not ", rows);
  const std::vector<MemoryHolder> holders = memory_holders(device);
  int64_t totals[kMemoryCategories] = {}, counts[kMemoryCategories] = {}, total = 0;
  for (const MemoryHolder& row : holders) {
    totals[static_cast<size_t>(row.category)] += row.bytes;
    ++counts[static_cast<size_t>(row.category)];
    total += row.bytes;
  }
  std::string text = str_cat("Memory of ", device, " by holder: ", format_bytes(total), "\n");
  char line[96];
  for (int i = 0; i < kMemoryCategories; ++i) {
    if (counts[i] == 0) continue;
    const std::string name(memory_category_name(static_cast<MemoryCategory>(i)));
    std::snprintf(line, sizeof line, "%-16s %12s %8lld blocks\n", name.c_str(), format_bytes(totals[i]).c_str(),
                  static_cast<long long>(counts[i]));
    text += line;
  }
  const size_t shown = std::min(holders.size(), static_cast<size_t>(rows));
  if (shown > 0) text += "\nLargest blocks\n";
  for (size_t i = 0; i < shown; ++i) {
    const MemoryHolder& row = holders[i];
    const std::string name(memory_category_name(row.category));
    std::snprintf(line, sizeof line, "%12s  %-15s  ", format_bytes(row.bytes).c_str(), name.c_str());
    text += line + row.path;
    if (row.dtype != DType::kUndefined) text += str_cat(", ", row.dtype, row.shape);
    if (!row.module.empty()) text += ", in " + row.module;
    text += '\n';
  }
  return text;
}

}  // namespace vellum
