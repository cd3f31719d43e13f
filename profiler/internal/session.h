#ifndef VELLUM_PROFILER_INTERNAL_SESSION_H_
#define VELLUM_PROFILER_INTERNAL_SESSION_H_

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "vellum/device/text_table.h"
#include "vellum/device/thread_state.h"
#include "vellum/profiler/profiler.h"

namespace vellum::internal {

inline constexpr size_t kAnnotationKinds = 4;
inline constexpr uint32_t kModuleName = 0;  // stands for the path of the module

// A call that has ended. Times in nanoseconds of the clock.
struct Event {
  int64_t start;
  int64_t duration;
  int64_t bytes;
  uint32_t name;
  uint32_t module;
  uint32_t shapes;  // 0: none
  uint32_t depth;
  uint32_t thread;
};

struct CallTotals {
  int64_t calls = 0, total = 0, self = 0, bytes = 0, self_bytes = 0;
  int64_t open = 0;  // calls that have not ended
};

struct ModuleTotals {
  int64_t calls = 0, total = 0, self = 0, backward = 0, bytes = 0, self_bytes = 0;
};

// What was recorded, by one thread or by all.
struct Recording {
  std::vector<CallTotals> calls;      // by name
  std::vector<ModuleTotals> modules;  // by module
  std::deque<Event> events;           // in the order in which they ended; a deque never stops to move them
  int64_t inside = 0;                 // time in outermost calls
  int64_t dropped = 0;

  void add(Recording&& other);
};

// One profiler's recording: names, limits and what the threads have handed over. Thread-safe; the results are constant
// once it has ended.
class ProfilerSession {
 public:
  explicit ProfilerSession(const ProfilerOptions& options);

  const ProfilerOptions& options() const { return options_; }
  int64_t now() const;
  int64_t start() const { return start_; }
  int64_t end() const { return end_; }
  bool is_active() const { return active_.load(std::memory_order_relaxed); }

  // The number of a name, and of what encodes operands. Throws std::bad_alloc.
  uint32_t name(Annotation::Kind kind, std::string_view text);
  uint32_t shapes(std::string_view code);

  bool has_room() const { return room_.load(std::memory_order_relaxed) > 0; }
  // Whether one event more may be kept.
  bool take_room() { return has_room() && room_.fetch_sub(1, std::memory_order_relaxed) > 0; }

  // This thread begins to record; its number, the same each time.
  uint32_t enter();
  // It hands over what it has. After stop() it comes too late.
  void leave(Recording&& recording) noexcept;
  void stop() noexcept;

  // The results.
  struct Name {
    Annotation::Kind kind;
    std::string text;
  };
  const Recording& recording() const { return recording_; }
  const Name& name_of(uint32_t name) const;
  const std::string& shapes_of(uint32_t shapes) const;
  size_t threads() const { return threads_.size(); }
  int64_t unfinished_threads() const { return unfinished_; }

 private:
  const ProfilerOptions options_;
  std::atomic<bool> active_{true};
  std::atomic<int64_t> room_;
  mutable std::mutex mutex_;  // of all that follows
  std::array<TextNumbers, kAnnotationKinds> name_numbers_;
  std::deque<Name> names_;
  TextNumbers shapes_numbers_;
  std::deque<std::string> shapes_;
  Recording recording_;
  std::unordered_map<std::thread::id, uint32_t> threads_;
  int64_t unfinished_ = 0;
  const int64_t start_;
  int64_t end_ = 0;
};

}  // namespace vellum::internal

#endif  // VELLUM_PROFILER_INTERNAL_SESSION_H_
