#ifndef VELLUM_ALLOCATOR_MEMORY_H_
#define VELLUM_ALLOCATOR_MEMORY_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "vellum/allocator/allocator.h"
#include "vellum/device/device.h"
#include "vellum/device/thread_state.h"

namespace vellum {

// The allocator that serves a device: the one that was set, else that of make_default_allocator. Made at first use and
// never destroyed. Throws DeviceError when the device has no backend, and as make_default_allocator.
Allocator& allocator(Device device);

// A new allocator over the device's own memory, of the strategy that the environment names, such as
// VELLUM_ALLOCATOR=arena, else of the program's default (see default_strategy). Throws InvalidArgumentError listing the
// linked strategies when the environment names another. Shape-only devices are always served directly.
std::unique_ptr<Allocator> make_default_allocator(Device device);

// Chooses the allocator of a device, whatever environment and default say; also where the program sets one itself:
//
//   set_allocator(device, make_strategy("arena", device));
//
// Throws InvalidArgumentError when that device's memory is already in use, and within an AllocatorScope.
void set_allocator(Device device, std::unique_ptr<Allocator> allocator);

// Has `release(stream)` called before any thread destroys a stream of any device, as long as this exists. For owners of
// allocators that this file does not know, which are to let go of the stream (Allocator::release_stream); the devices'
// own hear of it anyway. `release` runs on the thread that destroys the stream, and may neither throw, destroy a
// stream, nor make or end a listener. Thread-safe; the destructor waits for calls under way.
class StreamEndListener {
 public:
  using Release = std::function<void(const Stream& stream)>;
  explicit StreamEndListener(Release release);
  ~StreamEndListener();
  StreamEndListener(const StreamEndListener&) = delete;
  StreamEndListener& operator=(const StreamEndListener&) = delete;

 private:
  std::list<Release>::iterator release_;
};

// Serves a thread in place of the devices' own allocators.
class AllocatorOverride {
 public:
  // The allocator for a device; may throw. What it gives must live until its last block has been given back, which may
  // be after the scope, and hear of streams that end (StreamEndListener).
  virtual Allocator& allocator_for(Device device) = 0;
  // The sum of Allocator::allocated_on_this_thread over those that it gave.
  virtual int64_t allocated_on_this_thread() noexcept = 0;

 protected:
  ~AllocatorOverride() = default;
};

// Has `allocator(device)`, and with it everything that this thread allocates or asks about memory, answered by an
// override for a scope. Blocks that were allocated before go back to where they came from. Scopes nest.
class AllocatorScope {
 public:
  explicit AllocatorScope(AllocatorOverride& override);
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

 private:
  AllocatorOverride* saved_;
  ModeGuard mode_;
};

// Has `observer` hear what the allocators that serve devices, now and later, take from them and give back; null:
// nobody. There is one. See Allocator::observe_segments; what an AllocatorOverride or the pinned allocators hold is not
// told.
void observe_segments(SegmentObserver* observer);

// Bytes of live blocks (after rounding), of memory held from the device, and the highest number of live bytes since
// the last reset. As in PyTorch, `memory_allocated` counts what blocks occupy, not what was asked for.
int64_t memory_allocated(Device device = {});
int64_t memory_reserved(Device device = {});
int64_t max_memory_allocated(Device device = {});
int64_t max_memory_reserved(Device device = {});
MemoryStats memory_stats(Device device = {});
void reset_peak_memory_stats(Device device = {});

// Returns all cached memory to the device. Memory in use stays.
void empty_cache(Device device = {});

// A table of the statistics for people to read.
std::string memory_summary(Device device = {});

// Bytes as people read them: "512 B", "1.50 KiB".
std::string format_bytes(int64_t bytes);

// The sum of Allocator::allocated_on_this_thread over all devices, with what an AllocatorScope had served. It never
// falls.
int64_t allocated_on_this_thread() noexcept;

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_MEMORY_H_
