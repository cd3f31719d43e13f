#include "vellum/allocator/caching_thread_cache.h"

#include <algorithm>
#include <unordered_map>

namespace vellum::internal {
namespace {

// The allocators that exist, so that an ending thread hands its caches only to those.
struct Instances {
  std::mutex mutex;
  uint64_t last = 0;
  std::unordered_map<uint64_t, ThreadCaches*> alive;
};

// Leaked on purpose: threads may end after static destruction.
Instances& instances() {
  static Instances& all = *new Instances;
  return all;
}

uint64_t next_instance() {
  Instances& all = instances();
  std::lock_guard lock(all.mutex);
  return ++all.last;
}

constinit thread_local bool tls_ended = false;

// All caches of one thread, handed over when it ends.
class CachesOfThread {
 public:
  ~CachesOfThread() {
    tls_ended = true;
    std::fill(std::begin(tls_cache_slots), std::end(tls_cache_slots), CacheSlot{});
    Instances& all = instances();
    std::lock_guard lock(all.mutex);
    for (const CacheSlot& entry : entries_)
      if (const auto it = all.alive.find(entry.instance); it != all.alive.end()) it->second->retire(entry.cache);
  }

  ThreadCache* find(uint64_t instance) const {
    for (const CacheSlot& entry : entries_)
      if (entry.instance == instance) return entry.cache;
    return nullptr;
  }

  // Makes room for one more entry and forgets those of destroyed allocators.
  void reserve() {
    Instances& all = instances();
    std::lock_guard lock(all.mutex);
    std::erase_if(entries_, [&](const CacheSlot& entry) { return !all.alive.contains(entry.instance); });
    entries_.reserve(entries_.size() + 1);
  }
  void add(const CacheSlot& entry) { entries_.push_back(entry); }

 private:
  std::vector<CacheSlot> entries_;
};

CachesOfThread& caches_of_thread() {
  static thread_local CachesOfThread caches;
  return caches;
}

}  // namespace

constinit thread_local CacheSlot tls_cache_slots[kCacheSlots];

// Of each list keeps count >> shift blocks, those freed last.
BlockRecord* ThreadCache::detach(int shift) {
  BlockRecord* detached = nullptr;
  for (List& list : lists_) {
    const uint32_t keep = shift == kAll ? 0 : list.count >> shift;
    BlockRecord** link = &list.head;
    for (uint32_t i = 0; i < keep; ++i) link = &(*link)->next;
    BlockRecord* rest = *link;
    *link = nullptr;
    list.count = keep;
    while (BlockRecord* record = rest) {
      rest = record->next;
      bytes_ -= record->bytes;
      record->next = detached;
      detached = record;
    }
  }
  return detached;
}

ThreadCaches::ThreadCaches(CachingHeap& heap)
    : instance_(next_instance()), heap_(heap), last_resort_cache_(add_cache()) {
  Instances& all = instances();
  std::lock_guard lock(all.mutex);
  all.alive.emplace(instance_, this);
}

ThreadCaches::~ThreadCaches() {
  {
    Instances& all = instances();
    std::lock_guard lock(all.mutex);
    all.alive.erase(instance_);
  }
  for (const auto& cache : all_) hand_over(*cache);
}

ThreadCache* ThreadCaches::find() const noexcept {
  if (ThreadCache* cache = find_fast()) return cache;
  return tls_ended ? nullptr : caches_of_thread().find(instance_);
}

ThreadCaches::Use::Use(ThreadCaches& caches) : caches_(caches), cache_(find_or_make()) {}

ThreadCaches::Use::Use(ThreadCaches& caches, std::nothrow_t) noexcept : caches_(caches) {
  try {
    cache_ = find_or_make();
  } catch (const std::bad_alloc&) {
    last_resort_ = std::unique_lock(caches_.last_resort_mutex_);
    cache_ = caches_.last_resort_cache_;
  }
}

ThreadCache* ThreadCaches::Use::find_or_make() {
  if (ThreadCache* cache = caches_.find_fast()) return cache;
  if (tls_ended) {
    ThreadCache* cache = caches_.acquire();
    borrowed_ = true;
    return cache;
  }
  CachesOfThread& mine = caches_of_thread();
  ThreadCache* cache = mine.find(caches_.instance_);
  if (!cache) {
    mine.reserve();
    cache = caches_.acquire();
    mine.add({caches_.instance_, cache});
  }
  tls_cache_slots[caches_.instance_ & (kCacheSlots - 1)] = {caches_.instance_, cache};
  return cache;
}

ThreadCaches::Use::~Use() {
  if (borrowed_) caches_.retire(cache_);
  if (last_resort_) caches_.hand_over(*cache_);
}

ThreadCache* ThreadCaches::add_cache() { return all_.emplace_back(std::make_unique<ThreadCache>(peaks_)).get(); }

ThreadCache* ThreadCaches::acquire() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    idle_.reserve(all_.size() + 1);  // so that retiring cannot fail
    idle_.push_back(add_cache());
  }
  ThreadCache* cache = idle_.back();
  idle_.pop_back();
  cache->epoch = epoch();  // it is empty, so there is nothing to hand over
  return cache;
}

void ThreadCaches::retire(ThreadCache* cache) noexcept {
  cache->requested.publish();
  cache->active.publish();
  hand_over(*cache);
  std::lock_guard lock(mutex_);
  idle_.push_back(cache);
}

void ThreadCaches::hand_over(ThreadCache& cache) noexcept { heap_.give(cache.detach_all()); }

void ThreadCaches::add_stats(MemoryStats* stats) const {
  std::lock_guard lock(mutex_);
  int64_t requested_high = peaks_.requested.current(), active_high = peaks_.active.current();
  for (const auto& cache : all_) {
    stats->requested.current += cache->requested.current();
    stats->requested.allocated += cache->requested.allocated();
    stats->active.current += cache->active.current();
    stats->active.allocated += cache->active.allocated();
    stats->allocations += cache->allocations.get();
    stats->frees += cache->frees.get();
    requested_high += cache->requested.unpublished_high();
    active_high += cache->active.unpublished_high();
  }
  for (MemoryStat* stat : {&stats->requested, &stats->active}) stat->freed = stat->allocated - stat->current;
  stats->requested.peak = std::max({peaks_.requested.peak(), requested_high, stats->requested.current});
  stats->active.peak = std::max({peaks_.active.peak(), active_high, stats->active.current});
}

void ThreadCaches::reset_peak_stats() noexcept {
  if (ThreadCache* cache = find()) {
    cache->requested.publish();
    cache->active.publish();
  }
  peaks_.requested.reset();
  peaks_.active.reset();
}

}  // namespace vellum::internal
