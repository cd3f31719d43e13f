#ifndef VELLUM_ALLOCATOR_STEP_RECORD_H_
#define VELLUM_ALLOCATOR_STEP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "vellum/allocator/allocator.h"

namespace vellum::internal {

// An allocation of a step. Moments are given as the number of allocations that the step had made by then.
struct RecordedBlock {
  size_t bytes = 0;
  size_t alignment = 0;
  Stream stream;
  std::optional<size_t> freed;       // in its own step, or between that and the next
  std::optional<size_t> freed_next;  // in the next step
  bool crossed = false;              // used or freed on another stream

  bool same_request(size_t other_bytes, size_t other_alignment, const Stream& other_stream) const {
    return bytes == other_bytes && alignment == other_alignment && stream == other_stream;
  }
};

// What a step of a program allocates, and how long it keeps it. Repeated steps are told apart from the first ones,
// which make the state of optimizers, by comparing each with the one before. What a step leaves behind for the next,
// such as gradients, has the lifetime that the next one shows. Not thread-safe.
class StepRecord {
 public:
  void begin();
  // Returns whether the step made the same requests in the same order as the one before.
  bool end();
  void clear();

  // `block` was allocated by this step. Never throws; a record that runs out of memory equals no other.
  void allocated(const Block& block, size_t alignment, const Stream& stream) noexcept;
  // Of any block, before its memory can be handed out again.
  void freed(const void* data, const Stream& stream) noexcept;
  void crossed(const void* data) noexcept;

  // The step before the last, whose lifetimes are known as far as the last step.
  const std::vector<RecordedBlock>& blocks() const { return previous_; }
  size_t steps() const { return step_; }

 private:
  struct Place {
    size_t step;
    size_t index;
  };
  RecordedBlock* find(const Place& place);

  std::vector<RecordedBlock> previous_, current_;
  std::unordered_map<const void*, Place> live_;
  size_t step_ = 0;  // number of the current one, from 1
  bool broken_ = false;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_STEP_RECORD_H_
