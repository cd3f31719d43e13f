#include "vellum/device/thread_state.h"

namespace vellum {

constinit thread_local ThreadState tls_state;
constinit HookTable hook_table;

std::string annotation_path(Annotation::Kind kind) {
  std::string path;
  for (const Annotation* a = thread_state().annotation; a; a = a->parent) {
    if (a->kind != kind) continue;
    path = path.empty() ? std::string(a->text) : std::string(a->text) + "." + path;
  }
  return path;
}

}  // namespace vellum
