#ifndef VELLUM_MEMORY_INTERNAL_RECORDING_H_
#define VELLUM_MEMORY_INTERNAL_RECORDING_H_

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "vellum/memory/internal/holder_graph.h"
#include "vellum/memory/internal/ledger_state.h"
#include "vellum/memory/ledger.h"

namespace vellum::internal {

// What is known of a block, live or freed. Times in microseconds since the recording began.
struct RecordedBlock {
  uint64_t id = 0;
  const Allocator* source = nullptr;  // told apart by address only: it may be gone
  Stream stream;
  const void* data = nullptr;
  int64_t bytes = 0;
  int64_t requested = 0;
  MemoryCategory category = MemoryCategory::kUser;
  uint32_t op = 0;
  uint32_t module = 0;
  uint64_t sequence = 0;
  DType dtype = DType::kUndefined;
  Dims shape;
  std::shared_ptr<const std::string> name;  // a tensor's label; null: none had one. Shared, for most have none.
  double allocated = 0;
  double freed = -1;  // not yet
};

struct MemoryEvent {
  enum class Action : uint8_t {
    kAlloc,
    kFree,
    kOutOfMemory,
    kSegmentAlloc,
    kSegmentFree,
    kSegmentMap,
    kSegmentUnmap,
  };
  double time = 0;
  Action action = Action::kAlloc;
  const Allocator* source = nullptr;
  uint64_t block = 0;  // 0: of no block
  const void* data = nullptr;
  int64_t bytes = 0;
};

struct OutOfMemory {
  const Allocator* source = nullptr;
  int64_t requested = -1;  // none happened
  std::string text;
};

// What a recording has at one moment.
struct RecordedBlocks {
  absl::flat_hash_map<uint64_t, RecordedBlock> live;
  std::deque<RecordedBlock> ended;
  std::deque<MemoryEvent> events;
  int64_t dropped = 0;
  OutOfMemory out_of_memory;
};

class Recording final : public BlockListener, public SegmentObserver {
 public:
  explicit Recording(int64_t max_events) : max_events_(static_cast<size_t>(max_events)) {}

  // Notes what is in use already.
  void note_present();

  void allocated(const StorageOrigin& origin, Allocator& source, const Block& block, const Stream& stream,
                 bool is_workspace) override;
  void described(uint64_t id, const TensorImpl& tensor) override;
  void named(uint64_t id, const TensorImpl& tensor) override;
  void freed(uint64_t id, uint8_t roles) override;
  void out_of_memory(const Allocator& source, int64_t bytes, const std::string& text) override;

  void segment_changed(const Allocator& source, SegmentChange change, const void* data, size_t bytes) noexcept override;

  RecordedBlocks blocks() const;  // a copy
  void clear();

 private:
  double now() const;
  void add(MemoryEvent event);

  const size_t max_events_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  // no allocator is called under it: their locks are held while segments are told
  RecordedBlocks blocks_;
};

// The most telling of the roles that a block ever had (bits as in Storage::roles()); kUser when it had none.
MemoryCategory category_of_roles(uint8_t roles);

// Writes the file of one allocator of a device. `recorded` may be empty.
void write_snapshot(const std::string& path, Device device, const Allocator& source, RecordedBlocks recorded,
                    HolderGraph::Reach reach);

}  // namespace vellum::internal

#endif  // VELLUM_MEMORY_INTERNAL_RECORDING_H_
