// What the caching allocator does when the thread's own free blocks do not serve a request.

#include <algorithm>
#include <utility>

#include "vellum/allocator/caching.h"

namespace vellum {

using internal::BlockRecord;
using internal::HeapRequest;
using internal::ThreadCache;

namespace {

thread_local bool in_callback = false;

}  // namespace

Status CachingAllocator::fetch(ThreadCache& cache, const HeapRequest& request, BlockRecord** out) {
  poll(cache);
  if ((*out = heap_.take(request))) return ok_status();
  if (caches_.drain_remotes() && (*out = heap_.take(request))) return ok_status();
  if ((*out = heap_.take_from_idle_streams(request))) return ok_status();
  if (run_pressure_callbacks(request.bytes) && take_cached(cache, request, out)) return ok_status();
  heap_.collect_garbage(request);
  const Status status = heap_.grow(request, false, out);
  return status.code == StatusCode::kOutOfMemory ? fetch_under_pressure(cache, request, out) : status;
}

// What was freed meanwhile may have gone to this thread's free blocks, to another thread's, or to the heap.
bool CachingAllocator::take_cached(ThreadCache& cache, const HeapRequest& request, BlockRecord** out) noexcept {
  poll(cache);
  if ((*out = pop(cache, request))) return true;
  caches_.drain_remotes();
  return (*out = heap_.take(request)) || (*out = heap_.take_from_idle_streams(request));
}

Status CachingAllocator::fetch_under_pressure(ThreadCache& cache, const HeapRequest& request,
                                              BlockRecord** out) noexcept {
  caches_.hand_over(cache);
  if (take_cached(cache, request, out)) return ok_status();
  if ((*out = heap_.take_from_all_streams(request))) return ok_status();
  heap_.release(needed_bytes(request));
  if (const Status status = grow(request, out); status.code != StatusCode::kOutOfMemory) return status;
  if (const size_t bytes = heap_.synchronize_pending()) cache.active.decrease(static_cast<int64_t>(bytes));
  empty_cache();
  // In a segment that something else is still using.
  if ((*out = heap_.take(request)) || (*out = heap_.take_from_all_streams(request))) return ok_status();
  return grow(request, out);
}

Status CachingAllocator::grow(const HeapRequest& request, BlockRecord** out) noexcept {
  const Status status = heap_.grow(request, false, out);
  return status.code == StatusCode::kOutOfMemory ? heap_.grow(request, true, out) : status;
}

bool CachingAllocator::run_pressure_callbacks(size_t bytes) {
  if (!has_callbacks_.load(std::memory_order_acquire) || in_callback) return false;
  std::shared_ptr<const Callbacks> callbacks;
  {
    std::lock_guard lock(callbacks_mutex_);
    callbacks = callbacks_;
  }
  bool freed = false;
  in_callback = true;
  for (const auto& [id, callback] : *callbacks) freed |= callback(bytes);
  in_callback = false;
  return freed;
}

uint64_t CachingAllocator::add_pressure_callback(PressureCallback callback) {
  std::lock_guard lock(callbacks_mutex_);
  Callbacks all = callbacks_ ? *callbacks_ : Callbacks();
  all.emplace_back(++last_callback_, std::move(callback));
  callbacks_ = std::make_shared<const Callbacks>(std::move(all));
  has_callbacks_.store(true, std::memory_order_release);
  return last_callback_;
}

void CachingAllocator::remove_pressure_callback(uint64_t id) noexcept {
  std::lock_guard lock(callbacks_mutex_);
  if (!callbacks_) return;
  Callbacks all = *callbacks_;
  std::erase_if(all, [id](const auto& entry) { return entry.first == id; });
  has_callbacks_.store(!all.empty(), std::memory_order_release);
  callbacks_ = std::make_shared<const Callbacks>(std::move(all));
}

}  // namespace vellum
