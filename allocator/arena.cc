#include "vellum/allocator/arena.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vellum/allocator/arena_scope.h"
#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/allocator/step_record.h"

namespace vellum {

using internal::ArenaScopeBase;
using internal::StepRecord;

namespace {

size_t occupied(size_t bytes) { return internal::round_up(bytes, kDefaultAlignment); }

uintptr_t address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

uint64_t next_id() {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// By how much more this thread got from an arena than the arena's upstream counted.
int64_t& beyond_upstream(uint64_t arena) {
  thread_local std::map<uint64_t, int64_t> bytes;
  return bytes[arena];
}

}  // namespace

ArenaAllocator::ArenaAllocator(std::unique_ptr<Allocator> upstream, ArenaOptions options)
    : upstream_(std::move(upstream)), options_(options), id_(next_id()) {}

Status ArenaAllocator::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (ArenaScopeBase* scope = ArenaScopeBase::innermost(stream.device); scope && bytes > 0) [[unlikely]]
    return scope->allocate(*this, bytes, alignment, stream, out);
  return allocate_upstream(bytes, alignment, stream, out);
}

Status ArenaAllocator::allocate_upstream(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (const Status status = upstream_->allocate(bytes, alignment, stream, out); !status.ok()) return status;
  allocations_.fetch_add(1, std::memory_order_relaxed);
  requested_.increase(static_cast<int64_t>(bytes));
  active_.increase(static_cast<int64_t>(upstream_->active_bytes(*out)));
  return ok_status();
}

void ArenaAllocator::deallocate(const Block& block, const Stream& stream) noexcept {
  if (is_watched() && deallocate_piece(block, stream)) return;
  frees_.fetch_add(1, std::memory_order_relaxed);
  requested_.decrease(static_cast<int64_t>(block.bytes));
  active_.decrease(static_cast<int64_t>(upstream_->active_bytes(block)));
  upstream_->deallocate(block, stream);
}

void ArenaAllocator::record_stream(const Block& block, const Stream& stream) noexcept {
  if (is_watched()) {
    std::lock_guard lock(mutex_);
    if (Region* region = find(block.data)) {
      if (stream == region->stream) return;
      region->crossed = true;
      return upstream_->record_stream(region->block, stream);
    }
    for (StepRecord* record : records_) record->crossed(block.data);
  }
  upstream_->record_stream(block, stream);
}

// Upstream hands the memory of the stream to the default stream; so do regions, which go back later.
void ArenaAllocator::release_stream(const Stream& stream) noexcept {
  upstream_->release_stream(stream);
  std::lock_guard lock(mutex_);
  for (const auto& [address, region] : regions_)
    if (region->stream == stream && stream.handle != 0) {
      region->stream = Stream{stream.device};
      region->former = stream.handle;
    }
}

// Whether the block was a piece. If not, the records have heard of it.
bool ArenaAllocator::deallocate_piece(const Block& block, const Stream& stream) noexcept {
  std::unique_ptr<Region> unused;
  {
    std::lock_guard lock(mutex_);
    Region* region = find(block.data);
    if (!region) {
      for (StepRecord* record : records_) record->freed(block.data, stream);
      return false;
    }
    const auto piece = region->pieces.find(address_of(block.data) - address_of(region->block.data));
    if (piece == region->pieces.end()) internal::die_of_double_free("ArenaAllocator", block);
    region->pieces.erase(piece);
    if (options_.host_accessible) internal::poison(block.data, occupied(block.bytes));
    // A piece may be freed on the stream that it was made for after the end of that, of which nothing may be asked.
    if (stream != region->stream && stream.handle != region->former) {
      region->crossed = true;
      upstream_->record_stream(region->block, stream);
    }
    unused = take_if_unused(region);
  }
  frees_.fetch_add(1, std::memory_order_relaxed);
  requested_.decrease(static_cast<int64_t>(block.bytes));
  active_.decrease(static_cast<int64_t>(occupied(block.bytes)));
  if (unused) return_to_upstream(std::move(unused));
  return true;
}

Status ArenaAllocator::allocate_recorded(StepRecord& record, size_t bytes, size_t alignment, const Stream& stream,
                                         Block* out) noexcept {
  if (const Status status = allocate_upstream(bytes, alignment, stream, out); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  record.allocated(*out, alignment, stream);
  return ok_status();
}

void ArenaAllocator::watch(StepRecord& record) {
  std::lock_guard lock(mutex_);
  records_.push_back(&record);
  watched_.fetch_add(1, std::memory_order_release);
}

void ArenaAllocator::unwatch(StepRecord& record) noexcept {
  std::lock_guard lock(mutex_);
  if (std::erase(records_, &record)) watched_.fetch_sub(1, std::memory_order_release);
}

Status ArenaAllocator::open(size_t bytes, const Stream& stream, bool reused, Region** out) noexcept try {
  int64_t& beyond = beyond_upstream(id_);
  auto region = std::make_unique<Region>();
  if (const Status status = upstream_->allocate(bytes, kDefaultAlignment, stream, &region->block); !status.ok())
    return status;
  beyond -= static_cast<int64_t>(upstream_->active_bytes(region->block));
  region->stream = stream;
  region->reused = reused;
  region->active = upstream_->active_bytes(region->block);
  const Block block = region->block;
  try {
    std::lock_guard lock(mutex_);
    *out = regions_.emplace(address_of(block.data), std::move(region)).first->second.get();
  } catch (const std::bad_alloc&) {
    upstream_->deallocate(block, stream);
    return internal::kNoRecords;
  }
  watched_.fetch_add(1, std::memory_order_release);
  if (options_.host_accessible) internal::poison(block.data, block.bytes);
  return ok_status();
} catch (const std::bad_alloc&) {
  return internal::kNoRecords;
}

void ArenaAllocator::close(Region* region) noexcept {
  std::unique_ptr<Region> unused;
  {
    std::lock_guard lock(mutex_);
    region->held = false;
    unused = take_if_unused(region);
  }
  if (unused) return_to_upstream(std::move(unused));
}

ArenaAllocator::Placed ArenaAllocator::place(Region& region, const Stream& stream, size_t offset, size_t bytes,
                                             Block* out) noexcept try {
  {
    std::lock_guard lock(mutex_);
    if (region.stream != stream) return Placed::kEnded;
    if (region.reused && region.crossed) return Placed::kCrossed;
    const auto above = region.pieces.lower_bound(offset);
    if (above != region.pieces.end() && above->first < offset + occupied(bytes)) return Placed::kTaken;
    if (above != region.pieces.begin()) {
      const auto& [below, below_bytes] = *std::prev(above);
      if (below + occupied(below_bytes) > offset) return Placed::kTaken;
    }
    int64_t& beyond = beyond_upstream(id_);
    region.pieces.emplace_hint(above, offset, bytes);
    beyond += static_cast<int64_t>(occupied(bytes));
  }
  *out = {static_cast<char*>(region.block.data) + offset, bytes, nullptr};
  if (options_.host_accessible) internal::unpoison(out->data, bytes);
  allocations_.fetch_add(1, std::memory_order_relaxed);
  requested_.increase(static_cast<int64_t>(bytes));
  active_.increase(static_cast<int64_t>(occupied(bytes)));
  return Placed::kDone;
} catch (const std::bad_alloc&) {
  return Placed::kTaken;
}

ArenaAllocator::Region* ArenaAllocator::find(const void* data) const noexcept {
  const auto above = regions_.upper_bound(address_of(data));
  if (above == regions_.begin()) return nullptr;
  Region* region = std::prev(above)->second.get();
  return address_of(data) - address_of(region->block.data) < region->block.bytes ? region : nullptr;
}

std::unique_ptr<internal::ArenaRegion> ArenaAllocator::take_if_unused(Region* region) noexcept {
  if (region->held || !region->pieces.empty()) return nullptr;
  auto node = regions_.extract(address_of(region->block.data));
  watched_.fetch_sub(1, std::memory_order_release);
  return std::move(node.mapped());
}

void ArenaAllocator::return_to_upstream(std::unique_ptr<Region> region) noexcept {
  if (options_.host_accessible) internal::unpoison(region->block.data, region->block.bytes);
  upstream_->deallocate(region->block, region->stream);
}

MemoryStats ArenaAllocator::stats() const {
  MemoryStats stats = upstream_->stats();
  stats.requested = requested_.get();
  stats.active = active_.get();
  stats.allocations = allocations_.load(std::memory_order_relaxed);
  stats.frees = frees_.load(std::memory_order_relaxed);
  return stats;
}

void ArenaAllocator::reset_peak_stats() noexcept {
  upstream_->reset_peak_stats();
  requested_.reset_peak();
  active_.reset_peak();
}

int64_t ArenaAllocator::allocated_on_this_thread() noexcept try {
  return upstream_->allocated_on_this_thread() + beyond_upstream(id_);
} catch (const std::bad_alloc&) {
  return upstream_->allocated_on_this_thread();
}

size_t ArenaAllocator::active_bytes(const Block& block) const noexcept {
  if (is_watched()) {
    std::lock_guard lock(mutex_);
    if (find(block.data)) return occupied(block.bytes);
  }
  return upstream_->active_bytes(block);
}

// Tells what it hears, with pieces and the gaps between them in the place of a region.
class ArenaAllocator::Pieces final : public SegmentVisitor {
 public:
  Pieces(const ArenaAllocator& arena, SegmentVisitor& visitor) : arena_(arena), visitor_(visitor) {}

  void segment(const SegmentInfo& segment) override { visitor_.segment(segment); }
  void block(const BlockInfo& block) override {
    const auto found = arena_.regions_.find(address_of(block.data));
    if (found == arena_.regions_.end() || block.state != BlockInfo::State::kActive) return visitor_.block(block);
    const auto* start = static_cast<const char*>(block.data);
    size_t end = 0;
    for (const auto& [offset, requested] : found->second->pieces) {
      gap(start + end, offset - end);
      visitor_.block({start + offset, occupied(requested), requested, BlockInfo::State::kActive});
      end = offset + occupied(requested);
    }
    if (end < block.bytes) gap(start + end, block.bytes - end);
  }

 private:
  void gap(const void* data, size_t bytes) {
    if (bytes > 0) visitor_.block({data, bytes, 0, BlockInfo::State::kCached});
  }

  const ArenaAllocator& arena_;
  SegmentVisitor& visitor_;
};

void ArenaAllocator::visit_segments(SegmentVisitor& visitor) const {
  std::lock_guard lock(mutex_);
  Pieces pieces(*this, visitor);
  upstream_->visit_segments(pieces);
}

}  // namespace vellum
