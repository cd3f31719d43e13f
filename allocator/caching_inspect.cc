// What the heap tells of itself: statistics, snapshots, and whether its lists are in order.

#include <algorithm>

#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/request.h"
#include "vellum/device/error.h"

namespace vellum::internal {
namespace {

BlockInfo describe(const BlockRecord* record) {
  const size_t requested = record->requested.load(std::memory_order_relaxed);
  BlockInfo info{record->data, record->bytes, requested, BlockInfo::State::kCached};
  if (record->state == BlockState::kPending) info.state = BlockInfo::State::kPending;
  if (requested > 0) info.state = BlockInfo::State::kActive;
  return info;
}

bool is_unmapped(const BlockRecord* record) { return record->state == BlockState::kUnmapped; }

// The bytes from `record` to the next that is unmapped.
size_t mapped_run(const BlockRecord* record) {
  size_t bytes = 0;
  for (; record && !is_unmapped(record); record = record->after) bytes += record->bytes;
  return bytes;
}

}  // namespace

void CachingHeap::add_stats(MemoryStats* stats) const {
  std::lock_guard lock(mutex_);
  stats->reserved = stats_.reserved;
  stats->split = stats_.split;
  stats->upstream_allocations = stats_.upstream_allocations;
  stats->upstream_frees = stats_.upstream_frees;
  if (options_.memory_limit != CachingOptions::kUnlimited) stats->limit = static_cast<int64_t>(options_.memory_limit);
  for (const FreeSet* free : {&small_, &large_})
    for (const BlockRecord* record : *free)
      stats->largest_free = std::max(stats->largest_free, static_cast<int64_t>(record->bytes));
}

void CachingHeap::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  reset_peaks(stats_.reserved, stats_.split);
}

void CachingHeap::observe(SegmentObserver* observer, const Allocator& source) noexcept {
  std::lock_guard lock(mutex_);
  segment_report_.set_observer(observer, source);
}

void CachingHeap::visit(SegmentVisitor& visitor) const {
  std::lock_guard lock(mutex_);
  for (const Segment& segment : segments_) {
    bool inside = false;
    for (const BlockRecord* record = segment.first; record; record = record->after) {
      if (!is_unmapped(record)) {
        if (!inside) visitor.segment({record->data, mapped_run(record), segment.stream});
        visitor.block(describe(record));
      }
      inside = !is_unmapped(record);
    }
  }
}

std::string CachingHeap::check_segment(const Segment& segment) const {
  size_t bytes = 0, held = 0, free = 0;
  const BlockRecord* before = nullptr;
  for (const BlockRecord* record = segment.first; record; before = record, record = record->after) {
    const auto fault = [&](const char* what) { return str_cat("block at ", record->data, ": ", what); };
    const bool is_free = record->state == BlockState::kFree, in_set = is_free || is_unmapped(record);
    if (record->segment != &segment || record->before != before) return fault("is linked wrongly");
    if (record->bytes == 0 || record->bytes % kClassStep != 0) return fault("has a size that is none");
    if (segment.memory.data && record->data != advance(segment.memory.data, bytes)) return fault("leaves a gap");
    if (in_set != record->node.empty()) return fault("has its node in the wrong place");
    if (in_set && record->requested != 0) return fault("is free and in use");
    if (record->state == BlockState::kPending && record->unfinished == 0) return fault("waits for nothing");
    if (before && before->state == record->state && in_set &&
        (is_unmapped(record) || before->stream.handle == record->stream.handle))
      return fault("is not merged with the one before");
    auto* key = const_cast<BlockRecord*>(record);
    const FreeSet& set = segment.small ? small_ : large_;
    if (is_free && (!set.contains(key) || *set.find(key) != record)) return fault("is missing among the free");
    if (is_unmapped(record) && !unmapped_.contains(key)) return fault("is missing among the unmapped");
    bytes += record->bytes;
    held += is_unmapped(record) ? 0 : record->bytes;
    free += is_free ? record->bytes : 0;
  }
  if (bytes != segment.bytes || held != segment.held || free != segment.free)
    return str_cat("segment at ", segment.memory.data, ": its blocks do not add up");
  return {};
}

std::string CachingHeap::check_invariants() const {
  std::lock_guard lock(mutex_);
  size_t held = 0, free = 0, unmapped = 0, pending = 0;
  for (const Segment& segment : segments_) {
    if (std::string fault = check_segment(segment); !fault.empty()) return fault;
    held += segment.held;
    for (const BlockRecord* record = segment.first; record; record = record->after) {
      free += record->state == BlockState::kFree;
      unmapped += is_unmapped(record);
      pending += record->state == BlockState::kPending;
    }
  }
  if (free != small_.size() + large_.size()) return "the free sets hold blocks that are not free";
  if (unmapped != unmapped_.size()) return "the unmapped set holds blocks that are mapped";
  if (pending != uses_.pending()) return "the pending blocks do not add up";
  if (static_cast<int64_t>(held) != stats_.reserved.current || held != claimed_) return "reserved does not add up";
  if (claimed_ > options_.memory_limit) return "more is held than memory_limit allows";
  return {};
}

}  // namespace vellum::internal
