#include "vellum/device/object_pool.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace vellum::internal {
namespace {

TEST(ObjectPool, ObjectsOfAllSizesAreDistinctAndWritable) {
  const size_t sizes[] = {1, 64, 65, 500, 1024, 1025, 5000};
  std::set<void*> seen;
  std::vector<void*> objects;
  for (const size_t bytes : sizes) {
    objects.push_back(pool_allocate(bytes));
    std::memset(objects.back(), 1, bytes);
    EXPECT_TRUE(seen.insert(objects.back()).second);
  }
  for (size_t i = 0; i < objects.size(); ++i) pool_deallocate(objects[i], sizes[i]);
}

#ifndef VELLUM_POOL_OFF
TEST(ObjectPool, HandsOutTheObjectFreedLastOfItsClass) {
  void* a = pool_allocate(100);
  void* b = pool_allocate(100);
  pool_deallocate(a, 100);
  pool_deallocate(b, 100);
  EXPECT_EQ(pool_allocate(128), b);  // the same class of 64-byte steps
  EXPECT_EQ(pool_allocate(65), a);
  pool_deallocate(a, 100);
  pool_deallocate(b, 100);
}

TEST(ObjectPool, AForeignObjectStaysWithTheThreadThatFreedIt) {
  void* object = pool_allocate(300);
  std::thread([&] {
    pool_deallocate(object, 300);
    EXPECT_EQ(pool_allocate(300), object);
    pool_deallocate(object, 300);
  }).join();
}
#endif

TEST(ObjectPool, KeepsABoundedNumberOfObjects) {
  std::vector<void*> objects(kPoolMaxFree + 100);
  for (void*& object : objects) object = pool_allocate(64);
  for (void* object : objects) pool_deallocate(object, 64);
  EXPECT_LE(tls_pool.lists[0].size, kPoolMaxFree);
}

struct FreesAtThreadEnd {
  void* object = nullptr;
  ~FreesAtThreadEnd() {
    if (object) pool_deallocate(object, 64);
    pool_deallocate(pool_allocate(64), 64);
  }
};

// Leaks and stale uses of it show under AddressSanitizer.
TEST(ObjectPool, DestructorsOfThreadLocalsMayAllocateAndFree) {
  std::thread([] {
    thread_local FreesAtThreadEnd late;  // made before the pool opens, so destroyed after it has closed
    late.object = pool_allocate(64);
    pool_deallocate(pool_allocate(64), 64);
  }).join();
}

}  // namespace
}  // namespace vellum::internal
