#ifndef VELLUM_TESTS_FAKES_SIM_H_
#define VELLUM_TESTS_FAKES_SIM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "vellum/device/stream.h"
#include "vellum/tensor/backend.h"

// The simulated accelerator: a backend "sim" with two devices, to be had by depending on //tests/fakes:register. "bare"
// is the same two devices, memory and streams, without a single kernel: what works there works by the host fallback.
//
// - Host code cannot touch its memory: an access through a device pointer is a segmentation fault whose message names
//   the block. Fresh memory holds 0xDD. Work that uses memory which is no longer mapped fails.
// - Streams are queues. What is enqueued runs when the mode lets it, so that whoever reads too early reads wrong
//   values. Within a stream work runs in order; between streams only events order it.
// - Copies follow CUDA: pageable host memory is read when the copy is enqueued, page-locked memory when it runs; the
//   copy to the host is there when it has run. deallocate and host_deallocate wait for the device, unmap does not.
// - A few operators have kernels, those of the CPU (see kSimKernels in sim_kernels.cc), which run on the queues; the
//   others are composites or fall back to the host.
// - Work that fails is a fault of its device: its queues are dropped, and every later call but those that free returns
//   the fault, until reset().
//
// Thread-safe behind one lock, under which work runs too: a wait for work that nothing can run is reported as an error
// at once, also where another thread was about to open the gate.
namespace vellum::sim {

const Backend& backend();
const Backend& bare_backend();

enum class Mode : uint8_t {
  kImmediate,  // work runs as it is enqueued
  kManual,     // work runs when the test says so, or when somebody waits for it: no more than that wait needs
  kRandom,     // at each call of the device, and while somebody waits, arbitrary streams proceed
};

// Of all devices. Queued work stays queued. At the start of the program it is kRandom with seed 1.
void set_mode(Mode mode, uint64_t seed = 1);
Mode mode();

// A mode for a scope, entered and left with empty queues.
class ModeScope {
 public:
  explicit ModeScope(Mode mode, uint64_t seed = 1);
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  Mode saved_;
};

// The streams whose next item can run.
std::vector<Stream> runnable(Device device);
// Items of a stream that have not run, waits and records of events included.
size_t pending(const Stream& stream);
// Runs the next item; false when there is none or it has to wait.
bool run_one(const Stream& stream);
// Runs whatever can run, stream by stream; the number of items that ran.
size_t run_all(Device device);

struct Point;

// Holds up the work behind it until it is opened. Copies are the same gate.
class Gate {
 public:
  void open() const;

 private:
  friend Gate hold(const Stream& stream);
  std::shared_ptr<Point> point_;
};
Gate hold(const Stream& stream);

// Work of the test's own. It must not wait for a device.
void enqueue(const Stream& stream, std::string_view what, std::function<Status()> work);

// Where host code may look at `bytes` bytes of device memory; null where they are not all mapped.
void* reach(const void* device_pointer, size_t bytes);
// Bytes that the device can hand out; kOutOfMemory beyond.
inline constexpr size_t kDefaultLimit = size_t{16} << 30;
void set_memory_limit(Device device, size_t bytes);
// Drops queued work, the fault and the limit. Memory and streams stay.
void reset(Device device);

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_H_
