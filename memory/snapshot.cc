#include "vellum/memory/snapshot.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "vellum/allocator/memory.h"
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
  std::vector<std::unique_ptr<Recording>> made;  // kept: a thread may be telling one of a block when it ends
  std::thread::id thread;                        // that started it
  bool ledger_was_on = false;
};

// Leaked on purpose: blocks may be freed after any static destructor.
Current& current() {
  static Current& instance = *new Current;
  return instance;
}

Recording* install(int64_t max_events) {
  Recording* recording = current().made.emplace_back(std::make_unique<Recording>(max_events)).get();
  current().recording = recording;
  current().thread = std::this_thread::get_id();
  current().ledger_was_on = is_ledger_enabled();
  internal::set_block_listener(recording);
  observe_segments(recording);
  set_ledger_enabled(true);
  return recording;
}

// Where the environment wants the snapshot; null: nowhere.
const char* wanted_path() {
  static const char* const path = [] {
    const char* text = std::getenv("VELLUM_MEMORY_SNAPSHOT");
    return text && *text ? text : nullptr;
  }();
  return path;
}

void write(const std::string& path, Device device, const Allocator& source, HolderGraph::Reach reach) {
  internal::RecordedBlocks recorded;
  {
    std::lock_guard lock(current().mutex);
    if (current().recording) recorded = current().recording->blocks();
  }
  internal::write_snapshot(path, device, source, std::move(recorded), reach);
}

void write_wanted(Device device, const Allocator& source) noexcept {
  static constinit std::atomic<bool> written = false;
  if (written.exchange(true)) return;
  try {
    write(wanted_path(), device, source, HolderGraph::Reach::kCareful);  // other threads may still be at work
  } catch (const std::exception& error) {
    std::fprintf(stderr, "VELLUM_MEMORY_SNAPSHOT: %s\n", error.what());
  }
}

// Nothing but a stub is set up here: allocators and devices may not have been registered yet.
[[maybe_unused]] const bool kWanted = [] {
  if (!wanted_path()) return false;
  constexpr int64_t kMaxEvents = 100'000;
  install(kMaxEvents);
  internal::ledger_state().at_out_of_memory.store(&write_wanted);
  std::atexit([] { write_wanted(Device(), allocator(Device())); });
  return true;
}();

}  // namespace

void memory_snapshot(const std::string& path, Device device) {
  write(path, device, allocator(device), HolderGraph::Reach::kAll);
}

void start_memory_recording(int64_t max_events) {
  if (max_events < 1)
    throw_error<InvalidArgumentError>("start_memory_recording: max_events must be positive, it is ", max_events);
  std::lock_guard lock(current().mutex);
  if (current().recording)
    throw_error<InvalidArgumentError>(
        "start_memory_recording: there is a recording already; call stop_memory_recording() first");
  install(max_events)->note_present();
}

void stop_memory_recording() {
  std::lock_guard lock(current().mutex);
  if (!current().recording) return;
  internal::set_block_listener(nullptr);
  observe_segments(nullptr);
  if (current().thread == std::this_thread::get_id()) set_ledger_enabled(current().ledger_was_on);
  current().recording->clear();
  current().recording = nullptr;
}

}  // namespace vellum
