#ifndef VELLUM_DEVICE_THREAD_STATE_H_
#define VELLUM_DEVICE_THREAD_STATE_H_

#include <cstdint>
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
};
// The bits that make an operator call leave the fast path.
inline constexpr uint32_t kModeHooked = kModeAutocast | kModeLedger | kModeAnomaly | kModeDryRun | kModeProfiler;

// A frame of the annotation stack. The text is borrowed and must outlive the frame.
struct Annotation {
  enum class Kind : uint8_t { kModule, kOperator, kUser };
  Kind kind;
  std::string_view text;
  const Annotation* parent;
};

struct ThreadState {
  uint32_t mode = kModeGrad;
  const Annotation* annotation = nullptr;  // innermost
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

// Pushes one frame onto this thread's annotation stack, which says on whose behalf bytes are allocated. Operator calls
// on the fast path push none: whoever reads the stack sets a bit of kModeHooked, and then no call takes that path.
// `text` is borrowed for the life of the scope. Costs two stores.
class AnnotationScope {
 public:
  AnnotationScope(Annotation::Kind kind, std::string_view text) : frame_{kind, text, thread_state().annotation} {
    thread_state().annotation = &frame_;
  }
  ~AnnotationScope() { thread_state().annotation = frame_.parent; }
  AnnotationScope(const AnnotationScope&) = delete;
  AnnotationScope& operator=(const AnnotationScope&) = delete;

 private:
  Annotation frame_;
};

// The frames of one kind, outermost first, joined by dots: "encoder.0.conv1".
std::string annotation_path(Annotation::Kind kind);

// The one hook table. Each slot is an interface that a higher floor declares and installs; a null slot is off. Slots
// are set during static initialization or before worker threads start, and are never destroyed.
class Recorder;
class Autocast;
class Ledger;
class Anomaly;
class DryRun;
class Profiler;

struct HookTable {
  Recorder* recorder = nullptr;
  Autocast* autocast = nullptr;
  Ledger* ledger = nullptr;
  Anomaly* anomaly = nullptr;
  DryRun* dry_run = nullptr;
  Profiler* profiler = nullptr;
};

extern constinit HookTable hook_table;

inline HookTable& hooks() { return hook_table; }

}  // namespace vellum

#endif  // VELLUM_DEVICE_THREAD_STATE_H_
