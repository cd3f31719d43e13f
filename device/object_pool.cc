#include "vellum/device/object_pool.h"

namespace vellum::internal {
namespace {

// Gives a thread's lists back when it ends. Objects freed by later thread-local destructors bypass the pool.
struct Closer {
  Closer() { tls_pool.open = true; }
  ~Closer() {
    tls_pool.open = false;
    for (PoolList& list : tls_pool.lists) {
      while (void* object = list.head) {
        list.head = *static_cast<void**>(object);
        ::operator delete(object);
      }
      list.size = 0;
    }
  }
};

void open_pool() { static thread_local Closer closer; }

}  // namespace

constinit thread_local Pool tls_pool;

void* pool_refill(size_t index) {
  open_pool();
  return ::operator new((index + 1) * kPoolGranule);
}

void pool_release(void* object, size_t index) {
  open_pool();
  PoolList& list = tls_pool.lists[index];
  if (!tls_pool.open || list.size == kPoolMaxFree) {
    ::operator delete(object);
    return;
  }
  *static_cast<void**>(object) = list.head;
  list.head = object;
  ++list.size;
}

}  // namespace vellum::internal
