#ifndef VELLUM_TENSOR_INTERNAL_LIVE_OBJECTS_H_
#define VELLUM_TENSOR_INTERNAL_LIVE_OBJECTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace vellum::internal {

struct TensorImpl;
class GraphNode;
class LiveTable;

enum class LiveKind : uint8_t { kTensor, kNode };

// The place of an object in the table of the thread that made it. An object that has one must leave it before it ends.
struct LiveSlot {
  std::atomic<void*> object{nullptr};  // null: free
  LiveSlot* next = nullptr;            // of the free ones
  LiveTable* table = nullptr;
};

// Which tensors and nodes are alive, of those that were made while somebody wanted to know. Each thread has a table of
// its own. It enters objects without a lock, for nobody minds whether a reader sees the newest. They leave while the
// table is held, lest a reader follow them into nothing. To hold it costs its own thread two plain stores and a load;
// other threads, and readers of all tables, take a lock. A reader announces itself to the table's thread by a store
// that a barrier of the system on all of the program's processors orders (membarrier(2)); where there is none, the
// table's thread takes the lock as well. (Asymmetric Dekker synchronization, after D. Dice, H. Huang and M. Yang,
// 2001.)
class alignas(64) LiveTable {
 public:
  // `is_shared`: threads that have no table of their own any more enter objects under the lock.
  explicit LiveTable(bool is_shared = false) : is_shared_(is_shared) {}

  // The calling thread's. Throws std::bad_alloc when it has none yet and no memory is left for one.
  static LiveTable& mine();

  // By the table's thread. Null when no memory is left for it.
  LiveSlot* add(LiveKind kind, void* object) noexcept;
  static void remove(LiveSlot* slot, LiveKind kind) noexcept;

  // Holds the table, once at a time. Returns what `leave` needs to know.
  bool hold() noexcept;
  void leave(bool is_own) noexcept { (is_own ? held_by_owner_ : busy_).store(false, std::memory_order_release); }

 private:
  friend class LiveObjects;
  static constexpr size_t kChunk = 512;

  struct List {
    LiveSlot* free = nullptr;                         // the thread's own
    LiveSlot* left = nullptr;                         // under the lock: free again
    std::vector<std::unique_ptr<LiveSlot[]>> chunks;  // under the lock
  };

  void lock() noexcept;
  void unlock() noexcept { busy_.store(false, std::memory_order_release); }
  LiveSlot* enter(List& list, void* object) noexcept;
  bool refill(List& list) noexcept;

  const bool is_shared_;
  std::atomic<bool> busy_{false};           // the lock
  std::atomic<bool> held_by_owner_{false};  // without the lock
  std::atomic<bool> has_reader_{false};     // then the owner takes the lock too
  std::array<List, 2> lists_;               // by kind
};

// All tables, held: no object that is in one begins or ends meanwhile, on any thread. Whoever holds this must not make
// or drop tensors or nodes.
class LiveObjects {
 public:
  LiveObjects();
  ~LiveObjects();
  LiveObjects(const LiveObjects&) = delete;
  LiveObjects& operator=(const LiveObjects&) = delete;

  template <typename F>
  void for_each_tensor(F&& visit) const {
    for_each(LiveKind::kTensor, [&](void* object) { visit(static_cast<TensorImpl*>(object)); });
  }
  template <typename F>
  void for_each_node(F&& visit) const {
    for_each(LiveKind::kNode, [&](void* object) { visit(static_cast<GraphNode*>(object)); });
  }
  // Whether a thread other than this one, which has not ended, has nodes.
  bool others_have_nodes() const;

 private:
  template <typename F>
  void for_each(LiveKind kind, F&& visit) const {
    for (const LiveTable* table : tables_)
      for (const auto& chunk : table->lists_[static_cast<size_t>(kind)].chunks)
        for (size_t i = 0; i < LiveTable::kChunk; ++i)
          if (void* object = chunk[i].object.load(std::memory_order_acquire)) visit(object);
  }

  std::unique_lock<std::mutex> lock_;
  const std::vector<LiveTable*>& tables_;
};

// Holds the table of a slot, for a change that a reader of all tables must not see halfway. Null: nothing to hold.
class LiveGuard {
 public:
  explicit LiveGuard(LiveSlot* slot) : table_(slot ? slot->table : nullptr) {
    if (table_) is_own_ = table_->hold();
  }
  ~LiveGuard() {
    if (table_) table_->leave(is_own_);
  }
  LiveGuard(const LiveGuard&) = delete;
  LiveGuard& operator=(const LiveGuard&) = delete;

 private:
  LiveTable* table_;
  bool is_own_ = false;
};

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_LIVE_OBJECTS_H_
