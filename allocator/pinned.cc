#include "vellum/allocator/pinned.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "vellum/allocator/page_locked.h"
#include "vellum/allocator/poison.h"
#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/device/device_api.h"

namespace vellum {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStepsPerDoubling = 8;

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

PinnedAllocator::PinnedAllocator(std::unique_ptr<Allocator> upstream, bool host_accessible)
    : upstream_(std::move(upstream)), events_(upstream_->events()), host_accessible_(host_accessible) {}

PinnedAllocator::~PinnedAllocator() {
  std::unique_lock lock(mutex_);
  wait_for_pending(lock);
  for (const auto& [data, piece] : pieces_) return_to_upstream(*piece);
  for (const EventHandle event : spare_events_) (void)events_->destroy(event);
}

Status PinnedAllocator::allocate(size_t bytes, size_t alignment, const Stream&, Block* out) noexcept try {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  if (alignment > kDefaultAlignment)
    return {StatusCode::kInvalidArgument, "pinned memory is aligned to kDefaultAlignment and no further"};
  std::unique_lock lock(mutex_);
  Piece* piece = nullptr;
  if (bytes > 0)
    if (const Status status = find(rounded_bytes(bytes), &piece, lock); !status.ok()) return status;
  ++stats_.allocations;
  *out = {};
  if (!piece) return ok_status();
  piece->live = true;
  piece->requested = bytes;
  internal::increase(stats_.requested, static_cast<int64_t>(bytes));
  internal::increase(stats_.active, static_cast<int64_t>(piece->bytes));
  if (host_accessible_) internal::unpoison(piece->memory.data, bytes);
  *out = {piece->memory.data, bytes, piece};
  return ok_status();
} catch (const std::bad_alloc&) {
  return internal::kNoRecords;
}

Status PinnedAllocator::find(size_t bytes, Piece** out, std::unique_lock<std::mutex>& lock) {
  poll();
  if ((*out = take_cached(bytes))) return ok_status();
  Status status = grow(bytes, out);
  if (status.code != StatusCode::kOutOfMemory) return status;
  release_cached();
  status = grow(bytes, out);
  if (status.code != StatusCode::kOutOfMemory) return status;
  wait_for_pending(lock);
  if ((*out = take_cached(bytes))) return ok_status();
  release_cached();
  return grow(bytes, out);
}

PinnedAllocator::Piece* PinnedAllocator::take_cached(size_t bytes) {
  const auto found = cached_.find(bytes);
  if (found == cached_.end() || !found->second) return nullptr;
  return std::exchange(found->second, found->second->next);
}

Status PinnedAllocator::grow(size_t bytes, Piece** out) {
  auto piece = std::make_unique<Piece>();
  piece->bytes = bytes;
  cached_.try_emplace(bytes);  // now, for freeing must not fail
  const Status status = upstream_->allocate(bytes, kDefaultAlignment, {}, &piece->memory);
  if (!status.ok()) return status;
  const Block memory = piece->memory;
  try {
    *out = piece.get();
    pieces_.emplace(memory.data, std::move(piece));
  } catch (const std::bad_alloc&) {
    upstream_->deallocate(memory, {});
    throw;
  }
  ++stats_.upstream_allocations;
  internal::increase(stats_.reserved, static_cast<int64_t>(bytes));
  if (host_accessible_) internal::poison(memory.data, bytes);
  return ok_status();
}

void PinnedAllocator::deallocate(const Block& block, const Stream&) noexcept {
  std::lock_guard lock(mutex_);
  ++stats_.frees;
  auto* piece = static_cast<Piece*>(block.handle);
  if (!piece) return;
  if (!piece->live) [[unlikely]]
    internal::die_of_double_free("PinnedAllocator", block);
  piece->live = false;
  internal::decrease(stats_.requested, static_cast<int64_t>(piece->requested));
  for (const Stream& stream : piece->uses)
    if (!guard(*piece, stream)) piece->retired = true;
  piece->uses.clear();
  if (piece->pending == 0 && !piece->retired) make_free(*piece);
}

// Has the piece wait for what is enqueued on `stream` now.
bool PinnedAllocator::guard(Piece& piece, const Stream& stream) try {
  Queue& queue = pending_[stream.handle];
  queue.ended = false;
  queue.events.push_back({0, &piece});
  EventHandle& event = queue.events.back().event;
  Status status = ok_status();
  if (spare_events_.empty()) {
    status = events_->create(&event);
  } else {
    event = spare_events_.back();
    spare_events_.pop_back();
  }
  const bool made = status.ok();
  if (made) status = events_->record(event, stream);
  if (!status.ok()) {
    if (made) (void)events_->destroy(event);
    queue.events.pop_back();
    return false;
  }
  ++piece.pending;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void PinnedAllocator::make_free(Piece& piece) {
  internal::decrease(stats_.active, static_cast<int64_t>(piece.bytes));
  if (host_accessible_) internal::poison(piece.memory.data, piece.bytes);
  piece.next = std::exchange(cached_.find(piece.bytes)->second, &piece);
}

void PinnedAllocator::complete(const Pending& done) {
  try {
    spare_events_.push_back(done.event);
  } catch (const std::bad_alloc&) {
    (void)events_->destroy(done.event);
  }
  if (--done.piece->pending == 0 && !done.piece->retired && !done.piece->live) make_free(*done.piece);
}

// Frees what is no longer used; the events of one stream complete in order. After a fault of the device nothing runs
// there any more.
void PinnedAllocator::poll() {
  for (auto it = pending_.begin(); it != pending_.end();) {
    std::deque<Pending>& events = it->second.events;
    while (!events.empty() && events_->query(events.front().event).code != StatusCode::kNotReady) {
      complete(events.front());
      events.pop_front();
    }
    it = events.empty() && it->second.ended ? pending_.erase(it) : std::next(it);
  }
}

// Without the lock while the host waits, for the work waited for may free pinned memory itself. An event that has been
// recorded anew meanwhile only makes the wait longer.
void PinnedAllocator::wait_for_pending(std::unique_lock<std::mutex>& lock) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const StreamHandle stream = it->first;
    if (!it->second.events.empty()) {
      const EventHandle last = it->second.events.back().event;
      lock.unlock();
      (void)events_->synchronize(last);  // a fault surfaces at the device's next synchronize
      lock.lock();
    }
    it = pending_.upper_bound(stream);
  }
  poll();
}

void PinnedAllocator::release_cached() {
  for (auto& [bytes, first] : cached_)
    while (first) {
      const Piece* piece = std::exchange(first, first->next);
      return_to_upstream(*piece);
      pieces_.erase(piece->memory.data);
    }
}

void PinnedAllocator::return_to_upstream(const Piece& piece) {
  if (host_accessible_) internal::unpoison(piece.memory.data, piece.bytes);
  upstream_->deallocate(piece.memory, {});
  ++stats_.upstream_frees;
  internal::decrease(stats_.reserved, static_cast<int64_t>(piece.bytes));
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
  if (const auto queue = pending_.find(stream.handle); queue != pending_.end()) queue->second.ended = true;
}

void PinnedAllocator::empty_cache() noexcept {
  std::lock_guard lock(mutex_);
  poll();
  release_cached();
}

MemoryStats PinnedAllocator::stats() const {
  std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  for (const auto& [bytes, first] : cached_)
    if (first) stats.largest_free = static_cast<int64_t>(bytes);
  return stats;
}

void PinnedAllocator::reset_peak_stats() noexcept {
  std::lock_guard lock(mutex_);
  internal::reset_peaks(stats_.requested, stats_.active, stats_.reserved);
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
