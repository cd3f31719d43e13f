#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

TEST_F(CachingTest, OutOfMemoryLeavesEverythingAsItWas) {
  create({}, 32 * kMiB);
  const Block kept = allocate(12 * kMiB);
  std::memset(kept.data, 42, kept.bytes);
  const MemoryStats before = stats();
  Block block{this, 1, nullptr};
  const Status status = caching_->allocate(21 * kMiB, 64, {}, &block);
  EXPECT_EQ(status.code, StatusCode::kOutOfMemory);
  EXPECT_STREQ(status.message, "fake upstream: limit reached");
  EXPECT_EQ(block.data, this);
  const MemoryStats after = stats();
  EXPECT_EQ(after.active.current, before.active.current);
  EXPECT_EQ(after.active.allocated, before.active.allocated);
  EXPECT_EQ(after.requested.peak, before.requested.peak);
  EXPECT_EQ(after.reserved.current, before.reserved.current);
  EXPECT_EQ(after.allocations, before.allocations);
  for (size_t i = 0; i < kept.bytes; ++i) ASSERT_EQ(static_cast<char*>(kept.data)[i], 42);
  free(kept);
  free(allocate(21 * kMiB));
}

TEST_F(CachingTest, CachedSegmentsAreReturnedBeforeGivingUp) {
  create({}, 24 * kMiB);
  free(allocate(3 * kMiB));  // a segment of 20 MiB
  free(allocate(100));       // one of 2 MiB, its block in this thread's cache
  free(allocate(24 * kMiB));
  EXPECT_EQ(upstream_.live_blocks, 1);
}

TEST_F(CachingTest, BlocksOtherThreadsGaveBackAreFoundBeforeGivingUp) {
  create({}, 2 * kMiB);
  Block foreign[2];
  std::thread([&] {
    for (Block& block : foreign) block = allocate(kMiB);
  }).join();
  for (const Block& block : foreign) free(block);  // their thread has ended
  const Block whole = allocate(2 * kMiB);
  EXPECT_EQ(upstream_.live_bytes, 2 * kMiB);
  free(whole);
}

TEST_F(CachingTest, NearTheLimitASegmentIsNoLargerThanTheRequest) {
  create({}, kMiB);
  const Block block = allocate(1000);
  EXPECT_EQ(upstream_.live_bytes, 1024);
  free(block);
}

// For every k: the k-th call upstream fails for good, and the allocator carries on with what it has.
TEST_F(CachingTest, AnyFailureIsSurvived) {
  for (int64_t limit = 0; limit <= static_cast<int64_t>(48 * kMiB); limit += kMiB) {
    create({}, limit);
    std::vector<Block> blocks;
    int64_t active = 0;
    for (const size_t bytes : {100 * size_t{1}, 700 * kKiB, 2 * kMiB, 16 * kMiB, 90 * kKiB, 3 * kMiB, 12 * kMiB}) {
      Block block;
      if (!caching_->allocate(bytes, 64, {}, &block).ok()) continue;
      std::memset(block.data, 1, bytes);
      blocks.push_back(block);
      active += static_cast<int64_t>(bytes);
    }
    EXPECT_EQ(stats().requested.current, active);
    EXPECT_LE(upstream_.live_bytes, limit);
    for (const Block& block : blocks) free(block);
    caching_->empty_cache();
    EXPECT_EQ(upstream_.live_bytes, 0);
  }
}

}  // namespace
}  // namespace vellum::testing
