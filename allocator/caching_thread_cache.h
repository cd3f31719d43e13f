#ifndef VELLUM_ALLOCATOR_CACHING_THREAD_CACHE_H_
#define VELLUM_ALLOCATOR_CACHING_THREAD_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "vellum/allocator/caching_counters.h"
#include "vellum/allocator/caching_heap.h"
#include "vellum/allocator/size_classes.h"

namespace vellum::internal {

struct SharedPeaks {
  SharedPeak requested;
  SharedPeak active;
};

// Free blocks of one thread, for each size class last in, first out, and the counts of what the thread did. Used by
// the thread that holds it, but for the readers of the counters.
class alignas(64) ThreadCache {
 public:
  explicit ThreadCache(SharedPeaks& peaks) : requested(peaks.requested), active(peaks.active) {}

  BlockRecord* pop(uint32_t size_class) {
    List& list = lists_[size_class];
    BlockRecord* record = list.head;
    if (record) [[likely]] {
      list.head = record->next;
      --list.count;
      bytes_ -= record->bytes;
    }
    return record;
  }

  // Takes the block of `bytes`, which is of that class.
  void push(BlockRecord* record, uint32_t size_class, size_t bytes) {
    List& list = lists_[size_class];
    record->next = list.head;
    list.head = record;
    ++list.count;
    bytes_ += bytes;
  }

  const BlockRecord* peek(uint32_t size_class) const { return lists_[size_class].head; }
  size_t bytes() const { return bytes_; }

  // Unlinks the older half of each list, or all blocks, as one list for the heap.
  BlockRecord* detach_half() { return detach(1); }
  BlockRecord* detach_all() { return detach(kAll); }

  ThreadCounter requested;
  ThreadCounter active;
  OwnedNumber allocations;
  OwnedNumber frees;
  uint64_t epoch = 0;  // of the last empty_cache that this thread followed

 private:
  struct List {
    BlockRecord* head = nullptr;
    uint32_t count = 0;
  };
  static constexpr int kAll = 32;

  BlockRecord* detach(int shift);

  size_t bytes_ = 0;
  List lists_[kNumClasses];
};

// Which cache the thread uses with which allocator. Instances are numbered and never reuse a number, so that an entry
// left behind by a destroyed allocator matches nothing.
struct CacheSlot {
  uint64_t instance = 0;
  ThreadCache* cache = nullptr;
};
inline constexpr size_t kCacheSlots = 16;  // power of two; allocators beyond it share slots
extern constinit thread_local CacheSlot tls_cache_slots[kCacheSlots];

// The caches of one allocator. A thread gets one at first use and hands it over when it ends: its blocks go to the
// heap, the empty cache with its counts waits for a later thread.
class ThreadCaches {
 public:
  explicit ThreadCaches(CachingHeap& heap);
  // No thread may use the allocator any more; threads that did may still run. Their blocks go to the heap.
  ~ThreadCaches();
  ThreadCaches(const ThreadCaches&) = delete;
  ThreadCaches& operator=(const ThreadCaches&) = delete;

  // This thread's cache if it has been found lately, else null.
  ThreadCache* find_fast() const {
    const CacheSlot& slot = tls_cache_slots[instance_ & (kCacheSlots - 1)];
    return slot.instance == instance_ ? slot.cache : nullptr;
  }

  // This thread's cache, or null when it has none yet.
  ThreadCache* find() const noexcept;

  // Counts the calls of empty_cache. A thread compares the number with its cache's at each call.
  uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  void next_epoch() { epoch_.fetch_add(1, std::memory_order_relaxed); }

  // This thread's cache for the duration of a call. A thread whose thread-local objects are being destroyed borrows
  // one and hands it over at once. Throws std::bad_alloc.
  class Use {
   public:
    explicit Use(ThreadCaches& caches);
    // Where there is no host memory for a cache, the one that is there for this, which threads hold one at a time.
    Use(ThreadCaches& caches, std::nothrow_t) noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ThreadCache& operator*() const { return *cache_; }
    ThreadCache* operator->() const { return cache_; }

   private:
    ThreadCache* find_or_make();

    ThreadCaches& caches_;
    ThreadCache* cache_ = nullptr;
    bool borrowed_ = false;
    std::unique_lock<std::mutex> last_resort_;
  };

  void hand_over(ThreadCache& cache) noexcept;
  void retire(ThreadCache* cache) noexcept;

  void add_stats(MemoryStats* stats) const;
  void reset_peak_stats() noexcept;

 private:
  ThreadCache* acquire();
  ThreadCache* add_cache();

  // What every allocation reads, apart from what others write.
  alignas(64) const uint64_t instance_;
  std::atomic<uint64_t> epoch_{0};
  CachingHeap& heap_;
  alignas(64) SharedPeaks peaks_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadCache>> all_;
  std::vector<ThreadCache*> idle_;
  std::mutex last_resort_mutex_;
  ThreadCache* const last_resort_cache_;  // of `all_`; owns no block between calls
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_THREAD_CACHE_H_
