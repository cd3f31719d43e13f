#include "vellum/allocator/pinned.h"

#include <algorithm>
#include <bit>
#include <new>

#include "vellum/allocator/page_locked.h"
#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/device/device_api.h"

namespace vellum {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStepsPerDoubling = 8;
constexpr Status kNoRecords{StatusCode::kOutOfMemory, "no host memory is left for the allocator's records"};

struct PinnedAllocators {
  std::mutex mutex;
  std::map<std::pair<uint8_t, uint8_t>, std::unique_ptr<PinnedAllocator>> made;
};

// Leaked on purpose: blocks may outlive any order of static destruction.
PinnedAllocators& pinned_allocators() {
  static PinnedAllocators& all = *new PinnedAllocators;
  return all;
}

}  // namespace

size_t PinnedAllocator::rounded_bytes(size_t bytes) {
  const size_t step = std::max(kPage, std::bit_ceil(bytes) / 2 / kStepsPerDoubling);
  return internal::round_up(bytes, step);
}

PinnedAllocator::PinnedAllocator(std::unique_ptr<Allocator> upstream)
    : upstream_(std::move(upstream)), events_(upstream_->events()) {}

PinnedAllocator::~PinnedAllocator() {
  wait_for_pending();
  release_cached();
  for (const EventHandle event : spare_events_) (void)events_->destroy(event);
}

Status PinnedAllocator::allocate(size_t bytes, size_t alignment, const Stream&, Block* out) noexcept try {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  if (alignment > kDefaultAlignment)
    return {StatusCode::kInvalidArgument, "pinned memory is aligned to kDefaultAlignment and no further"};
  std::lock_guard lock(mutex_);
  Piece* piece = nullptr;
  if (bytes > 0)
    if (const Status status = find(rounded_bytes(bytes), &piece); !status.ok()) return status;
  ++stats_.allocations;
  *out = {};
  if (!piece) return ok_status();
  piece->live = true;
  piece->requested = bytes;
  internal::increase(stats_.requested, static_cast<int64_t>(bytes));
  internal::increase(stats_.active, static_cast<int64_t>(piece->bytes));
  internal::unpoison(piece->memory.data, bytes);
  *out = {piece->memory.data, bytes, piece};
  return ok_status();
} catch (const std::bad_alloc&) {
  return kNoRecords;
}

Status PinnedAllocator::find(size_t bytes, Piece** out) {
  poll();
  if ((*out = take_cached(bytes))) return ok_status();
  Status status = grow(bytes, out);
  if (status.code != StatusCode::kOutOfMemory) return status;
  release_cached();
  status = grow(bytes, out);
  if (status.code != StatusCode::kOutOfMemory) return status;
  wait_for_pending();
  if ((*out = take_cached(bytes))) return ok_status();
  release_cached();
  return grow(bytes, out);
}

PinnedAllocator::Piece* PinnedAllocator::take_cached(size_t bytes) {
  const auto found = cached_.find(bytes);
  if (found == cached_.end() || found->second.empty()) return nullptr;
  Piece* piece = found->second.back();
  found->second.pop_back();
  return piece;
}

Status PinnedAllocator::grow(size_t bytes, Piece** out) {
  auto piece = std::make_unique<Piece>();
  piece->bytes = bytes;
  // Freeing must not fail: there will be room for every piece of this size.
  std::vector<Piece*>& same = cached_[bytes];
  same.reserve(pieces_.size() + 1);
  const Status status = upstream_->allocate(bytes, kDefaultAlignment, {}, &piece->memory);
  if (!status.ok()) return status;
  try {
    *out = piece.get();
    pieces_.emplace(piece->memory.data, std::move(piece));
  } catch (const std::bad_alloc&) {
    upstream_->deallocate((*out)->memory, {});
    throw;
  }
  ++stats_.upstream_allocations;
  internal::increase(stats_.reserved, static_cast<int64_t>(bytes));
  internal::poison((*out)->memory.data, bytes);
  return ok_status();
}

void PinnedAllocator::deallocate(const Block& block, const Stream&) noexcept {
  std::lock_guard lock(mutex_);
  ++stats_.frees;
  auto* piece = static_cast<Piece*>(block.handle);
  if (!piece) return;
  piece->live = false;
  internal::decrease(stats_.requested, static_cast<int64_t>(piece->requested));
  for (const Stream& stream : piece->uses)
    if (!guard(*piece, stream)) piece->retired = true;
  piece->uses.clear();
  if (piece->pending == 0 && !piece->retired) make_free(*piece);
}

// Has the piece wait for what is enqueued on `stream` now.
bool PinnedAllocator::guard(Piece& piece, const Stream& stream) try {
  std::deque<Pending>& queue = pending_[stream.handle];
  queue.push_back({0, &piece});
  EventHandle& event = queue.back().event;
  Status status = ok_status();
  if (spare_events_.empty()) {
    status = events_->create(&event);
  } else {
    event = spare_events_.back();
    spare_events_.pop_back();
  }
  if (status.ok()) status = events_->record(event, stream);
  if (!status.ok()) {
    queue.pop_back();
    return false;
  }
  ++piece.pending;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void PinnedAllocator::make_free(Piece& piece) {
  internal::decrease(stats_.active, static_cast<int64_t>(piece.bytes));
  internal::poison(piece.memory.data, piece.bytes);
  cached_.find(piece.bytes)->second.push_back(&piece);
}

void PinnedAllocator::complete(const Pending& done) {
  try {
    spare_events_.push_back(done.event);
  } catch (const std::bad_alloc&) {
    (void)events_->destroy(done.event);
  }
  if (--done.piece->pending == 0 && !done.piece->retired && !done.piece->live) make_free(*done.piece);
}

// Frees what is no longer used; the events of one stream complete in order.
void PinnedAllocator::poll() {
  for (auto& [stream, queue] : pending_)
    while (!queue.empty() && events_->query(queue.front().event).ok()) {
      complete(queue.front());
      queue.pop_front();
    }
}

void PinnedAllocator::wait_for_pending() {
  for (auto& [stream, queue] : pending_)
    while (!queue.empty() && events_->synchronize(queue.front().event).ok()) {
      complete(queue.front());
      queue.pop_front();
    }
}

void PinnedAllocator::release_cached() {
  for (auto& [bytes, pieces] : cached_) {
    for (Piece* piece : pieces) {
      internal::unpoison(piece->memory.data, piece->bytes);
      upstream_->deallocate(piece->memory, {});
      ++stats_.upstream_frees;
      internal::decrease(stats_.reserved, static_cast<int64_t>(bytes));
      pieces_.erase(piece->memory.data);
    }
    pieces.clear();
  }
}

void PinnedAllocator::record_stream(const Block& block, const Stream& stream) noexcept {
  auto* piece = static_cast<Piece*>(block.handle);
  if (!events_ || !piece) return;
  std::lock_guard lock(mutex_);
  try {
    if (std::find(piece->uses.begin(), piece->uses.end(), stream) == piece->uses.end()) piece->uses.push_back(stream);
  } catch (const std::bad_alloc&) {
    piece->retired = true;
  }
}

void PinnedAllocator::release_stream(const Stream& stream) noexcept {
  if (!events_) return;
  std::lock_guard lock(mutex_);
  for (auto& [data, piece] : pieces_)
    if (std::erase(piece->uses, stream) && !guard(*piece, stream)) piece->retired = true;
}

void PinnedAllocator::empty_cache() noexcept {
  std::lock_guard lock(mutex_);
  poll();
  release_cached();
}

MemoryStats PinnedAllocator::stats() const {
  std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  for (const auto& [bytes, pieces] : cached_)
    if (!pieces.empty()) stats.largest_free = static_cast<int64_t>(bytes);
  return stats;
}

void PinnedAllocator::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  for (MemoryStat* stat : {&stats_.requested, &stats_.active, &stats_.reserved}) stat->peak = stat->current;
}

size_t PinnedAllocator::active_bytes(const Block& block) const noexcept {
  const auto* piece = static_cast<const Piece*>(block.handle);
  return piece ? piece->bytes : 0;
}

void PinnedAllocator::visit_segments(SegmentVisitor& visitor) const {
  std::lock_guard lock(mutex_);
  for (const auto& [data, piece] : pieces_) {
    const bool pending = piece->pending > 0 || piece->retired;
    const auto state = piece->live ? BlockInfo::State::kActive
                       : pending   ? BlockInfo::State::kPending
                                   : BlockInfo::State::kCached;
    visitor.segment({data, piece->bytes, {}});
    visitor.block({data, piece->bytes, piece->live ? piece->requested : 0, state});
  }
}

PinnedAllocator& pinned_allocator(Device device) {
  PinnedAllocators& all = pinned_allocators();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<PinnedAllocator>& entry = all.made[{device.type.id, device.index}];
  if (!entry) entry = std::make_unique<PinnedAllocator>(std::make_unique<PageLockedAllocator>(device));
  return *entry;
}

PinnedAllocator* find_pinned_allocator(Device device) {
  PinnedAllocators& all = pinned_allocators();
  std::lock_guard lock(all.mutex);
  const auto found = all.made.find({device.type.id, device.index});
  return found == all.made.end() ? nullptr : found->second.get();
}

Device default_pinning_device() {
  if (const Device device = current_device(); device.type != kCPU) return device;
  for (uint8_t id = 1; id < kMaxDeviceTypes; ++id) {
    DeviceType type;
    if (!find_device_type(device_type_name(DeviceType{id}), &type)) continue;
    const DeviceApi& api = device_api(type);
    if (api.host_allocate && api.device_count && api.device_count() > 0) return Device(type);
  }
  return Device(kCPU);
}

}  // namespace vellum
