#include "vellum/allocator/memory.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "vellum/allocator/default_strategy.h"
#include "vellum/allocator/direct.h"
#include "vellum/allocator/pinned.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

constexpr int kMaxDeviceIndices = 256;

// Of each device. Plain zeros, so that no initialization order matters.
constinit std::atomic<Allocator*> allocators[kMaxDeviceTypes][kMaxDeviceIndices] = {};

std::mutex& making() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// An allocator that is kept for ever, also after another has taken its place: blocks and references may outlive any
// order of static destruction.
struct Kept {
  Device device;
  std::unique_ptr<Allocator> allocator;
  const Kept* next;
};
constinit std::atomic<const Kept*> all_kept = nullptr;
constinit SegmentObserver* segment_observer = nullptr;  // under making()

// To be called under making().
Allocator* keep(Device device, std::unique_ptr<Allocator> allocator) {
  const Kept* kept = new Kept{device, std::move(allocator), all_kept.load(std::memory_order_relaxed)};
  all_kept.store(kept, std::memory_order_release);
  if (segment_observer) kept->allocator->observe_segments(segment_observer, *kept->allocator);
  return kept->allocator.get();
}

std::unique_ptr<Allocator> allocator_by_environment(const char* name, Device device) {
  try {
    return make_strategy(name, device);
  } catch (const InvalidArgumentError& error) {
    throw_error<InvalidArgumentError>("VELLUM_ALLOCATOR: ", error.what());
  }
}

std::atomic<Allocator*>& slot(Device device) {
  check_exists(device);
  return allocators[device.type.id][device.index];
}

constinit thread_local AllocatorOverride* tls_override = nullptr;
// What this thread allocated from overrides that do not serve it now.
constinit thread_local int64_t tls_elsewhere = 0;

int64_t allocated_here() noexcept { return tls_override ? tls_override->allocated_on_this_thread() : 0; }

// What allocated_on_this_thread() tells stays the same.
void serve_by(AllocatorOverride* override) noexcept {
  tls_elsewhere += allocated_here();
  tls_override = override;
  tls_elsewhere -= allocated_here();
}

struct StreamEnds {
  std::mutex mutex;
  std::list<StreamEndListener::Release> releases;
};

// Leaked on purpose: streams may end during static destruction.
StreamEnds& stream_ends() {
  static StreamEnds& all = *new StreamEnds;
  return all;
}

void release_stream(const Stream& stream) {
  for (const Kept* kept = all_kept.load(std::memory_order_acquire); kept; kept = kept->next)
    if (kept->device == stream.device) kept->allocator->release_stream(stream);
  if (PinnedAllocator* pinned = find_pinned_allocator(stream.device)) pinned->release_stream(stream);
  StreamEnds& ends = stream_ends();
  std::lock_guard lock(ends.mutex);
  for (const StreamEndListener::Release& release : ends.releases) release(stream);
}
[[maybe_unused]] const bool hooked = (set_stream_destroy_hook(release_stream), true);

[[gnu::noinline]] Allocator& make_allocator(Device device) {
  std::atomic<Allocator*>& entry = slot(device);
  std::lock_guard lock(making());
  if (Allocator* made = entry.load(std::memory_order_acquire)) return *made;
  Allocator* made = keep(device, make_default_allocator(device));
  entry.store(made, std::memory_order_release);
  return *made;
}

std::string row(const char* label, const MemoryStat& stat) {
  char line[128];
  std::snprintf(line, sizeof line, "%-10s %14s %14s %14s %14s\n", label, format_bytes(stat.current).c_str(),
                format_bytes(stat.peak).c_str(), format_bytes(stat.allocated).c_str(),
                format_bytes(stat.freed).c_str());
  return line;
}

std::string count_row(const char* label, int64_t allocations, int64_t frees) {
  char line[128];
  std::snprintf(line, sizeof line, "%-10s %14lld %14s %14lld %14lld\n", label,
                static_cast<long long>(allocations - frees), "", static_cast<long long>(allocations),
                static_cast<long long>(frees));
  return line;
}

}  // namespace

Allocator& allocator(Device device) {
  if (thread_state().mode & kModeAllocator) [[unlikely]]
    return tls_override->allocator_for(device);
  if (device.type.id < kMaxDeviceTypes) [[likely]]
    if (Allocator* made = allocators[device.type.id][device.index].load(std::memory_order_acquire)) [[likely]]
      return *made;
  return make_allocator(device);
}

std::unique_ptr<Allocator> make_default_allocator(Device device) {
  if (device_api(device.type).shape_only) return std::make_unique<DirectAllocator>(device);
  if (const char* name = std::getenv("VELLUM_ALLOCATOR"); name && *name) return allocator_by_environment(name, device);
  return make_strategy(default_strategy(), device);
}

void set_allocator(Device device, std::unique_ptr<Allocator> allocator) {
  if (!allocator) throw_error<InvalidArgumentError>("set_allocator: the allocator for ", device, " is null");
  if (thread_state().mode & kModeAllocator)
    throw_error<InvalidArgumentError>(
        "set_allocator: other allocators serve this thread for now (as in predict_peak); "
        "choose the allocator of ",
        device, " before");
  std::atomic<Allocator*>& entry = slot(device);
  std::lock_guard lock(making());
  if (Allocator* old = entry.load(std::memory_order_acquire)) {
    const int64_t live = old->stats().active.current;
    if (live != 0)
      throw_error<InvalidArgumentError>("set_allocator: ", device, " has ", live, " bytes in use from the '",
                                        old->name(), "' allocator; choose the allocator before making tensors");
    old->empty_cache();
  }
  entry.store(keep(device, std::move(allocator)), std::memory_order_release);
}

StreamEndListener::StreamEndListener(Release release) {
  StreamEnds& ends = stream_ends();
  std::lock_guard lock(ends.mutex);
  release_ = ends.releases.insert(ends.releases.end(), std::move(release));
}

StreamEndListener::~StreamEndListener() {
  StreamEnds& ends = stream_ends();
  std::lock_guard lock(ends.mutex);
  ends.releases.erase(release_);
}

AllocatorScope::AllocatorScope(AllocatorOverride& override) : saved_(tls_override), mode_(kModeAllocator, 0) {
  serve_by(&override);
}
AllocatorScope::~AllocatorScope() { serve_by(saved_); }

int64_t memory_allocated(Device device) { return memory_stats(device).active.current; }
int64_t memory_reserved(Device device) { return memory_stats(device).reserved.current; }
int64_t max_memory_allocated(Device device) { return memory_stats(device).active.peak; }
int64_t max_memory_reserved(Device device) { return memory_stats(device).reserved.peak; }
MemoryStats memory_stats(Device device) { return allocator(device).stats(); }
void reset_peak_memory_stats(Device device) { allocator(device).reset_peak_stats(); }
void empty_cache(Device device) { allocator(device).empty_cache(); }

std::string format_bytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; (value >= 1024 || value <= -1024) && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
  return text;
}

void observe_segments(SegmentObserver* observer) {
  std::lock_guard lock(making());
  segment_observer = observer;
  for (const Kept* kept = all_kept.load(std::memory_order_relaxed); kept; kept = kept->next)
    kept->allocator->observe_segments(observer, *kept->allocator);
}

int64_t allocated_on_this_thread() noexcept {
  int64_t sum = tls_elsewhere + allocated_here();
  for (const Kept* kept = all_kept.load(std::memory_order_acquire); kept; kept = kept->next)
    sum += kept->allocator->allocated_on_this_thread();
  return sum;
}

std::string memory_summary(Device device) {
  const Allocator& source = allocator(device);
  const MemoryStats stats = source.stats();
  char header[128];
  std::snprintf(header, sizeof header, "%-10s %14s %14s %14s %14s\n", "", "current", "peak", "allocated", "freed");
  return str_cat("Memory of ", device, ", '", source.name(), "' allocator\n", header, row("requested", stats.requested),
                 row("active", stats.active), row("reserved", stats.reserved), row("split", stats.split),
                 count_row("blocks", stats.allocations, stats.frees),
                 count_row("segments", stats.upstream_allocations, stats.upstream_frees), "largest free block ",
                 format_bytes(stats.largest_free), ", cached ",
                 format_bytes(stats.reserved.current - stats.active.current), "\n");
}

}  // namespace vellum
