// What the caching allocator does when the thread's own free blocks do not serve a request.

#include <algorithm>
#include <utility>

#include "vellum/allocator/caching.h"

namespace vellum {

using internal::BlockRecord;
using internal::HeapRequest;
using internal::ThreadCache;

namespace {

// The allocators whose callbacks this thread is in, innermost first.
class InCallback {
 public:
  explicit InCallback(const CachingAllocator& allocator) : allocator_(allocator), outer_(innermost_) {
    innermost_ = this;
  }
  ~InCallback() { innermost_ = outer_; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  static bool of(const CachingAllocator& allocator) {
    const InCallback* call = innermost_;
    while (call && &call->allocator_ != &allocator) call = call->outer_;
    return call != nullptr;
  }

 private:
  const CachingAllocator& allocator_;
  const InCallback* const outer_;
  static constinit thread_local const InCallback* innermost_;
};
constinit thread_local const InCallback* InCallback::innermost_ = nullptr;

}  // namespace

Status CachingAllocator::fetch(ThreadCache& cache, const HeapRequest& request, BlockRecord** out) {
  if (const Status status = heap_.prepare(request.stream); !status.ok()) return status;
  poll(cache);
  if ((*out = heap_.take(request))) return ok_status();
  if ((*out = heap_.take_from_idle_streams(request))) return ok_status();
  if (run_pressure_callbacks(request.bytes) && take_cached(cache, request, out)) return ok_status();
  heap_.collect_garbage(request);
  const Status status = heap_.grow(request, false, out);
  return status.code == StatusCode::kOutOfMemory ? fetch_under_pressure(cache, request, out) : status;
}

// What was freed meanwhile may have gone to this thread's free blocks or to the heap.
bool CachingAllocator::take_cached(ThreadCache& cache, const HeapRequest& request, BlockRecord** out) noexcept {
  poll(cache);
  return (*out = pop(cache, request)) || (*out = heap_.take(request)) || (*out = heap_.take_from_idle_streams(request));
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
  if (!has_callbacks_.load(std::memory_order_acquire) || InCallback::of(*this)) return false;
  Callbacks callbacks;
  {
    std::lock_guard lock(callbacks_mutex_);
    callbacks = callbacks_;
  }
  bool freed = false;
  const InCallback call(*this);
  for (const auto& [id, callback] : callbacks) freed |= (*callback)(bytes);
  return freed;
}

uint64_t CachingAllocator::add_pressure_callback(PressureCallback callback) {
  auto shared = std::make_shared<const PressureCallback>(std::move(callback));
  std::lock_guard lock(callbacks_mutex_);
  callbacks_.emplace_back(last_callback_ + 1, std::move(shared));
  ++last_callback_;
  has_callbacks_.store(true, std::memory_order_release);
  return last_callback_;
}

void CachingAllocator::remove_pressure_callback(uint64_t id) noexcept {
  std::shared_ptr<const PressureCallback> removed;  // ends without the lock: what it holds may be this allocator's
  std::lock_guard lock(callbacks_mutex_);
  const auto found = std::find_if(callbacks_.begin(), callbacks_.end(), [id](const auto& e) { return e.first == id; });
  if (found == callbacks_.end()) return;
  removed = std::move(found->second);
  callbacks_.erase(found);
  has_callbacks_.store(!callbacks_.empty(), std::memory_order_release);
}

}  // namespace vellum
