// What cannot fail does not need host memory either.

#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

#include "gtest/gtest.h"
#include "vellum/allocator/caching.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace {

// Allocations of this thread until one fails, and all later ones; negative: none fails.
constinit thread_local long left = -1;

void* host_memory(size_t bytes, size_t alignment) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  void* data = nullptr;
  if (posix_memalign(&data, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0) throw std::bad_alloc();
  return data;
}

}  // namespace

void* operator new(size_t bytes) { return host_memory(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return host_memory(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { std::free(data); }

namespace vellum::testing {
namespace {

TEST(HostMemory, AThreadsFirstCallMayBeAFree) {
  for (long allocations = 0; allocations < 10; ++allocations) {
    FakeUpstream::Counts counts;
    CachingAllocator caching(std::make_unique<FakeUpstream>(&counts));
    Block small, large;
    ASSERT_TRUE(caching.allocate(1000, kDefaultAlignment, {}, &small).ok());
    ASSERT_TRUE(caching.allocate(2 << 20, kDefaultAlignment, {}, &large).ok());
    std::thread([&] {
      left = allocations;
      for (const Block& block : {small, large}) caching.deallocate(block, {});
      left = -1;
    }).join();
    EXPECT_EQ(caching.stats().active.current, 0);
    EXPECT_EQ(caching.stats().requested.current, 0);
    EXPECT_EQ(caching.stats().frees, 2);
    caching.empty_cache();
    EXPECT_EQ(counts.live_blocks, 0);
  }
}

TEST(HostMemory, ACallbackCanBeRemovedWithoutAny) {
  FakeUpstream::Counts counts;
  CachingAllocator caching(std::make_unique<FakeUpstream>(&counts));
  int removed = 0, kept = 0;
  const uint64_t number = caching.add_pressure_callback([&](size_t) { return ++removed > 9; });
  caching.add_pressure_callback([&](size_t) { return ++kept > 9; });
  left = 0;
  caching.remove_pressure_callback(number);
  left = -1;
  Block block;
  ASSERT_TRUE(caching.allocate(1000, kDefaultAlignment, {}, &block).ok());
  caching.deallocate(block, {});
  EXPECT_EQ(removed, 0);
  EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace vellum::testing
