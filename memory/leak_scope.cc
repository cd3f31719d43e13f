#include "vellum/memory/leak_scope.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "vellum/allocator/memory.h"
#include "vellum/allocator/pinned.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/memory/internal/holder_graph.h"
#include "vellum/memory/internal/holder_rows.h"
#include "vellum/memory/internal/ledger_state.h"

namespace vellum {
namespace {

using internal::HolderGraph;

constexpr size_t kShown = 20;  // holders in a report's text

uint32_t next_epoch() { return internal::ledger_state().epoch.fetch_add(1, std::memory_order_relaxed) + 1; }

std::string amount(int64_t bytes, int64_t blocks) {
  return str_cat(format_bytes(bytes), " in ", blocks, blocks == 1 ? " block" : " blocks");
}

int64_t bytes_of(const HolderGraph::Held& block) {
  return static_cast<int64_t>(block.storage->source()->active_bytes(block.storage->block()));
}

// What a training loop keeps, however often it runs.
bool is_expected(const HolderGraph::Held& block, const internal::TensorImpl& t) {
  switch (block.category) {
    case MemoryCategory::kParameter:
    case MemoryCategory::kBuffer:
    case MemoryCategory::kOptimizerState:
      return true;
    case MemoryCategory::kGradient:
      return t.grad_fn == nullptr;
    default:
      return false;
  }
}

// A tensor that is data and no more.
bool is_plain(const HolderGraph::Held& block, const internal::TensorImpl& t) {
  return (block.category == MemoryCategory::kUser || block.category == MemoryCategory::kView) && !t.grad_fn;
}

}  // namespace

std::string LeakReport::text() const {
  if (empty()) return "";
  int64_t blocks = 0;
  for (const Leak& leak : leaks) blocks += leak.blocks;
  std::string text = str_cat("LeakScope", scope.empty() ? "" : " '" + scope + "'", ": ", amount(bytes, blocks),
                             blocks == 1 ? " outlives it\n" : " outlive it\n");
  const size_t shown = std::min(leaks.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    text += str_cat("  ", leaks[i].path, ", ", amount(leaks[i].bytes, leaks[i].blocks));
    if (leaks[i].nodes > 0) text += str_cat(", ", leaks[i].nodes, leaks[i].nodes == 1 ? " node" : " nodes");
    text += '\n';
  }
  if (shown < leaks.size()) text += str_cat("  and ", leaks.size() - shown, " more holders\n");
  for (const std::string& cycle : cycles)
    text += "  cycle: " + cycle + "; break it with set_grad({}) or zero_grad(), or take grad()\n";
  return text;
}

LeakScope::LeakScope(std::string name, std::function<void(const LeakReport&)> listener)
    : name_(std::move(name)),
      listener_(std::move(listener)),
      device_(current_device()),
      epoch_(next_epoch()),
      bytes_before_(live_bytes()) {}

LeakScope::~LeakScope() {
  try {
    const LeakReport found = report();
    next_epoch();
    if (found.empty()) return;
    if (listener_)
      listener_(found);
    else
      std::fputs(found.text().c_str(), stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "LeakScope '%s': no report could be made: %s\n", name_.c_str(), error.what());
  }
}

std::map<const Allocator*, int64_t> LeakScope::live_bytes() const {
  const Allocator* const counted[] = {&allocator(Device()), &allocator(device_), find_pinned_allocator(Device()),
                                      find_pinned_allocator(device_), find_pinned_allocator(default_pinning_device())};
  std::map<const Allocator*, int64_t> live;
  for (const Allocator* source : counted) {
    if (!source || live.contains(source)) continue;
    live[source] = source->stats().active.current;
    for (const BlockInfo& block : internal::pending_blocks(*source)) live[source] -= static_cast<int64_t>(block.bytes);
  }
  return live;
}

LeakReport LeakScope::report() const {
  LeakReport report{.scope = name_};
  HolderGraph graph;
  std::vector<HolderGraph::Held> outliving;
  std::vector<bool> within(graph.vertices().size());
  // Room that was there before and has become free: plain data may take its place.
  std::map<const Allocator*, int64_t> room = bytes_before_;
  for (const auto& [source, bytes] : live_bytes()) room[source] -= bytes;
  for (const HolderGraph::Held& block : graph.blocks()) {
    const StorageOrigin& origin = block.storage->origin();
    if (!origin.id || origin.epoch < epoch_) continue;
    outliving.push_back(block);
    if (const auto found = room.find(block.storage->source()); found != room.end()) found->second += bytes_of(block);
  }
  for (uint32_t v = 0; v < graph.vertices().size(); ++v)
    if (const internal::TensorImpl* t = graph.vertices()[v].tensor; t && t->storage)
      within[v] = t->storage->origin().id && t->storage->origin().epoch >= epoch_;
  struct Group {
    LeakReport::Leak leak;
    int64_t largest = -1;
  };
  std::map<uint32_t, Group> groups;
  for (const HolderGraph::Held& block : outliving) {
    const internal::TensorImpl& t = *graph.vertices()[block.vertex].tensor;
    const int64_t bytes = bytes_of(block);
    if (is_expected(block, t)) continue;
    if (int64_t& left = room[block.storage->source()]; is_plain(block, t) && bytes <= left) {
      left -= bytes;
      continue;
    }
    const bool is_saved = block.category == MemoryCategory::kSaved;
    Group& group = groups[graph.root_of(is_saved ? graph.vertices()[block.vertex].keeper : block.vertex)];
    ++group.leak.blocks;
    group.leak.bytes += bytes;
    report.bytes += bytes;
    if (bytes <= group.largest) continue;
    group.largest = bytes;
    group.leak.path = graph.path(block);
  }
  if (!groups.empty())
    for (uint32_t v = 0; v < graph.vertices().size(); ++v)
      if (graph.vertices()[v].node)
        if (const auto found = groups.find(graph.root_of(v)); found != groups.end()) ++found->second.leak.nodes;
  for (auto& [root, group] : groups) {
    group.leak.holder = graph.name_of(root);
    report.leaks.push_back(std::move(group.leak));
  }
  std::ranges::stable_sort(report.leaks, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  report.cycles = graph.cycles(within);
  return report;
}

}  // namespace vellum
