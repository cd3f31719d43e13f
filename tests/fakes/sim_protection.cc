#include "vellum/tests/fakes/sim_protection.h"

#include <signal.h>

#include <cstdio>

#include "vellum/tests/fakes/sim_state.h"

namespace vellum::sim {
namespace {

struct sigaction previous;

// Not a handler of the strict kind: it formats text. The program ends anyhow.
void explain(int, siginfo_t* info, void*) {
  // The access is repeated and meets the handler that was there before.
  sigaction(SIGSEGV, &previous, nullptr);
  State& s = state();
  if (!s.mutex.try_lock()) return;
  if (const std::string block = s.memory.describe(info->si_addr); !block.empty()) {
    const std::string_view running = s.queues.running();
    std::fprintf(stderr, "sim: host code touched device memory: %s%s%.*s%s\n", block.c_str(),
                 running.empty() ? "" : ", in the work '", static_cast<int>(running.size()), running.data(),
                 running.empty() ? "" : "'");
  }
  s.mutex.unlock();
}

}  // namespace

void report_accesses() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = explain;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGSEGV, &action, &previous) == 0;
  }();
  (void)installed;
}

}  // namespace vellum::sim
