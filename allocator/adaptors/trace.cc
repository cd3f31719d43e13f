#include "vellum/allocator/adaptors/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <ostream>
#include <sstream>
#include <utility>

#include "vellum/device/atomic_file.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"

namespace vellum {
namespace {

using Action = TraceEvent::Action;

int64_t this_thread() {
  thread_local const int64_t number = ::syscall(SYS_gettid);
  return number;
}

std::string tag_of_thread() {
  std::string tag;
  for (const Annotation* frame = thread_state().annotation; frame; frame = frame->parent)
    tag.insert(0, std::string(frame->text) + (tag.empty() ? "" : "/"));
  return tag;
}

// Null for what RMM's log does not have.
const char* csv_action(Action action) {
  switch (action) {
    case Action::kAlloc:
      return "allocate";
    case Action::kFree:
      return "free";
    case Action::kOom:
      return "allocate failure";
    default:
      return nullptr;
  }
}

std::string csv_line(const TraceEvent& event) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(event.time.time_since_epoch()).count();
  const std::time_t seconds = since / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char line[160];
  std::snprintf(line, sizeof line, "%lld,%02d:%02d:%02d.%06d,%s,0x%llx,%zu,%llu\n",
                static_cast<long long>(event.thread), parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(since % 1'000'000), csv_action(event.action),
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(event.address)), event.bytes,
                static_cast<unsigned long long>(event.stream.handle));
  return line;
}

}  // namespace

TraceLog::TraceLog(size_t capacity) : capacity_(capacity) {
  if (capacity == 0) throw_error<InvalidArgumentError>("TraceLog: the capacity must be 1 event or more, it is 0");
}

void TraceLog::record(Action action, const void* address, size_t bytes, const Stream& stream) noexcept {
  TraceEvent event{action, {}, address, bytes, stream, this_thread(), {}};
  try {
    event.tag = tag_of_thread();
  } catch (const std::exception&) {
    // An event without its tag is better than none.
  }
  std::lock_guard lock(mutex_);
  event.time = std::chrono::system_clock::now();  // under the lock, so that times do not fall
  try {
    if (ring_.size() < capacity_) {
      ring_.push_back(std::move(event));
      return;
    }
  } catch (const std::exception&) {
    ++overwritten_;
    return;
  }
  ring_[next_] = std::move(event);
  next_ = (next_ + 1) % capacity_;
  ++overwritten_;
}

std::vector<TraceEvent> TraceLog::events() const {
  std::lock_guard lock(mutex_);
  std::vector<TraceEvent> events;
  events.reserve(ring_.size());
  for (size_t k = 0; k < ring_.size(); ++k) events.push_back(ring_[(next_ + k) % ring_.size()]);
  return events;
}

int64_t TraceLog::overwritten() const {
  std::lock_guard lock(mutex_);
  return overwritten_;
}

void TraceLog::clear() {
  std::lock_guard lock(mutex_);
  ring_.clear();
  next_ = 0;
  overwritten_ = 0;
}

void TraceLog::write_csv(std::ostream& out) const {
  out << "Thread,Time,Action,Pointer,Size,Stream\n";
  for (const TraceEvent& event : events())
    if (csv_action(event.action)) out << csv_line(event);
}

void TraceLog::write_csv(const std::string& path) const {
  internal::AtomicFile file(path);
  std::ostringstream text;
  write_csv(text);
  file.write(text.view());
  file.commit();
}

TraceAdaptor::TraceAdaptor(std::unique_ptr<Allocator> upstream, std::shared_ptr<TraceLog> log, TraceLevel level)
    : Adaptor("trace", std::move(upstream)), log_(std::move(log)), level_(level) {
  if (!log_) throw_error<InvalidArgumentError>("TraceAdaptor: the log is null; pass std::make_shared<TraceLog>()");
  if (PageSource* pages = Adaptor::pages(); pages && level == TraceLevel::kSegments) pages_.emplace(*pages, *log_);
}

Status TraceAdaptor::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  const Status status = Adaptor::allocate(bytes, alignment, stream, out);
  if (status.ok())
    log_->record(level_ == TraceLevel::kBlocks ? Action::kAlloc : Action::kSegmentAlloc, out->data, bytes, stream);
  else if (status.code == StatusCode::kOutOfMemory)
    log_->record(Action::kOom, nullptr, bytes, stream);
  return status;
}

void TraceAdaptor::deallocate(const Block& block, const Stream& stream) noexcept {
  // Before the memory can be handed out again: in the log, a free comes before the next use of the address.
  log_->record(level_ == TraceLevel::kBlocks ? Action::kFree : Action::kSegmentFree, block.data, block.bytes, stream);
  Adaptor::deallocate(block, stream);
}

Status TraceAdaptor::TracedPages::map(void* data, size_t bytes) noexcept {
  const Status status = pages_.map(data, bytes);
  if (status.ok()) log_.record(Action::kSegmentMap, data, bytes, {});
  return status;
}

Status TraceAdaptor::TracedPages::unmap(void* data, size_t bytes) noexcept {
  const Status status = pages_.unmap(data, bytes);
  if (status.ok()) log_.record(Action::kSegmentUnmap, data, bytes, {});
  return status;
}

}  // namespace vellum
