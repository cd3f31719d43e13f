#include "vellum/profiler/internal/thread_log.h"

#include <new>
#include <utility>

#include "vellum/allocator/memory.h"
#include "vellum/tensor/tensor.h"
#include "vellum/tensor/tensor_impl.h"

namespace vellum::internal {
namespace {

constexpr size_t kUsualDepth = 64;

template <typename T>
void make_room_for(std::vector<T>& list, uint32_t number) {
  if (list.size() <= number) list.resize(number + 1);
}

}  // namespace

ThreadLog::ThreadLog(std::shared_ptr<ProfilerSession> session, bool passing)
    : session_(std::move(session)), passing_(passing), thread_(session_->enter()) {
  open_.reserve(kUsualDepth);
}

// Everything that can fail or takes long comes before the clock is read, and nothing has been changed until then.
void ThreadLog::begin(const Annotation& frame) noexcept try {
  Open call{.frame = &frame, .kind = frame.kind, .name = name_of(frame), .module = module_of(frame)};
  if (session_->options().shapes && !frame.operands.empty() && session_->has_room()) call.shapes = shapes_of(frame);
  make_room_for(recording_.calls, call.name);
  make_room_for(recording_.modules, call.module);
  open_.push_back(call);
  ++recording_.calls[call.name].open;
  open_.back().bytes = allocated_on_this_thread();
  open_.back().start = session_->now();
} catch (const std::bad_alloc&) {
  ++recording_.dropped;
}

void ThreadLog::end(const Annotation& frame) noexcept {
  const int64_t now = session_->now();
  size_t i = open_.size();
  while (i > 0 && open_[i - 1].frame != &frame) --i;
  if (i == 0) return;
  const int64_t bytes = allocated_on_this_thread();
  while (open_.size() >= i) close(now, bytes);
}

void ThreadLog::finish() noexcept {
  const int64_t now = session_->now(), bytes = allocated_on_this_thread();
  while (!open_.empty()) close(now, bytes);
  session_->leave(std::move(recording_));
}

uint32_t ThreadLog::module() noexcept try {
  return open_.empty() ? module_around(thread_state().annotation) : open_.back().module;
} catch (const std::bad_alloc&) {
  return 0;
}

uint32_t ThreadLog::name_of(const Annotation& frame) {
  if (frame.kind == Annotation::Kind::kModule) return kModuleName;
  TextNumbers& known = names_[static_cast<size_t>(frame.kind)];
  if (const auto found = known.find(frame.text); found != known.end()) return found->second;
  const uint32_t number = session_->name(frame.kind, frame.text);
  if (known.size() < kMaxNames) known.emplace(frame.text, number);
  return number;
}

uint32_t ThreadLog::child(uint32_t parent, std::string_view name) {
  make_room_for(children_, parent);
  TextNumbers& known = children_[parent];
  if (const auto found = known.find(name); found != known.end()) return found->second;
  const uint32_t number = module_child(parent, name);
  if (number != parent) known.emplace(name, number);
  return number;
}

// The module of frames that were pushed before this log began, or on the thread that this one works for.
uint32_t ThreadLog::module_around(const Annotation* frame) {
  if (!frame) return 0;
  if (frame->kind == Annotation::Kind::kBackward) return frame->origin;
  const uint32_t around = module_around(frame->parent);
  return frame->kind == Annotation::Kind::kModule ? child(around, frame->text) : around;
}

uint32_t ThreadLog::module_of(const Annotation& frame) {
  if (frame.kind == Annotation::Kind::kBackward) return frame.origin;
  const uint32_t around = open_.empty() ? module_around(frame.parent) : open_.back().module;
  return frame.kind == Annotation::Kind::kModule ? child(around, frame.text) : around;
}

uint32_t ThreadLog::shapes_of(const Annotation& frame) {
  encode_shapes(frame.operands, &shapes_code_);
  if (const auto found = shapes_.find(shapes_code_); found != shapes_.end()) return found->second;
  return shapes_.emplace(shapes_code_, session_->shapes(shapes_code_)).first->second;
}

void ThreadLog::close(int64_t now, int64_t bytes_now) noexcept {
  const Open call = open_.back();
  open_.pop_back();
  const int64_t duration = now - call.start, bytes = bytes_now - call.bytes;
  count(call, duration, bytes);
  if (open_.empty()) {
    recording_.inside += duration;
  } else {
    const bool is_own_module = call.kind == Annotation::Kind::kModule || call.kind == Annotation::Kind::kBackward;
    Open& outer = open_.back();
    outer.inner_time += duration;
    outer.inner_bytes += bytes;
    outer.modules_time += is_own_module ? duration : call.modules_time;
    outer.modules_bytes += is_own_module ? bytes : call.modules_bytes;
  }
  keep(
      {call.start, duration, bytes, call.name, call.module, call.shapes, static_cast<uint32_t>(open_.size()), thread_});
}

void ThreadLog::count(const Open& call, int64_t duration, int64_t bytes) noexcept {
  CallTotals& totals = recording_.calls[call.name];
  ++totals.calls;
  totals.self += duration - call.inner_time;
  totals.self_bytes += bytes - call.inner_bytes;
  if (--totals.open == 0) {
    totals.total += duration;
    totals.bytes += bytes;
  }
  ModuleTotals& module = recording_.modules[call.module];
  if (call.kind == Annotation::Kind::kBackward) module.backward += duration - call.modules_time;
  if (call.kind != Annotation::Kind::kModule) return;
  ++module.calls;
  module.total += duration;
  module.self += duration - call.modules_time;
  module.bytes += bytes;
  module.self_bytes += bytes - call.modules_bytes;
}

void ThreadLog::keep(const Event& event) noexcept try {
  if (session_->take_room())
    recording_.events.push_back(event);
  else
    ++recording_.dropped;
} catch (const std::bad_alloc&) {
  ++recording_.dropped;
}

void encode_shapes(std::span<const Tensor* const> operands, std::string* code) {
  code->clear();
  for (const Tensor* operand : operands) {
    const TensorImpl* t = operand->impl_or_null();
    code->push_back(static_cast<char>(t ? t->dtype : DType::kUndefined));
    code->push_back(static_cast<char>(t ? t->rank : 0));
    if (t) code->append(reinterpret_cast<const char*>(t->sizes), t->rank * sizeof(int64_t));
  }
}

}  // namespace vellum::internal
