#include "vellum/device/thread_state.h"

namespace vellum {

constinit thread_local ThreadState tls_state;
constinit HookTable hook_table;

namespace internal {

void profile_begin(const Annotation& frame) noexcept {
  if (ProfilerHook* profiler = hooks().profiler) profiler->begin(frame);
}

void profile_end(const Annotation& frame) noexcept {
  if (ProfilerHook* profiler = hooks().profiler) profiler->end(frame);
}

}  // namespace internal

std::string annotation_path(Annotation::Kind kind) {
  std::string path;
  for (const Annotation* a = thread_state().annotation; a; a = a->parent) {
    if (a->kind != kind) continue;
    path = path.empty() ? std::string(a->text) : std::string(a->text) + "." + path;
  }
  return path;
}

}  // namespace vellum
