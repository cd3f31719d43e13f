#include "vellum/device/thread_state.h"

#include <new>

#include "vellum/device/text_table.h"

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

uint32_t observed_module_slow() noexcept try {
  if (thread_state().mode & kModeLedger) return current_module();
  return hooks().profiler ? hooks().profiler->module() : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

namespace {

// The frames of other threads are read too: a library's own thread works below the stack of the one that it serves.
uint32_t module_of(const Annotation* frame) {
  while (frame && frame->kind != Annotation::Kind::kModule && frame->kind != Annotation::Kind::kBackward)
    frame = frame->parent;
  if (!frame) return 0;
  if (frame->kind == Annotation::Kind::kBackward) return frame->origin;
  if (const uint32_t known = frame->number.load(std::memory_order_relaxed)) return known;
  const uint32_t number = module_child(module_of(frame->parent), frame->text);
  frame->number.store(number, std::memory_order_relaxed);
  return number;
}

}  // namespace
}  // namespace internal

uint32_t current_module() { return internal::module_of(thread_state().annotation); }

std::string annotation_path(Annotation::Kind kind) {
  std::string path;
  for (const Annotation* a = thread_state().annotation; a; a = a->parent) {
    if (a->kind != kind) continue;
    path = path.empty() ? std::string(a->text) : std::string(a->text) + "." + path;
  }
  return path;
}

}  // namespace vellum
