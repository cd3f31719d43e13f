#include "vellum/profiler/internal/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace vellum::internal {
namespace {

int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Recording::add(Recording&& other) {
  calls.resize(std::max(calls.size(), other.calls.size()));
  modules.resize(std::max(modules.size(), other.modules.size()));
  if (events.empty())
    events = std::move(other.events);
  else
    events.insert(events.end(), other.events.begin(), other.events.end());
  for (size_t i = 0; i < other.calls.size(); ++i) {
    CallTotals& to = calls[i];
    const CallTotals& from = other.calls[i];
    to = {to.calls + from.calls, to.total + from.total, to.self + from.self, to.bytes + from.bytes,
          to.self_bytes + from.self_bytes};
  }
  for (size_t i = 0; i < other.modules.size(); ++i) {
    ModuleTotals& to = modules[i];
    const ModuleTotals& from = other.modules[i];
    to = {to.calls + from.calls,       to.total + from.total, to.self + from.self,
          to.backward + from.backward, to.bytes + from.bytes, to.self_bytes + from.self_bytes};
  }
  inside += other.inside;
  dropped += other.dropped;
}

ProfilerSession::ProfilerSession(const ProfilerOptions& options)
    : options_(options),
      room_(options.max_events),
      names_{{Annotation::Kind::kModule, ""}, {Annotation::Kind::kUser, "(other names)"}},
      shapes_{""},
      start_(now()) {}

int64_t ProfilerSession::now() const { return options_.clock ? options_.clock() : steady_now(); }

uint32_t ProfilerSession::name(Annotation::Kind kind, std::string_view text) {
  std::lock_guard lock(mutex_);
  TextNumbers& numbers = name_numbers_[static_cast<size_t>(kind)];
  if (const auto found = numbers.find(text); found != numbers.end()) return found->second;
  if (names_.size() >= kMaxNames) return 1;
  const uint32_t number = static_cast<uint32_t>(names_.size());
  names_.push_back({kind, std::string(text)});
  numbers.emplace(text, number);
  return number;
}

uint32_t ProfilerSession::shapes(std::string_view code) {
  std::lock_guard lock(mutex_);
  if (const auto found = shapes_numbers_.find(code); found != shapes_numbers_.end()) return found->second;
  const uint32_t number = static_cast<uint32_t>(shapes_.size());
  shapes_.emplace_back(code);
  shapes_numbers_.emplace(code, number);
  return number;
}

uint32_t ProfilerSession::enter() {
  std::lock_guard lock(mutex_);
  const uint32_t next = static_cast<uint32_t>(threads_.size()) + 1;
  const uint32_t number = threads_.try_emplace(std::this_thread::get_id(), next).first->second;
  ++unfinished_;
  return number;
}

void ProfilerSession::leave(Recording&& recording) noexcept {
  std::lock_guard lock(mutex_);
  if (!is_active()) return;
  const int64_t events = static_cast<int64_t>(recording.events.size());
  try {
    recording_.add(std::move(recording));
    --unfinished_;
  } catch (const std::bad_alloc&) {
    recording_.dropped += events;
  }
}

void ProfilerSession::stop() noexcept {
  const int64_t end = now();
  std::lock_guard lock(mutex_);
  if (!active_.exchange(false)) return;
  end_ = end;
}

const ProfilerSession::Name& ProfilerSession::name_of(uint32_t name) const {
  std::lock_guard lock(mutex_);
  return names_[name];
}

const std::string& ProfilerSession::shapes_of(uint32_t shapes) const {
  std::lock_guard lock(mutex_);
  return shapes_[shapes];
}

}  // namespace vellum::internal
