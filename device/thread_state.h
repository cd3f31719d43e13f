#ifndef VELLUM_DEVICE_THREAD_STATE_H_
#define VELLUM_DEVICE_THREAD_STATE_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vellum {

// The thread-local mode word: one bit for each optional machinery. An operator call that nobody asked anything of
// tests it once.
enum Mode : uint32_t {
  kModeGrad = 1u << 0,  // grad mode; the recorder acts when an input requires grad
  kModeAutocast = 1u << 1,
  kModeLedger = 1u << 2,
  kModeAnomaly = 1u << 3,
  kModeDryRun = 1u << 4,
  kModeProfiler = 1u << 5,
  kModeAllocator = 1u << 6,  // allocators other than the devices' own serve this thread; see AllocatorScope
};
// The bits that make an operator call leave the fast path.
inline constexpr uint32_t kModeHooked = kModeAutocast | kModeLedger | kModeAnomaly | kModeDryRun | kModeProfiler;

class Tensor;

// A frame of the annotation stack. Text and operands are borrowed and must outlive the frame.
struct Annotation {
  enum class Kind : uint8_t { kModule, kOperator, kUser, kBackward };
  Kind kind;
  std::string_view text;
  const Annotation* parent;
  std::span<const Tensor* const> operands;   // of an operator; those that it may do without can be undefined
  uint32_t origin;                           // of a step of the backward pass: observed_module() at its forward call
  mutable std::atomic<uint32_t> number = 0;  // of a module: that of its path, once somebody has asked
};

struct ThreadState {
  uint32_t mode = kModeGrad;
  const Annotation* annotation = nullptr;  // innermost
  uint64_t next_node = 0;                  // sequence number of the node that this thread records next
};

extern constinit thread_local ThreadState tls_state;

inline ThreadState& thread_state() { return tls_state; }

// Sets or clears bits of the mode word for a scope on this thread.
class ModeGuard {
 public:
  ModeGuard(uint32_t set, uint32_t clear) : saved_(thread_state().mode) {
    thread_state().mode = (saved_ & ~clear) | set;
  }
  ~ModeGuard() { thread_state().mode = saved_; }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint32_t saved_;
};

namespace internal {
[[gnu::cold]] void profile_begin(const Annotation& frame) noexcept;
[[gnu::cold]] void profile_end(const Annotation& frame) noexcept;
}  // namespace internal

// Pushes one frame onto this thread's annotation stack, which says on whose behalf bytes are allocated and time is
// spent. Operator calls on the fast path push none: whoever reads the stack sets a bit of kModeHooked, and then no call
// takes that path. A user's label for the profiler is AnnotationScope(Annotation::Kind::kUser, "evaluation").
// `text` and `operands` are borrowed for the life of the scope. Costs a few stores and a test of the mode word.
class AnnotationScope {
 public:
  AnnotationScope(Annotation::Kind kind, std::string_view text, std::span<const Tensor* const> operands = {},
                  uint32_t origin = 0)
      : frame_{kind, text, thread_state().annotation, operands, origin} {
    thread_state().annotation = &frame_;
    if (thread_state().mode & kModeProfiler) [[unlikely]]
      internal::profile_begin(frame_);
  }
  ~AnnotationScope() {
    thread_state().annotation = frame_.parent;
    if (thread_state().mode & kModeProfiler) [[unlikely]]
      internal::profile_end(frame_);
  }
  AnnotationScope(const AnnotationScope&) = delete;
  AnnotationScope& operator=(const AnnotationScope&) = delete;

 private:
  Annotation frame_;
};

// The frames of one kind, outermost first, joined by dots: "encoder.0.conv1".
std::string annotation_path(Annotation::Kind kind);

// The number of the path of the module that this thread is in (internal::module_path has the text); within a step of
// the backward pass, of the module that its forward call was in. 0 is none. Throws std::bad_alloc.
uint32_t current_module();

// The one hook table. Each slot is an interface that a higher floor declares and installs; a null slot is off. Slots
// are set during static initialization or before worker threads start, and are never destroyed.
class Recorder;
class Autocast;
class Ledger;
class Anomaly;
class DryRun;
class ProfilerHook;

struct HookTable {
  Recorder* recorder = nullptr;
  Autocast* autocast = nullptr;
  Ledger* ledger = nullptr;
  Anomaly* anomaly = nullptr;
  DryRun* dry_run = nullptr;
  ProfilerHook* profiler = nullptr;
};

extern constinit HookTable hook_table;

inline HookTable& hooks() { return hook_table; }

// What the annotations of a thread tell the profiler while kModeProfiler is set there. An `end` may come without its
// `begin`, and the other way round, where the bit was changed in between.
class ProfilerHook {
 public:
  virtual void begin(const Annotation& frame) noexcept = 0;
  virtual void end(const Annotation& frame) noexcept = 0;
  // A number for the path of the module that this thread is in; 0 is none. Never means another path later.
  virtual uint32_t module() noexcept = 0;

 protected:
  ~ProfilerHook() = default;
};

namespace internal {
[[gnu::cold]] uint32_t observed_module_slow() noexcept;
}

// The number of the module that this thread is in while a profiler or the ledger wants to know, else 0.
inline uint32_t observed_module() {
  if (!(thread_state().mode & (kModeProfiler | kModeLedger))) [[likely]]
    return 0;
  return internal::observed_module_slow();
}

}  // namespace vellum

#endif  // VELLUM_DEVICE_THREAD_STATE_H_
