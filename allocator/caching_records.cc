#include "vellum/allocator/caching_records.h"

#include <new>
#include <tuple>
#include <utility>

namespace vellum::internal {
namespace {

constexpr size_t kSlabRecords = 64;

}  // namespace

bool AddressOrder::operator()(const BlockRecord* a, const BlockRecord* b) const {
  return std::tuple(a->segment->number, std::bit_cast<uintptr_t>(a->data)) <
         std::tuple(b->segment->number, std::bit_cast<uintptr_t>(b->data));
}

bool RecordPool::reserve(size_t count) noexcept try {
  if (spares_ >= count) return true;
  slabs_.push_back(std::make_unique<BlockRecord[]>(kSlabRecords));
  FreeSet scratch;
  for (size_t i = 0; i < kSlabRecords; ++i) {
    BlockRecord* record = &slabs_.back()[i];
    record->node = scratch.extract(scratch.insert(record).first);
    give_back(record);
  }
  return true;
} catch (const std::bad_alloc&) {
  return spares_ >= count;
}

BlockRecord* RecordPool::take() {
  BlockRecord* record = spare_;
  spare_ = record->next;
  --spares_;
  record->before = record->after = record->next = nullptr;
  record->state = BlockState::kUsed;
  record->lost = false;
  return record;
}

void RecordPool::give_back(BlockRecord* record) {
  record->next = spare_;
  spare_ = record;
  ++spares_;
}

}  // namespace vellum::internal
