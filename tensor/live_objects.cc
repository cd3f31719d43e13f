#include "vellum/tensor/internal/live_objects.h"

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

namespace vellum::internal {
namespace {

// Whether a thread can make all others of the process order their stores before their loads.
const bool kHasBarrier = [] {
#ifdef __linux__
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}();

void order_other_threads() {
#ifdef __linux__
  if (kHasBarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

struct AllTables {
  std::mutex mutex;
  std::vector<LiveTable*> tables;
  std::vector<LiveTable*> idle;  // of threads that have ended; their objects may live on
};

// Leaked on purpose: objects may end after any static destructor.
AllTables& all_tables() {
  static AllTables& all = *new AllTables;
  return all;
}

LiveTable* new_table(bool is_shared) {
  AllTables& all = all_tables();
  std::lock_guard lock(all.mutex);
  if (!is_shared && !all.idle.empty()) {
    LiveTable* table = all.idle.back();
    all.idle.pop_back();
    return table;
  }
  all.idle.reserve(all.tables.size() + 1);
  all.tables.reserve(all.tables.size() + 1);
  return all.tables.emplace_back(new LiveTable(is_shared));
}

// For what is made while a thread's own objects are being destroyed.
LiveTable& late_table() {
  static LiveTable& table = *new_table(/*is_shared=*/true);
  return table;
}

constinit thread_local LiveTable* tls_table = nullptr;

struct Owner {
  LiveTable* table = new_table(/*is_shared=*/false);
  ~Owner() {
    tls_table = &late_table();
    AllTables& all = all_tables();
    std::lock_guard lock(all.mutex);
    all.idle.push_back(table);
  }
};

[[gnu::noinline]] LiveTable& first_use() {
  static thread_local Owner owner;
  tls_table = owner.table;
  return *tls_table;
}

}  // namespace

LiveTable& LiveTable::mine() { return tls_table ? *tls_table : first_use(); }

void LiveTable::lock() noexcept {
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
}

bool LiveTable::hold() noexcept {
  if (kHasBarrier && this == tls_table && !is_shared_) [[likely]] {
    held_by_owner_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the barrier of a reader makes the processor keep this order
    if (!has_reader_.load(std::memory_order_acquire)) [[likely]]
      return true;
    held_by_owner_.store(false, std::memory_order_release);
  }
  lock();
  return false;
}

// Under the lock.
bool LiveTable::refill(List& list) noexcept try {
  list.free = std::exchange(list.left, nullptr);
  if (list.free) return true;
  list.chunks.push_back(std::make_unique<LiveSlot[]>(kChunk));
  LiveSlot* chunk = list.chunks.back().get();
  for (size_t i = 0; i < kChunk; ++i) {
    chunk[i].table = this;
    if (i + 1 < kChunk) chunk[i].next = &chunk[i + 1];
  }
  list.free = chunk;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

LiveSlot* LiveTable::enter(List& list, void* object) noexcept {
  LiveSlot* slot = list.free;
  list.free = slot->next;
  slot->object.store(object, std::memory_order_release);
  return slot;
}

LiveSlot* LiveTable::add(LiveKind kind, void* object) noexcept {
  List& list = lists_[static_cast<size_t>(kind)];
  if (!is_shared_ && list.free) [[likely]]
    return enter(list, object);
  lock();
  LiveSlot* slot = list.free || refill(list) ? enter(list, object) : nullptr;
  unlock();
  return slot;
}

void LiveTable::remove(LiveSlot* slot, LiveKind kind) noexcept {
  LiveTable& table = *slot->table;
  List& list = table.lists_[static_cast<size_t>(kind)];
  const bool is_own = table.hold();
  slot->object.store(nullptr, std::memory_order_relaxed);
  slot->next = std::exchange(is_own ? list.free : list.left, slot);
  table.leave(is_own);
}

LiveObjects::LiveObjects() : lock_(all_tables().mutex), tables_(all_tables().tables) {
  for (LiveTable* table : tables_) {
    table->lock();
    table->has_reader_.store(true, std::memory_order_relaxed);
  }
  order_other_threads();
  for (LiveTable* table : tables_)
    while (table->held_by_owner_.load(std::memory_order_acquire)) std::this_thread::yield();
}

LiveObjects::~LiveObjects() {
  for (LiveTable* table : tables_) {
    table->has_reader_.store(false, std::memory_order_release);
    table->unlock();
  }
}

bool LiveObjects::others_have_nodes() const {
  const std::vector<LiveTable*>& idle = all_tables().idle;
  for (const LiveTable* table : tables_) {
    // At exit() the main thread's own table is that of a thread that has ended.
    if (table == tls_table || std::ranges::find(idle, table) != idle.end()) continue;
    for (const auto& chunk : table->lists_[static_cast<size_t>(LiveKind::kNode)].chunks)
      for (size_t i = 0; i < LiveTable::kChunk; ++i)
        if (chunk[i].object.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace vellum::internal
