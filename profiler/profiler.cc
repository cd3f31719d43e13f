#include "vellum/profiler/profiler.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/profiler/internal/report.h"
#include "vellum/profiler/internal/session.h"
#include "vellum/profiler/internal/thread_log.h"

namespace vellum {
namespace {

using internal::ProfilerSession;
using internal::ThreadLog;

// The one session that is recording, if any.
struct Current {
  std::mutex mutex;
  std::shared_ptr<ProfilerSession> session;
};

// Leaked on purpose: threads may still record during static destruction.
Current& current() {
  static Current& instance = *new Current;
  return instance;
}

constinit thread_local ThreadLog* tls_log = nullptr;

// Keeps this thread's log, which then outlives a profiler that another thread destroys.
struct LogOwner {
  std::shared_ptr<ThreadLog> log;
  ~LogOwner() { tls_log = nullptr; }
};

LogOwner& log_owner() {
  static thread_local LogOwner owner;
  return owner;
}

void attach(std::shared_ptr<ThreadLog> log) {
  log_owner().log = std::move(log);
  tls_log = log_owner().log.get();
  thread_state().mode |= kModeProfiler;
}

void detach() noexcept {
  tls_log = nullptr;
  log_owner().log.reset();
}

void stop_recording() noexcept {
  detach();
  thread_state().mode &= ~uint32_t{kModeProfiler};
}

// The log of a thread that has the mode bit: what the library's own threads inherit, or what a ModeGuard brought back
// after the end of the profiler.
[[gnu::noinline]] ThreadLog* new_log() noexcept try {
  std::shared_ptr<ProfilerSession> session;
  {
    std::lock_guard lock(current().mutex);
    session = current().session;
  }
  if (!session || tls_log) {
    stop_recording();
    return nullptr;
  }
  attach(std::make_shared<ThreadLog>(std::move(session), /*passing=*/true));
  return tls_log;
} catch (const std::bad_alloc&) {
  return nullptr;
}

class Hook final : public ProfilerHook {
 public:
  void begin(const Annotation& frame) noexcept override {
    ThreadLog* log = tls_log;
    if (!log || !log->session().is_active()) [[unlikely]]
      log = new_log();
    if (log) log->begin(frame);
  }

  void end(const Annotation& frame) noexcept override {
    if (!tls_log) return;
    tls_log->end(frame);
    if (!tls_log->is_done()) return;
    tls_log->finish();
    detach();  // the bit stays: it is the caller's
  }

  uint32_t module() noexcept override { return tls_log ? tls_log->module() : 0; }
};

[[maybe_unused]] const bool kInstalled = [] {
  static Hook hook;
  hooks().profiler = &hook;
  return true;
}();

}  // namespace

Profiler::Profiler(const ProfilerOptions& options) {
  if (options.max_events < 0)
    throw_error<InvalidArgumentError>("Profiler: max_events must be 0 or more, it is ", options.max_events);
  std::lock_guard lock(current().mutex);
  if (current().session)
    throw_error<InvalidArgumentError>(
        "Profiler: another profiler is recording, on this or another thread; profilers do not nest: stop() it first, "
        "or label a part of its recording with an AnnotationScope of kind kUser");
  session_ = std::make_shared<ProfilerSession>(options);
  log_ = std::make_shared<ThreadLog>(session_, /*passing=*/false);
  attach(log_);
  current().session = session_;
}

Profiler::~Profiler() {
  if (log_ && tls_log == log_.get()) {
    stop();
    return;
  }
  // On another thread its log is out of reach; it is left out.
  std::lock_guard lock(current().mutex);
  if (current().session == session_) current().session = nullptr;
  session_->stop();
}

void Profiler::stop() {
  if (!session_->is_active()) return;
  if (tls_log != log_.get())
    throw_error<InvalidArgumentError>(
        "Profiler: stop() was called on another thread than the one that is recorded; "
        "stop it where it was made");
  log_->finish();
  stop_recording();
  log_ = nullptr;
  {
    std::lock_guard lock(current().mutex);
    current().session = nullptr;
  }
  session_->stop();
}

const ProfilerSession& Profiler::results(const char* function) const {
  if (session_->is_active())
    throw_error<InvalidArgumentError>("Profiler: ", function, "() was called while it records; call stop() first");
  return *session_;
}

std::vector<OperatorProfile> Profiler::operators() const {
  std::vector<OperatorProfile> list = internal::operator_profiles(results("operators"));
  internal::sort_profiles(&list, ProfilerSort::kSelfTime);
  return list;
}

std::vector<ModuleProfile> Profiler::modules() const {
  std::vector<ModuleProfile> list = internal::module_profiles(results("modules"));
  internal::sort_profiles(&list, ProfilerSort::kName);
  return list;
}

std::string Profiler::table(const ProfilerTableOptions& options) const {
  const ProfilerSession& session = results("table");
  if (options.rows < 1) throw_error<InvalidArgumentError>("Profiler: table() needs 1 row or more, not ", options.rows);
  return internal::profile_table(session, options);
}

void Profiler::write_trace(const std::string& path) const { internal::write_trace(results("write_trace"), path); }

int64_t Profiler::dropped_events() const { return results("dropped_events").recording().dropped; }

ProfilerThreadGuard::ProfilerThreadGuard(const Profiler& profiler) {
  if (tls_log || !profiler.session_->is_active()) return;
  log_ = std::make_shared<ThreadLog>(profiler.session_, /*passing=*/false);
  attach(log_);
}

ProfilerThreadGuard::~ProfilerThreadGuard() {
  if (!log_) return;
  log_->finish();
  if (tls_log == log_.get()) stop_recording();
}

}  // namespace vellum
