#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

TEST_F(CachingTest, ABlockServesTheThreadThatFreedIt) {
  const Block block = allocate(1000);
  std::thread([&] {
    free(block);
    const Block again = allocate(1000);
    EXPECT_EQ(again.data, block.data);
    free(again);
  }).join();
  EXPECT_EQ(stats().active.current, 0);
}

// One thread only allocates, another only frees: what the latter may keep goes round.
TEST_F(CachingTest, WhatAnotherThreadFreesComesBackThroughTheHeap) {
  constexpr size_t kBytes = 64 * kKiB;
  const size_t kept = CachingOptions().thread_cache_bytes / kBytes;
  constexpr int kRounds = 20;
  std::vector<Block> blocks;
  std::barrier turn(2);
  std::thread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      turn.arrive_and_wait();
      for (const Block& block : blocks) free(block);
      blocks.clear();
      turn.arrive_and_wait();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kept; ++i) blocks.push_back(allocate(kBytes));
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  EXPECT_EQ(stats().active.current, 0);
  EXPECT_LE(stats().reserved.peak, static_cast<int64_t>(3 * kept * kBytes));
  other.join();
}

TEST_F(CachingTest, AnEndedThreadLeavesItsMemoryToOthers) {
  void* data = nullptr;
  std::thread([&] {
    const Block block = allocate(kMiB);
    data = block.data;
    free(block);
  }).join();
  EXPECT_EQ(stats().largest_free, 2 * kMiB);  // merged, so the thread's cache is empty
  const Block block = allocate(kMiB);
  EXPECT_EQ(block.data, data);
  free(block);
}

TEST_F(CachingTest, AThreadCountsWhatItWasGiven) {
  const int64_t before = caching_->allocated_on_this_thread();
  std::thread([&] { free(allocate(64)); }).join();
  EXPECT_EQ(caching_->allocated_on_this_thread(), before);
  std::thread([&] {
    // The cache is the ended thread's.
    const int64_t at_first = caching_->allocated_on_this_thread();
    free(allocate(1000));
    free(allocate(2 * kMiB));
    EXPECT_EQ(caching_->allocated_on_this_thread() - at_first, 1024 + 2 * kMiB);
  }).join();
}

TEST_F(CachingTest, ABlockOutlivesItsThread) {
  free(allocate(0));  // so that this thread has a cache of its own
  Block block;
  std::thread([&] { block = allocate(kMiB); }).join();
  const Block other = allocate(kMiB);
  static_cast<char*>(block.data)[0] = 1;
  free(block);
  // Found before upstream is asked for more.
  const Block again = allocate(kMiB);
  EXPECT_EQ(again.data, block.data);
  EXPECT_EQ(upstream_.calls, 1);
  free(other);
  free(again);
}

TEST_F(CachingTest, ALaterThreadMayTakeOverTheCacheOfAnEndedOne) {
  Block block;
  std::thread([&] { block = allocate(1000); }).join();
  std::thread([&] {
    free(allocate(5000));
    free(block);
    EXPECT_EQ(allocate(1000).data, block.data);
    free(block);
  }).join();
  caching_->empty_cache();
  EXPECT_EQ(stats().reserved.current, 0);
}

TEST_F(CachingTest, EmptyCacheReachesAnotherThreadAtItsNextAllocation) {
  std::barrier turn(2);
  std::thread other([&] {
    free(allocate(kMiB));
    turn.arrive_and_wait();  // main empties the cache
    turn.arrive_and_wait();
    free(allocate(0));
    turn.arrive_and_wait();  // main looks
    turn.arrive_and_wait();
  });
  turn.arrive_and_wait();
  caching_->empty_cache();
  EXPECT_EQ(stats().reserved.current, 2 * kMiB);
  turn.arrive_and_wait();
  turn.arrive_and_wait();
  EXPECT_EQ(stats().reserved.current, 0);
  turn.arrive_and_wait();
  other.join();
}

// Lest what a thread that only frees has kept be out of reach.
TEST_F(CachingTest, EmptyCacheReachesAnotherThreadAtItsNextFree) {
  const Block first = allocate(kMiB), second = allocate(64);
  std::barrier turn(2);
  std::thread other([&] {
    free(first);
    turn.arrive_and_wait();  // main empties the cache
    turn.arrive_and_wait();
    free(second);
    turn.arrive_and_wait();  // main allocates
    turn.arrive_and_wait();
  });
  turn.arrive_and_wait();
  caching_->empty_cache();
  turn.arrive_and_wait();
  turn.arrive_and_wait();
  const Block again = allocate(kMiB);
  EXPECT_EQ(again.data, first.data);
  turn.arrive_and_wait();
  other.join();
  free(again);
}

// See docs/memory.md, "After fork". Threads of other tests have ended.
TEST_F(CachingTest, AChildOfAProcessWithOneThreadGoesOn) {
  const Block block = allocate(1000), large = allocate(3 * kMiB);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    free(block);
    free(large);
    const Block again = allocate(1000), other = allocate(30 * kMiB);
    const bool works = again.data == block.data && other.data && caching_->check_invariants().empty();
    _exit(works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  free(block);
  free(large);
}

TEST_F(CachingTest, AThreadThatEntersAfterEmptyCacheReturnsNothing) {
  caching_->empty_cache();
  free(allocate(5 * kMiB));
  std::thread([&] { free(allocate(100)); }).join();
  EXPECT_EQ(upstream_.live_bytes, 22 * kMiB);
}

struct FreesAtThreadEnd {
  CachingAllocator* allocator = nullptr;
  Block block;
  ~FreesAtThreadEnd() {
    if (!allocator) return;
    allocator->deallocate(block, {});
    Block last;
    EXPECT_TRUE(allocator->allocate(200, 64, {}, &last).ok());
    allocator->deallocate(last, {});
  }
};

TEST_F(CachingTest, DestructorsOfThreadLocalsMayAllocateAndFree) {
  std::thread([&] {
    thread_local FreesAtThreadEnd late;  // made before the thread's cache, so destroyed after it
    late.block = allocate(1000);
    late.allocator = &*caching_;
  }).join();
  EXPECT_EQ(stats().active.current, 0);
  EXPECT_EQ(stats().frees, 2);
  caching_->empty_cache();
  EXPECT_EQ(stats().reserved.current, 0);
}

TEST_F(CachingTest, AThreadMayOutliveAnAllocatorItUsed) {
  std::barrier turn(2);
  std::thread other([&] {
    free(allocate(1000));
    turn.arrive_and_wait();  // main replaces the allocator
    turn.arrive_and_wait();
    free(allocate(1000));
  });
  turn.arrive_and_wait();
  create({});
  turn.arrive_and_wait();
  other.join();
  EXPECT_EQ(stats().allocations, 1);
}

TEST(CachingInstances, ManyMayBeUsedByOneThread) {
  constexpr int kInstances = 100;
  FakeUpstream::Counts counts;
  {
    std::vector<std::unique_ptr<CachingAllocator>> all;
    std::vector<Block> blocks(kInstances);
    for (int i = 0; i < kInstances; ++i)
      all.push_back(std::make_unique<CachingAllocator>(std::make_unique<FakeUpstream>(&counts)));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < kInstances; ++i) ASSERT_TRUE(all[i]->allocate(100, 64, {}, &blocks[i]).ok());
      for (int i = kInstances; i-- > 0;) all[i]->deallocate(blocks[i], {});
      if (round == 1) all[50] = std::make_unique<CachingAllocator>(std::make_unique<FakeUpstream>(&counts));
    }
    EXPECT_EQ(all[0]->stats().upstream_allocations, 1);
    EXPECT_EQ(all[0]->stats().allocations, 3);
    EXPECT_EQ(all[50]->stats().allocations, 1);
  }
  EXPECT_EQ(counts.live_blocks, 0);
  EXPECT_EQ(counts.faults, 0);
}

}  // namespace
}  // namespace vellum::testing
