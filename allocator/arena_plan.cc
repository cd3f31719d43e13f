#include "vellum/allocator/arena_plan.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "vellum/allocator/lifetime_packing.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/device/error.h"

namespace vellum {

using internal::Lifetime;
using internal::RecordedBlock;

namespace {

// How far from where it should stand a request is looked for.
constexpr size_t kWindow = 64;

// Of the block that is allocation `index` of `count`; none where it cannot have the same place in every step: it
// outlives the next step's block of its kind, or its use cannot be seen.
std::optional<Lifetime> lifetime_of(const RecordedBlock& block, size_t index, size_t count, const Stream& stream) {
  if (block.bytes == 0 || block.alignment > kDefaultAlignment || block.crossed || block.stream != stream) return {};
  const size_t bytes = internal::round_up(block.bytes, kDefaultAlignment);
  if (block.freed) return Lifetime{bytes, index, *block.freed};
  if (!block.freed_next || *block.freed_next > index) return {};
  return Lifetime{bytes, index, *block.freed_next == 0 ? count : *block.freed_next};
}

}  // namespace

template <typename Describe>
void ArenaPlan::differ(const Describe& describe) noexcept try {
  differs_ = true;
  if (!report_.first_difference.empty()) return;
  report_.first_difference = describe();
  std::fprintf(stderr, "vellum: ArenaPlan: a step differs from the recorded one: %s; upstream serves what differs\n",
               report_.first_difference.c_str());
} catch (const std::exception&) {
  // What is not said is still counted.
}

void ArenaPlan::reset() {
  if (open_)
    throw_error<InvalidArgumentError>("ArenaPlan::reset: a ReplayScope of the plan is open; call it between steps");
  forget();
  report_ = {};
}

void ArenaPlan::forget() noexcept {
  if (arena_) arena_->unwatch(record_);
  if (region_) arena_->close(region_);
  region_ = nullptr;
  record_.clear();
  entries_.clear();
  arena_ = nullptr;
}

void ArenaPlan::begin(ArenaAllocator& arena) {
  if (!arena_) {
    arena.watch(record_);
    arena_ = &arena;
  }
  begun_ = true;
  differs_ = no_memory_ = false;
  next_ = 0;
  ++replay_;
  if (!entries_.empty()) return;
  std::lock_guard lock(arena_->mutex_);
  record_.begin();
}

void ArenaPlan::end() noexcept try {
  if (!begun_) return;
  begun_ = false;
  if (entries_.empty()) {
    ++report_.recorded_steps;
    std::unique_lock lock(arena_->mutex_);
    const bool is_repeated = record_.end();
    lock.unlock();
    if (is_repeated) make();
    return;
  }
  if (next_ < entries_.size())
    differ([&] { return str_cat("it ends after allocation ", next_, ", the recorded one made ", entries_.size()); });
  ++(differs_ ? report_.differing_steps : report_.replayed_steps);
} catch (const std::exception&) {
  forget();  // no host memory for a plan: the next steps are recorded
}

// From the last but one step, whose blocks the last one has shown to be freed or not.
void ArenaPlan::make() {
  std::vector<RecordedBlock> blocks;
  {
    std::lock_guard lock(arena_->mutex_);
    blocks = record_.blocks();
  }
  std::vector<Entry> entries;
  std::vector<Lifetime> lifetimes;
  for (size_t k = 0; k < blocks.size(); ++k) {
    const auto lifetime = lifetime_of(blocks[k], k, blocks.size(), blocks[0].stream);
    entries.push_back({.request = blocks[k], .planned = lifetime.has_value()});
    if (lifetime) lifetimes.push_back(*lifetime);
  }
  const internal::Packing packing = internal::pack(lifetimes);
  size_t planned = 0;
  for (Entry& entry : entries)
    if (entry.planned) entry.offset = packing.offsets[planned++];
  report_.region_bytes = packing.bytes;
  report_.max_live_bytes = internal::max_live_bytes(lifetimes);
  arena_->unwatch(record_);
  record_.clear();
  entries_ = std::move(entries);
}

Status ArenaPlan::replay(size_t bytes, size_t alignment, const Stream& stream, Block* out) {
  Entry* entry = match(bytes, alignment, stream);
  if (entry && entry->planned) {
    if (place(*entry, out)) {
      ++report_.planned;
      return ok_status();
    }
    ++report_.fallbacks;
  } else if (!entry) {
    ++report_.fallbacks;
  }
  return arena_->allocate_upstream(bytes, alignment, stream, out);
}

// The unused entry of such a request, best the next one, else the nearest. Null, and said, if there is none.
ArenaPlan::Entry* ArenaPlan::match(size_t bytes, size_t alignment, const Stream& stream) {
  const auto fits = [&](size_t k) {
    const Entry& entry = entries_[k];
    return entry.used_in != replay_ && entry.request.same_request(bytes, alignment, stream);
  };
  std::optional<size_t> found;
  for (size_t distance = 0; distance < kWindow && !found; ++distance) {
    if (next_ + distance < entries_.size() && fits(next_ + distance))
      found = next_ + distance;
    else if (distance <= next_ && next_ - distance < entries_.size() && fits(next_ - distance))
      found = next_ - distance;
  }
  if (found != next_) {
    const size_t planned = next_ < entries_.size() ? entries_[next_].request.bytes : 0;
    differ(
        [&] { return str_cat("allocation ", next_, " asks for ", bytes, " bytes, the recorded one for ", planned); });
  }
  if (!found) return nullptr;
  entries_[*found].used_in = replay_;
  next_ = std::max(next_, *found + 1);
  return &entries_[*found];
}

bool ArenaPlan::place(const Entry& entry, Block* out) {
  using Placed = ArenaAllocator::Placed;
  const Stream& stream = entry.request.stream;
  while (has_region(stream)) {
    const Placed placed = arena_->place(*region_, stream, entry.offset, entry.request.bytes, out);
    if (placed == Placed::kDone) return true;
    differ([&] {
      if (placed == Placed::kCrossed) return std::string("a block of the plan was used on another stream");
      if (placed == Placed::kEnded) return std::string("the stream of the plan was destroyed");
      return str_cat("at allocation ", &entry - entries_.data(), " of ", entry.request.bytes,
                     " bytes a block is alive that the recorded one had freed");
    });
    if (placed == Placed::kTaken) return false;
    // Nobody would know when its places can be used again. Upstream does, for the whole of it.
    arena_->close(std::exchange(region_, nullptr));
  }
  return false;
}

bool ArenaPlan::has_region(const Stream& stream) {
  if (region_ || no_memory_) return region_ != nullptr;
  no_memory_ = !arena_->open(report_.region_bytes, stream, true, &region_).ok();
  if (no_memory_) differ([&] { return str_cat("upstream has no region of ", report_.region_bytes, " bytes"); });
  return !no_memory_;
}

ReplayScope::ReplayScope(ArenaPlan& plan) : ArenaScopeBase(plan.device_), plan_(plan) {
  if (plan.open_)
    throw_error<InvalidArgumentError>(
        "ReplayScope: another scope of this plan is open; a plan is of one step at a time");
  plan.open_ = true;
}

ReplayScope::~ReplayScope() {
  plan_.end();
  plan_.open_ = false;
}

Status ReplayScope::allocate(ArenaAllocator& arena, size_t bytes, size_t alignment, const Stream& stream,
                             Block* out) noexcept try {
  if (plan_.arena_ && plan_.arena_ != &arena) return arena.allocate_upstream(bytes, alignment, stream, out);
  if (!plan_.begun_) plan_.begin(arena);
  if (!plan_.entries_.empty()) return plan_.replay(bytes, alignment, stream, out);
  return arena.allocate_recorded(plan_.record_, bytes, alignment, stream, out);
} catch (const std::exception&) {
  return arena.allocate_upstream(bytes, alignment, stream, out);
}

}  // namespace vellum
