#include "vellum/allocator/caching_streams.h"

#include <new>

namespace vellum::internal {

void StreamUses::Queue::push(StreamUse* use) {
  use->next = nullptr;
  (head ? tail->next : head) = use;
  tail = use;
}

StreamUse* StreamUses::Queue::pop() {
  StreamUse* use = head;
  head = use->next;
  return use;
}

StreamUses::~StreamUses() {
  for (const StreamUse& use : all_) (void)events_->destroy(use.event);
}

StreamUse* StreamUses::take() noexcept {
  if (resting_.head && !is_pending(resting_.head)) return resting_.pop();
  if (StreamUse* use = spare_) {
    spare_ = use->next;
    return use;
  }
  return make();
}

StreamUse* StreamUses::make() noexcept try {
  EventHandle event = 0;
  if (!events_->create(&event).ok()) return nullptr;
  try {
    all_.push_back({{}, event});
  } catch (const std::bad_alloc&) {
    (void)events_->destroy(event);
    return nullptr;
  }
  return &all_.back();
} catch (const std::bad_alloc&) {
  return nullptr;
}

void StreamUses::give_back(StreamUse* use) noexcept {
  use->next = spare_;
  spare_ = use;
}

void StreamUses::note(BlockRecord* record, const Stream& stream) noexcept try {
  if (!active() || stream.handle == record->stream.handle) return;
  for (const StreamUse* use = record->uses; use; use = use->next)
    if (use->stream.handle == stream.handle && !use->ended) return;
  queues_.try_emplace(stream.handle);  // so that freeing allocates nothing
  StreamUse* use = take();
  if (!use) throw std::bad_alloc();
  *use = {stream, use->event, record, record->uses};
  record->uses = use;
} catch (const std::bad_alloc&) {
  record->lost = true;
}

void StreamUses::end_use(BlockRecord* record, const Stream& stream) noexcept {
  for (StreamUse* use = record->uses; use; use = use->next)
    if (use->stream.handle == stream.handle && !use->ended) end(use);
}

// If nothing can be recorded, the device has a fault, and there is nothing left to wait for.
void StreamUses::end(StreamUse* use) noexcept {
  (void)events_->record(use->event, use->stream);
  use->ended = true;
}

void StreamUses::end_waiting(const Stream& stream) noexcept {
  Queue failed = unrecorded_;
  unrecorded_ = {};
  while (failed.head) {
    StreamUse* use = failed.pop();
    const bool ends = use->stream.handle == stream.handle;
    if (ends) end(use);
    (ends ? ended_ : unrecorded_).push(use);
  }
  const auto found = queues_.find(stream.handle);
  if (found == queues_.end()) return;
  while (found->second.head) ended_.push(found->second.pop());
  queues_.erase(found);
}

bool StreamUses::reserve() noexcept {
  if (!last_) last_ = make();
  return last_ != nullptr;
}

void StreamUses::order_last(const Stream& donor, const Stream& taker) noexcept {
  StreamUse* use = take();
  if (!use) {
    use = last_;
    (void)events_->synchronize(use->event);  // a stream may still wait for what it was recorded for
  }
  if (events_->record(use->event, donor).ok() && !events_->wait(taker, use->event).ok())
    (void)events_->synchronize(use->event);
  if (use != last_) resting_.push(use);
}

void StreamUses::defer(BlockRecord* record) noexcept {
  record->state = BlockState::kPending;
  record->unfinished = record->lost ? 1 : 0;
  ++pending_;
  while (StreamUse* use = record->uses) {
    record->uses = use->next;
    ++record->unfinished;
    ++unfinished_;
    push(use);
  }
}

void StreamUses::push(StreamUse* use) noexcept {
  if (use->ended) return ended_.push(use);
  const bool recorded = events_->record(use->event, use->stream).ok();
  (recorded ? queues_.find(use->stream.handle)->second : unrecorded_).push(use);
}

void StreamUses::record_again() {
  Queue failed = unrecorded_;
  unrecorded_ = {};
  while (failed.head) push(failed.pop());
}

bool StreamUses::is_pending(const StreamUse* use) const {
  return events_->query(use->event).code == StatusCode::kNotReady;
}

void StreamUses::finish(StreamUse* use, BlockRecord** finished) {
  BlockRecord* record = use->record;
  give_back(use);
  --unfinished_;
  if (--record->unfinished > 0) return;
  --pending_;
  record->next = *finished;
  *finished = record;
}

BlockRecord* StreamUses::poll() noexcept {
  BlockRecord* finished = nullptr;
  if (pending_ == 0) return finished;
  if (unrecorded_.head) record_again();
  // After a fault of the device, which shows at the next synchronisation, there is nothing left to wait for.
  for (auto& [stream, queue] : queues_)
    while (queue.head && !is_pending(queue.head)) finish(queue.pop(), &finished);
  Queue ended = ended_;
  ended_ = {};
  while (ended.head) {
    StreamUse* use = ended.pop();
    is_pending(use) ? ended_.push(use) : finish(use, &finished);
  }
  return finished;
}

bool StreamUses::next_pending(EventHandle* event) const {
  if (ended_.head) {
    *event = ended_.head->event;
    return true;
  }
  for (const auto& [stream, queue] : queues_) {
    if (!queue.head) continue;
    *event = queue.head->event;
    return true;
  }
  return false;
}

StreamUse* StreamUses::mark(const Stream& stream) noexcept {
  StreamUse* use = active() ? take() : nullptr;
  if (!use || events_->record(use->event, stream).ok()) return use;
  give_back(use);
  return nullptr;
}

bool StreamUses::order(const Stream& donor, const Stream& taker, bool if_idle) noexcept {
  StreamUse* use = mark(donor);
  if (!use) return false;
  if ((if_idle && is_pending(use)) || !events_->wait(taker, use->event).ok()) {
    give_back(use);
    return false;
  }
  resting_.push(use);
  return true;
}

}  // namespace vellum::internal
