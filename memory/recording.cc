#include "vellum/memory/internal/recording.h"

#include <new>
#include <utility>

#include "vellum/allocator/memory.h"
#include "vellum/memory/internal/holder_graph.h"

namespace vellum::internal {
namespace {

RecordedBlock record_of(const StorageOrigin& origin, const Allocator& source, const Block& block,
                        const Stream& stream) {
  RecordedBlock record;
  record.id = origin.id;
  record.source = &source;
  record.stream = stream;
  record.data = block.data;
  record.bytes = static_cast<int64_t>(source.active_bytes(block));
  record.requested = static_cast<int64_t>(block.bytes);
  record.op = origin.op;
  record.module = origin.module;
  record.sequence = origin.sequence;
  return record;
}

void describe(RecordedBlock& record, const TensorImpl& tensor) {
  record.dtype = tensor.dtype;
  record.shape = Dims(tensor.shape_span());
}

// What a view is called tells less of the block than what the whole is.
void take_name(RecordedBlock& record, const TensorImpl& tensor) {
  if (!tensor.name || tensor.name->empty() || (tensor.base && record.name)) return;
  if (!record.name || *record.name != *tensor.name) record.name = std::make_shared<const std::string>(*tensor.name);
}

MemoryEvent::Action action_of(SegmentChange change) {
  switch (change) {
    case SegmentChange::kAllocated:
      return MemoryEvent::Action::kSegmentAlloc;
    case SegmentChange::kFreed:
      return MemoryEvent::Action::kSegmentFree;
    case SegmentChange::kMapped:
      return MemoryEvent::Action::kSegmentMap;
    case SegmentChange::kUnmapped:
      return MemoryEvent::Action::kSegmentUnmap;
  }
  __builtin_unreachable();
}

}  // namespace

MemoryCategory category_of_roles(uint8_t roles) {
  static constexpr std::pair<MemoryRole, MemoryCategory> kMostTellingFirst[] = {
      {MemoryRole::kParameter, MemoryCategory::kParameter},
      {MemoryRole::kBuffer, MemoryCategory::kBuffer},
      {MemoryRole::kOptimizerState, MemoryCategory::kOptimizerState},
      {MemoryRole::kGradient, MemoryCategory::kGradient},
      {MemoryRole::kSaved, MemoryCategory::kSaved}};
  for (const auto& [role, category] : kMostTellingFirst)
    if (roles >> static_cast<unsigned>(role) & 1) return category;
  return MemoryCategory::kUser;
}

double Recording::now() const {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
}

void Recording::add(MemoryEvent event) {
  blocks_.events.push_back(event);
  if (blocks_.events.size() <= max_events_) return;
  blocks_.events.pop_front();
  ++blocks_.dropped;
}

void Recording::note_present() {
  HolderGraph graph;
  std::vector<RecordedBlock> present;
  absl::flat_hash_map<const Allocator*, int64_t> known;
  known[&allocator(Device())] = 0;
  for (const HolderGraph::Held& block : graph.blocks()) {
    Storage& storage = *block.storage;
    // A block from before the ledger, which is to tell when it is freed.
    if (!storage.origin().id) storage.origin() = {next_block_id(), 0, 0, 0, 0, 0, false};
    RecordedBlock record = record_of(storage.origin(), *storage.source(), storage.block(), storage.stream());
    describe(record, *graph.vertices()[block.vertex].tensor);
    take_name(record, *graph.vertices()[block.vertex].tensor);
    known[storage.source()] += record.bytes;
    present.push_back(std::move(record));
  }
  for (const auto& [source, bytes] : known) {
    RecordedBlock rest;
    rest.id = next_block_id();
    rest.source = source;
    rest.bytes = source->stats().active.current - bytes;
    rest.category = MemoryCategory::kUntracked;
    if (rest.bytes > 0) present.push_back(std::move(rest));
  }
  std::lock_guard lock(mutex_);
  for (RecordedBlock& record : present) blocks_.live.try_emplace(record.id, std::move(record));
}

void Recording::allocated(const StorageOrigin& origin, Allocator& source, const Block& block, const Stream& stream,
                          bool is_workspace) {
  RecordedBlock record = record_of(origin, source, block, stream);
  if (is_workspace) record.category = MemoryCategory::kWorkspace;
  std::lock_guard lock(mutex_);
  record.allocated = now();
  add({record.allocated, MemoryEvent::Action::kAlloc, &source, record.id, record.data, record.bytes});
  blocks_.live.try_emplace(record.id, std::move(record));
}

void Recording::described(uint64_t id, const TensorImpl& tensor) {
  std::lock_guard lock(mutex_);
  if (const auto found = blocks_.live.find(id); found != blocks_.live.end()) describe(found->second, tensor);
}

void Recording::named(uint64_t id, const TensorImpl& tensor) {
  std::lock_guard lock(mutex_);
  if (const auto found = blocks_.live.find(id); found != blocks_.live.end()) take_name(found->second, tensor);
}

void Recording::freed(uint64_t id, uint8_t roles) {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.live.find(id);
  if (found == blocks_.live.end()) return;  // older, and held by nothing that was known
  RecordedBlock record = std::move(found->second);
  blocks_.live.erase(found);
  record.freed = now();
  if (record.category != MemoryCategory::kWorkspace) record.category = category_of_roles(roles);
  add({record.freed, MemoryEvent::Action::kFree, record.source, id, record.data, record.bytes});
  blocks_.ended.push_back(std::move(record));
  if (blocks_.ended.size() > max_events_) blocks_.ended.pop_front();
}

void Recording::out_of_memory(const Allocator& source, int64_t bytes, const std::string& text) {
  std::lock_guard lock(mutex_);
  add({now(), MemoryEvent::Action::kOutOfMemory, &source, 0, nullptr, bytes});
  blocks_.out_of_memory = {&source, bytes, text};
}

void Recording::segment_changed(const Allocator& source, SegmentChange change, const void* data,
                                size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  try {
    add({now(), action_of(change), &source, 0, data, static_cast<int64_t>(bytes)});
  } catch (const std::bad_alloc&) {
    ++blocks_.dropped;
  }
}

RecordedBlocks Recording::blocks() const {
  std::lock_guard lock(mutex_);
  return blocks_;
}

void Recording::clear() {
  std::lock_guard lock(mutex_);
  blocks_ = {};
}

}  // namespace vellum::internal
