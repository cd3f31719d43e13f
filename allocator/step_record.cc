#include "vellum/allocator/step_record.h"

#include <algorithm>
#include <new>
#include <utility>

namespace vellum::internal {

void StepRecord::begin() {
  previous_ = std::move(current_);
  current_.clear();
  std::erase_if(live_, [&](const auto& block) { return block.second.step < step_; });
  ++step_;
  broken_ = false;
}

bool StepRecord::end() {
  return !broken_ && !current_.empty() &&
         std::equal(current_.begin(), current_.end(), previous_.begin(), previous_.end(),
                    [](const RecordedBlock& a, const RecordedBlock& b) {
                      return a.same_request(b.bytes, b.alignment, b.stream);
                    });
}

void StepRecord::clear() { *this = {}; }

void StepRecord::allocated(const Block& block, size_t alignment, const Stream& stream) noexcept try {
  current_.push_back({block.bytes, alignment, stream, {}, {}, false});
  live_[block.data] = {step_, current_.size() - 1};
} catch (const std::bad_alloc&) {
  broken_ = true;
}

RecordedBlock* StepRecord::find(const Place& place) {
  std::vector<RecordedBlock>& blocks = place.step == step_ ? current_ : previous_;
  return place.step + 1 >= step_ && place.index < blocks.size() ? &blocks[place.index] : nullptr;
}

void StepRecord::freed(const void* data, const Stream& stream) noexcept {
  const auto found = live_.find(data);
  if (found == live_.end()) return;
  if (RecordedBlock* block = find(found->second)) {
    (found->second.step == step_ ? block->freed : block->freed_next) = current_.size();
    block->crossed |= block->stream != stream;
  }
  live_.erase(found);
}

void StepRecord::crossed(const void* data) noexcept {
  const auto found = live_.find(data);
  if (found == live_.end()) return;
  if (RecordedBlock* block = find(found->second)) block->crossed = true;
}

}  // namespace vellum::internal
