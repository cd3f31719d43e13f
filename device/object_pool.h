#ifndef VELLUM_DEVICE_OBJECT_POOL_H_
#define VELLUM_DEVICE_OBJECT_POOL_H_

#include <cstddef>
#include <new>

namespace vellum::internal {

// Host memory for the library's own small objects (handles, graph nodes) from thread-local free lists of 64-byte
// classes. Memory may be given back on another thread, whose list then keeps it. Under AddressSanitizer the pool
// is off, so that a stale handle is reported.
#if defined(__SANITIZE_ADDRESS__)
#define VELLUM_POOL_OFF 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VELLUM_POOL_OFF 1
#endif
#endif

inline constexpr size_t kPoolGranule = 64;
inline constexpr size_t kPoolClasses = 16;  // up to 1,024 bytes; larger goes to operator new
inline constexpr int kPoolMaxFree = 4096;   // objects kept for each class and thread

struct PoolList {
  void* head = nullptr;
  int size = 0;
};

struct Pool {
  PoolList lists[kPoolClasses];
  bool open = false;  // objects are kept: not before the first slow call, nor while the thread ends
};

extern constinit thread_local Pool tls_pool;

void* pool_refill(size_t index);
void pool_release(void* object, size_t index);

inline void* pool_allocate(size_t bytes) {
#ifndef VELLUM_POOL_OFF
  const size_t index = (bytes - 1) / kPoolGranule;
  if (index < kPoolClasses) [[likely]] {
    PoolList& list = tls_pool.lists[index];
    if (void* object = list.head) [[likely]] {
      list.head = *static_cast<void**>(object);
      --list.size;
      return object;
    }
    return pool_refill(index);
  }
#endif
  return ::operator new(bytes);
}

inline void pool_deallocate(void* object, [[maybe_unused]] size_t bytes) noexcept {
#ifndef VELLUM_POOL_OFF
  const size_t index = (bytes - 1) / kPoolGranule;
  if (index < kPoolClasses) [[likely]] {
    PoolList& list = tls_pool.lists[index];
    if (tls_pool.open && list.size < kPoolMaxFree) [[likely]] {
      *static_cast<void**>(object) = list.head;
      list.head = object;
      ++list.size;
      return;
    }
    pool_release(object, index);
    return;
  }
#endif
  ::operator delete(object);
}

}  // namespace vellum::internal

#endif  // VELLUM_DEVICE_OBJECT_POOL_H_
