#include "vellum/tensor/internal/live_objects.h"

#include <new>
#include <thread>

namespace vellum::internal {
namespace {

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

LiveTable* new_table() {
  AllTables& all = all_tables();
  std::lock_guard lock(all.mutex);
  if (!all.idle.empty()) {
    LiveTable* table = all.idle.back();
    all.idle.pop_back();
    return table;
  }
  all.idle.reserve(all.tables.size() + 1);
  all.tables.push_back(new LiveTable);
  return all.tables.back();
}

// For what is made while a thread's own objects are being destroyed.
LiveTable& late_table() {
  static LiveTable& table = *new_table();
  return table;
}

constinit thread_local LiveTable* tls_table = nullptr;

struct Owner {
  LiveTable* table = new_table();
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

bool LiveTable::grow(List& list) noexcept try {
  list.chunks.push_back(std::make_unique<LiveSlot[]>(kChunk));
  LiveSlot* chunk = list.chunks.back().get();
  for (size_t i = 0; i < kChunk; ++i) chunk[i] = {nullptr, i + 1 < kChunk ? &chunk[i + 1] : nullptr, this};
  list.free = chunk;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

LiveSlot* LiveTable::add(LiveKind kind, void* object) noexcept {
  lock();
  List& list = lists_[static_cast<size_t>(kind)];
  LiveSlot* slot = nullptr;
  if (list.free || grow(list)) {
    slot = list.free;
    list.free = slot->next;
    slot->object = object;
  }
  unlock();
  return slot;
}

void LiveTable::remove(LiveSlot* slot, LiveKind kind) noexcept {
  LiveTable& table = *slot->table;
  table.lock();
  slot->object = nullptr;
  List& list = table.lists_[static_cast<size_t>(kind)];
  slot->next = list.free;
  list.free = slot;
  table.unlock();
}

LiveObjects::LiveObjects() : lock_(all_tables().mutex), tables_(all_tables().tables) {
  for (LiveTable* table : tables_) table->lock();
}

LiveObjects::~LiveObjects() {
  for (LiveTable* table : tables_) table->unlock();
}

bool LiveObjects::others_have_nodes() const {
  for (const LiveTable* table : tables_) {
    if (table == tls_table) continue;
    for (const auto& chunk : table->lists_[static_cast<size_t>(LiveKind::kNode)].chunks)
      for (size_t i = 0; i < LiveTable::kChunk; ++i)
        if (chunk[i].object) return true;
  }
  return false;
}

}  // namespace vellum::internal
