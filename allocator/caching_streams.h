#ifndef VELLUM_ALLOCATOR_CACHING_STREAMS_H_
#define VELLUM_ALLOCATOR_CACHING_STREAMS_H_

#include <cstddef>
#include <deque>
#include <map>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/caching_records.h"

namespace vellum::internal {

// One use of a block on another stream than its own, with the event that will tell its end. Also carries a lone event.
struct StreamUse {
  Stream stream;
  EventHandle event = 0;
  BlockRecord* record = nullptr;
  StreamUse* next = nullptr;
  bool ended = false;  // the event has been recorded before the block was freed, because the stream ended
};

// What streams have still to do to blocks. Over an upstream whose device works at once there is nothing to know, and
// every function returns at once. Not thread-safe: the heap calls it under its lock.
//
// Freed blocks wait in one queue for each stream that used them, oldest first, so that a slow stream holds up no other.
// Events are used again; one that later work may still be waiting for, only after it is complete.
class StreamUses {
 public:
  // `events` may be null and outlives this.
  explicit StreamUses(EventSource* events) : events_(events) {}
  // The blocks that wait are forgotten.
  ~StreamUses();
  StreamUses(const StreamUses&) = delete;
  StreamUses& operator=(const StreamUses&) = delete;

  bool active() const { return events_ != nullptr; }

  // A block in use is used on `stream`. Where that cannot be noted, the block is marked as lost.
  void note(BlockRecord* record, const Stream& stream) noexcept;
  // `stream` is about to end. The block's use on it, if there is one, has been given to the stream as a whole.
  void end_use(BlockRecord* record, const Stream& stream) noexcept;
  // And so have the uses of the blocks that wait. After end_use of every block.
  void end_waiting(const Stream& stream) noexcept;
  // As order, whatever fails; waits for the device where it must. Needs `reserve` to have succeeded.
  void order_last(const Stream& donor, const Stream& taker) noexcept;
  // Whether there is an event for order_last.
  bool reserve() noexcept;
  static bool has_uses(const BlockRecord* record) { return record->uses || record->lost; }

  // Records the events of a freed block's uses.
  void defer(BlockRecord* record) noexcept;
  // The blocks whose uses have all come to an end since, linked by `next`.
  BlockRecord* poll() noexcept;
  size_t pending() const { return pending_; }        // blocks
  size_t unfinished() const { return unfinished_; }  // uses
  // The event of any use that has not ended; false when there is none.
  bool next_pending(EventHandle* event) const;

  // Orders the later work of `taker` after what `donor` has been given so far. With `if_idle`, only if that is done.
  // Returns whether blocks may change hands.
  bool order(const Stream& donor, const Stream& taker, bool if_idle) noexcept;

  // An event recorded on `stream` now, for the host to wait for; null if that fails. To be given back.
  StreamUse* mark(const Stream& stream) noexcept;
  void give_back(StreamUse* use) noexcept;

 private:
  struct Queue {
    StreamUse* head = nullptr;
    StreamUse* tail = nullptr;
    void push(StreamUse* use);
    StreamUse* pop();
  };

  StreamUse* make() noexcept;
  StreamUse* take() noexcept;
  void finish(StreamUse* use, BlockRecord** finished);
  void record_again();
  void end(StreamUse* use) noexcept;
  void push(StreamUse* use) noexcept;
  bool is_pending(const StreamUse* use) const;

  EventSource* const events_;
  std::deque<StreamUse> all_;
  std::map<StreamHandle, Queue> queues_;
  Queue ended_;       // those of streams that have ended, in no order
  Queue unrecorded_;  // uses whose event the device would not record; tried again at each poll
  Queue resting_;     // lone events that a stream may still wait for
  StreamUse* spare_ = nullptr;
  StreamUse* last_ = nullptr;  // for order_last alone
  size_t pending_ = 0;
  size_t unfinished_ = 0;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_STREAMS_H_
