// The file of a snapshot: JSON, version 1. Texts are kept in tables, and rows refer to them.

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "vellum/allocator/memory.h"
#include "vellum/device/atomic_file.h"
#include "vellum/device/error.h"
#include "vellum/device/text_table.h"
#include "vellum/memory/internal/holder_graph.h"
#include "vellum/memory/internal/holder_rows.h"
#include "vellum/memory/internal/recording.h"

namespace vellum::internal {
namespace {

// What is not UTF-8 in a text becomes U+FFFD.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(const void* address) { return std::to_string(reinterpret_cast<uintptr_t>(address)); }

std::string microseconds(double time) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", time);
  return text;
}

// The numbers that a table of the process has, as those of a table of the file, which has only what is referred to.
class FileTable {
 public:
  size_t number(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  std::string json() const {
    std::string text = "[";
    for (const std::string& entry : texts_) text += (text.size() > 1 ? "," : "") + json_string(entry);
    return text + "]";
  }

 private:
  std::map<std::string, size_t> numbers_{{"", 0}};
  std::vector<std::string> texts_{""};
};

struct LiveHolder {
  MemoryCategory category;
  std::string path;
  std::string name;
};

// Tells the segments, and which block of the snapshot lies where.
class SegmentWriter final : public SegmentVisitor {
 public:
  SegmentWriter(const absl::flat_hash_map<const void*, uint64_t>& ids, std::string* json) : ids_(ids), json_(*json) {}

  void segment(const SegmentInfo& segment) override {
    close();
    json_ += str_cat(any_segment_ ? ",\n" : "", "{\"address\":", number(segment.data), ",\"bytes\":", segment.bytes,
                     ",\"stream\":", segment.stream.handle, ",\"blocks\":[");
    any_segment_ = is_open_ = true;
    any_block_ = false;
  }
  void block(const BlockInfo& block) override {
    static constexpr const char* kStates[] = {"active", "pending", "cached"};
    const auto found = block.state == BlockInfo::State::kCached ? ids_.end() : ids_.find(block.data);
    json_ += str_cat(any_block_ ? "," : "", "{\"address\":", number(block.data), ",\"bytes\":", block.bytes,
                     ",\"requested\":", block.requested, ",\"state\":\"", kStates[static_cast<size_t>(block.state)],
                     "\",\"block\":", found == ids_.end() ? 0 : found->second, "}");
    any_block_ = true;
  }
  void close() {
    if (std::exchange(is_open_, false)) json_ += "]}";
  }

 private:
  const absl::flat_hash_map<const void*, uint64_t>& ids_;
  std::string& json_;
  bool any_segment_ = false, any_block_ = false, is_open_ = false;
};

std::string stat_json(const MemoryStat& stat) {
  return str_cat("{\"current\":", stat.current, ",\"peak\":", stat.peak, ",\"allocated\":", stat.allocated,
                 ",\"freed\":", stat.freed, "}");
}

std::string stats_json(const MemoryStats& stats) {
  return str_cat("{\"requested\":", stat_json(stats.requested), ",\"active\":", stat_json(stats.active),
                 ",\"reserved\":", stat_json(stats.reserved), ",\"split\":", stat_json(stats.split),
                 ",\"allocations\":", stats.allocations, ",\"frees\":", stats.frees,
                 ",\"upstream_allocations\":", stats.upstream_allocations, ",\"upstream_frees\":", stats.upstream_frees,
                 ",\"largest_free\":", stats.largest_free, "}");
}

class SnapshotWriter {
 public:
  SnapshotWriter(Device device, const Allocator& source, RecordedBlocks recorded, HolderGraph::Reach reach)
      : device_(device), source_(source), recorded_(std::move(recorded)) {
    HolderGraph graph(reach);
    add_holders(graph);
    add_pending();
    add_rest();
  }

  void write(AtomicFile& file) {
    std::string blocks, events, segments, holders;
    for (const RecordedBlock& record : sorted_blocks()) append(&blocks, block_row(record));
    for (const MemoryEvent& event : recorded_.events)
      if (event.source == &source_) append(&events, event_row(event));
    absl::flat_hash_map<const void*, uint64_t> ids;
    for (const auto& [id, record] : recorded_.live)
      if (record.source == &source_ && record.data) ids[record.data] = id;
    SegmentWriter segment_writer(ids, &segments);
    source_.visit_segments(segment_writer);
    segment_writer.close();
    for (const auto& [id, holder] : holders_)
      append(&holders, str_cat("[", id, ",\"", memory_category_name(holder.category), "\",", json_string(holder.path),
                               ",", recorded_.live[id].bytes, "]"));
    put(file, str_cat("{\"version\":1,\"program\":\"vellum\",\"device\":\"", device_type_name(device_.type), ":",
                      int{device_.index}, "\",\"strategy\":", json_string(source_.name()),
                      ",\n\"stats\":", stats_json(source_.stats()), ",\n\"categories\":", categories(),
                      ",\n\"operators\":", operators_.json(), ",\n\"modules\":", modules_.json(),
                      ",\n\"blocks\":{\"columns\":[\"id\",\"address\",\"bytes\",",
                      "\"requested\",\"category\",\"operator\",\"module\",\"sequence\",\"dtype\",\"shape\",\"name\",",
                      "\"allocated_us\",\"freed_us\",\"stream\"],\n\"rows\":[\n"));
    put(file, blocks);
    put(file, "]},\n\"events\":{\"columns\":[\"time_us\",\"action\",\"block\",\"address\",\"bytes\"],\n\"rows\":[\n");
    put(file, events);
    put(file, str_cat("]},\n\"dropped_events\":", recorded_.dropped, ",\n\"segments\":[\n"));
    put(file, segments);
    put(file, "],\n\"holders\":{\"columns\":[\"block\",\"category\",\"path\",\"bytes\"],\n\"rows\":[\n");
    put(file, holders);
    put(file, "]},\n\"oom\":" + out_of_memory() + "}\n");
  }

 private:
  static void append(std::string* list, const std::string& row) { *list += (list->empty() ? "" : ",\n") + row; }
  static void put(AtomicFile& file, std::string_view text) { file.write(text); }

  // Live blocks get their holders, and those that nobody recorded a record.
  void add_holders(HolderGraph& graph) {
    for (const HolderGraph::Held& block : graph.blocks()) {
      const Storage& storage = *block.storage;
      if (storage.source() != &source_) continue;
      MemoryHolder row = graph.row(block);
      const StorageOrigin& origin = storage.origin();
      const uint64_t id = origin.id ? origin.id : next_block_id();
      RecordedBlock& record = recorded_.live[id];
      if (!record.id) {
        record.id = id;
        record.source = &source_;
        record.stream = storage.stream();
        record.data = row.data;
        record.bytes = row.bytes;
        record.requested = storage.bytes();
        if (origin.id) {
          record.op = origin.op;
          record.module = origin.module;
          record.sequence = origin.sequence;
        }
      }
      if (record.dtype == DType::kUndefined) {
        record.dtype = row.dtype;
        record.shape = row.shape;
      }
      record.category = telling(block.category, storage.roles());
      holders_[id] = {block.category, std::move(row.path), std::move(row.name)};
    }
  }

  void add_pending() {
    for (const BlockInfo& block : pending_blocks(source_)) {
      RecordedBlock record;
      record.id = next_block_id();
      record.source = &source_;
      record.stream.device = device_;
      record.data = block.data;
      record.bytes = static_cast<int64_t>(block.bytes);
      record.category = MemoryCategory::kPending;
      recorded_.live[record.id] = record;
    }
  }

  // Blocks whose holders are no tensors, and what the ledger does not know: all together make what is in use.
  void add_rest() {
    RecordedBlock untracked;
    int64_t rest = source_.stats().active.current;
    std::vector<uint64_t> replaced;
    for (const auto& [id, record] : recorded_.live) {
      if (record.source != &source_) continue;
      if (record.category == MemoryCategory::kUntracked) {
        untracked = record;
        replaced.push_back(id);
        continue;
      }
      if (!holders_.contains(id)) holders_[id] = {record.category, "", ""};
      rest -= record.bytes;
    }
    for (const uint64_t id : replaced) recorded_.live.erase(id);
    if (rest <= 0) return;
    if (!untracked.id) untracked.id = next_block_id();
    untracked.source = &source_;
    untracked.category = MemoryCategory::kUntracked;
    untracked.bytes = rest;
    holders_[untracked.id] = {untracked.category, "", ""};
    recorded_.live[untracked.id] = untracked;
  }

  // What a block ever was says more than that a variable or an operator holds it now.
  static MemoryCategory telling(MemoryCategory now, uint8_t roles) {
    const MemoryCategory ever = category_of_roles(roles);
    const bool is_role =
        now == MemoryCategory::kParameter || now == MemoryCategory::kBuffer || now == MemoryCategory::kOptimizerState;
    if (is_role || ever == MemoryCategory::kUser) return now;
    return now == MemoryCategory::kGradient && ever == MemoryCategory::kSaved ? now : ever;
  }

  // In the order in which they were allocated.
  std::vector<RecordedBlock> sorted_blocks() const {
    std::vector<RecordedBlock> all;
    for (const RecordedBlock& record : recorded_.ended)
      if (record.source == &source_) all.push_back(record);
    for (const auto& [id, record] : recorded_.live)
      if (record.source == &source_) all.push_back(record);
    std::ranges::sort(all, [](const RecordedBlock& a, const RecordedBlock& b) {
      return a.allocated != b.allocated ? a.allocated < b.allocated : a.id < b.id;
    });
    return all;
  }

  std::string block_row(const RecordedBlock& record) {
    std::string shape;
    for (const int64_t size : record.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    std::string name;
    if (const auto holder = holders_.find(record.id); holder != holders_.end()) name = holder->second.name;
    if (name.empty() && record.name) name = *record.name;
    const std::string_view dtype = record.dtype == DType::kUndefined ? "" : dtype_name(record.dtype);
    return str_cat("[", record.id, ",", number(record.data), ",", record.bytes, ",", record.requested, ",",
                   static_cast<int>(record.category), ",", operators_.number(ledger_state().operators.text(record.op)),
                   ",", modules_.number(module_path(record.module)), ",", record.sequence, ",\"", dtype, "\",[", shape,
                   "],", json_string(name), ",", microseconds(record.allocated), ",",
                   record.freed < 0 ? "null" : microseconds(record.freed), ",", record.stream.handle, "]");
  }

  static std::string event_row(const MemoryEvent& event) {
    static constexpr const char* kActions[] = {"alloc",        "free",        "oom",          "segment_alloc",
                                               "segment_free", "segment_map", "segment_unmap"};
    return str_cat("[", microseconds(event.time), ",\"", kActions[static_cast<size_t>(event.action)], "\",",
                   event.block, ",", number(event.data), ",", event.bytes, "]");
  }

  static std::string categories() {
    std::string text = "[";
    for (int i = 0; i < kMemoryCategories; ++i)
      text += str_cat(i ? "," : "", "\"", memory_category_name(static_cast<MemoryCategory>(i)), "\"");
    return text + "]";
  }

  std::string out_of_memory() const {
    const OutOfMemory& oom = recorded_.out_of_memory;
    if (oom.requested < 0 || oom.source != &source_) return "null";
    return str_cat("{\"requested\":", oom.requested, ",\"text\":", json_string(oom.text), "}");
  }

  const Device device_;
  const Allocator& source_;
  RecordedBlocks recorded_;
  std::map<uint64_t, LiveHolder> holders_;
  FileTable operators_, modules_;
};

}  // namespace

void write_snapshot(const std::string& path, Device device, const Allocator& source, RecordedBlocks recorded,
                    HolderGraph::Reach reach) {
  AtomicFile file(path);
  SnapshotWriter(device, source, std::move(recorded), reach).write(file);
  file.commit();
}

}  // namespace vellum::internal
