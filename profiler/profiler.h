#ifndef VELLUM_PROFILER_PROFILER_H_
#define VELLUM_PROFILER_PROFILER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vellum {

namespace internal {
class ProfilerSession;
class ThreadLog;
}  // namespace internal

struct ProfilerOptions {
  // Keep dtypes and shapes of the operands of every call, for the trace.
  bool shapes = false;
  // Calls that are kept for the trace, of all threads, at about 50 bytes each. Once there are as many the tables go on
  // counting, and the trace says how many it lacks.
  int64_t max_events = 1'000'000;
  // Nanoseconds from any start, never falling; may be called on several threads. Null: std::chrono::steady_clock.
  int64_t (*clock)() = nullptr;
};

enum class ProfilerSort { kSelfTime, kTotalTime, kCalls, kSelfBytes, kBytes, kName };

struct ProfilerTableOptions {
  ProfilerSort sort_by = ProfilerSort::kSelfTime;  // largest first; names in their order
  int rows = 100;                                  // of each table
};

// The calls of one operator, of one kind of step of the backward pass ("MulBackward") or of one label of the user
// (AnnotationScope of kind kUser). Only the outermost of calls that are nested in their like counts towards `total` and
// `bytes`; `self` and `self_bytes` are what no other recorded call inside took.
struct OperatorProfile {
  std::string name;
  int64_t calls = 0;
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds self{0};
  int64_t bytes = 0;  // what the blocks occupy that were allocated meanwhile, whether or not they are freed again
  int64_t self_bytes = 0;
};

// The forward calls of one module, with all operators in them. `self` and `self_bytes` exclude modules further down.
struct ModuleProfile {
  std::string path;  // "encoder.0.conv1"; see nn::Module::annotate
  int64_t calls = 0;
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds self{0};
  std::chrono::nanoseconds backward{0};  // in steps of the backward pass of operators that this module itself called
  int64_t bytes = 0;
  int64_t self_bytes = 0;
};

// Records how long operators, steps of the backward pass, modules and the user's labels take and what they allocate:
//
//   Profiler profiler({.shapes = true});
//   model(x).sum().backward();
//   profiler.stop();                                       // or the end of the scope
//   std::cout << profiler.table({.sort_by = ProfilerSort::kBytes, .rows = 20});
//   profiler.write_trace("trace.json");                    // for https://ui.perfetto.dev or chrome://tracing
//
// Recorded are the thread that made the profiler, the library's own threads as far as they work for it, and threads
// that hold a ProfilerThreadGuard. The thread that made it must stop or destroy it. There is one profiler at a time in
// a process. Operators leave the fast path while they are recorded, which makes small ones slower; values and gradients
// stay the same.
//
// Times are those of the host: what a device does later shows where the host waits for it. Bytes are summed over all
// devices.
class Profiler {
 public:
  // Starts recording. Throws InvalidArgumentError when another profiler is recording or max_events is negative.
  explicit Profiler(const ProfilerOptions& options = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Ends the recording; what is open ends with it. Does nothing the second time. Throws InvalidArgumentError on another
  // thread than the profiler was made on.
  void stop();

  // The results, which throw InvalidArgumentError before stop(). They may be read on any thread.

  std::vector<OperatorProfile> operators() const;  // most `self` first
  std::vector<ModuleProfile> modules() const;      // in the order of their paths
  // Both as a text for people to read. Throws InvalidArgumentError when less than one row is asked for.
  std::string table(const ProfilerTableOptions& options = {}) const;
  // Writes the calls as trace events in JSON, times in microseconds since the start. Replaces the file in one step;
  // throws IoError, naming the path, and leaves it as it was when it cannot be written.
  void write_trace(const std::string& path) const;
  // Calls that the trace lacks because there were more than max_events.
  int64_t dropped_events() const;

 private:
  friend class ProfilerThreadGuard;
  const internal::ProfilerSession& results(const char* function) const;

  std::shared_ptr<internal::ProfilerSession> session_;
  std::shared_ptr<internal::ThreadLog> log_;  // of the thread that made the profiler
};

// Has `profiler` record the thread that makes it, until the end of its scope. A thread must end it before the profiler
// is stopped: the profiler does not wait, and leaves out and counts who has not finished. Does nothing on a thread that
// is being recorded already, and after stop().
class ProfilerThreadGuard {
 public:
  explicit ProfilerThreadGuard(const Profiler& profiler);
  ~ProfilerThreadGuard();
  ProfilerThreadGuard(const ProfilerThreadGuard&) = delete;
  ProfilerThreadGuard& operator=(const ProfilerThreadGuard&) = delete;

 private:
  std::shared_ptr<internal::ThreadLog> log_;
};

}  // namespace vellum

#endif  // VELLUM_PROFILER_PROFILER_H_
