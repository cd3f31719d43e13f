#include "vellum/memory/snapshot.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "vellum/device/error.h"
#include "vellum/memory/internal/recording.h"
#include "vellum/memory/ledger.h"

namespace vellum {
namespace {

using internal::HolderGraph;
using internal::Recording;

struct Current {
  std::mutex mutex;
  Recording* recording = nullptr;
  bool ledger_was_on = false;
};

// Leaked on purpose, as every recording is: a thread may be telling one of a block when it ends.
Current& current() {
  static Current& instance = *new Current;
  return instance;
}

void install(Recording* recording) {
  current().recording = recording;
  current().ledger_was_on = is_ledger_enabled();
  internal::ledger_state().listener.store(recording, std::memory_order_release);
  set_ledger_enabled(true);
}

// Where the environment wants the snapshot; null: nowhere.
const char* wanted_path() {
  static const char* const path = [] {
    const char* text = std::getenv("VELLUM_MEMORY_SNAPSHOT");
    return text && *text ? text : nullptr;
  }();
  return path;
}

void write(const std::string& path, Device device, HolderGraph::Reach reach) {
  internal::RecordedBlocks recorded;
  {
    std::lock_guard lock(current().mutex);
    if (current().recording) recorded = current().recording->blocks();
  }
  internal::write_snapshot(path, device, std::move(recorded), reach);
}

void write_wanted(Device device) noexcept {
  static constinit std::atomic<bool> written = false;
  if (written.exchange(true)) return;
  try {
    write(wanted_path(), device, HolderGraph::Reach::kCareful);  // other threads may still be at work
  } catch (const std::exception& error) {
    std::fprintf(stderr, "VELLUM_MEMORY_SNAPSHOT: %s\n", error.what());
  }
}

// Nothing but a stub is set up here: allocators and devices may not have been registered yet.
[[maybe_unused]] const bool kWanted = [] {
  if (!wanted_path()) return false;
  constexpr int64_t kMaxEvents = 100'000;
  install(new Recording(kMaxEvents));
  internal::ledger_state().at_out_of_memory.store(&write_wanted);
  std::atexit([] { write_wanted(Device()); });
  return true;
}();

}  // namespace

void memory_snapshot(const std::string& path, Device device) { write(path, device, HolderGraph::Reach::kAll); }

void start_memory_recording(int64_t max_events) {
  if (max_events < 1)
    throw_error<InvalidArgumentError>("start_memory_recording: max_events must be positive, it is ", max_events);
  std::lock_guard lock(current().mutex);
  if (current().recording)
    throw_error<InvalidArgumentError>(
        "start_memory_recording: there is a recording already; call stop_memory_recording() first");
  Recording* recording = new Recording(max_events);
  install(recording);
  recording->note_present();
}

void stop_memory_recording() {
  std::lock_guard lock(current().mutex);
  if (!current().recording) return;
  internal::ledger_state().listener.store(nullptr, std::memory_order_release);
  set_ledger_enabled(current().ledger_was_on);
  current().recording->clear();
  current().recording = nullptr;
}

}  // namespace vellum
