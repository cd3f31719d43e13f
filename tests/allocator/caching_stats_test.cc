#include <algorithm>
#include <barrier>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/size_classes.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

// What a block occupies, found by search.
int64_t occupied_by(size_t bytes) {
  for (uint32_t i = 0; i < internal::kNumClasses; ++i)
    if (internal::class_bytes(i) >= bytes) return static_cast<int64_t>(internal::class_bytes(i));
  const size_t step = 64 * kKiB;
  return static_cast<int64_t>(bytes + (step - bytes % step) % step);
}

struct Model {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;

  void add(int64_t bytes) {
    current += bytes;
    allocated += bytes;
    peak = std::max(peak, current);
  }
  void remove(int64_t bytes) {
    current -= bytes;
    freed += bytes;
  }
  void expect_equal(const MemoryStat& stat) const {
    EXPECT_EQ(stat.current, current);
    EXPECT_EQ(stat.peak, peak);
    EXPECT_EQ(stat.allocated, allocated);
    EXPECT_EQ(stat.freed, freed);
  }
};

size_t random_bytes(std::mt19937& random) {
  const int log = std::uniform_int_distribution<int>(0, 23)(random);
  return std::uniform_int_distribution<size_t>(size_t{1} << log, size_t{2} << log)(random);
}

class CachingTrace : public CachingTest {
 protected:
  void step() {
    if (random_() % 2 == 0 && blocks_.size() < 300) {
      blocks_.push_back(allocate(random_bytes(random_), size_t{64} << (random_() % 5)));
      requested_.add(static_cast<int64_t>(blocks_.back().bytes));
      active_.add(occupied_by(blocks_.back().bytes));
    } else if (!blocks_.empty()) {
      std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
      drop_last();
    }
  }
  void drop_last() {
    requested_.remove(static_cast<int64_t>(blocks_.back().bytes));
    active_.remove(occupied_by(blocks_.back().bytes));
    free(blocks_.back());
    blocks_.pop_back();
  }
  void reset_peaks() {
    caching_->reset_peak_stats();
    requested_.peak = requested_.current;
    active_.peak = active_.current;
    upstream_.peak_bytes = upstream_.live_bytes;
  }
  void check() const {
    const MemoryStats s = stats();
    requested_.expect_equal(s.requested);
    active_.expect_equal(s.active);
    EXPECT_EQ(s.reserved.current, upstream_.live_bytes);
    EXPECT_EQ(s.reserved.peak, upstream_.peak_bytes);
    EXPECT_EQ(s.upstream_allocations - s.upstream_frees, upstream_.live_blocks);
    EXPECT_LE(s.active.current + s.split.current, s.reserved.current);
    EXPECT_EQ(s.allocations - s.frees, static_cast<int64_t>(blocks_.size()));
  }

  std::mt19937 random_{1};
  std::vector<Block> blocks_;
  Model requested_, active_;
};

TEST_F(CachingTrace, EveryCountIsExactAtEveryStep) {
  for (int i = 0; i < 5000; ++i) {
    step();
    if (i % 1000 == 999) reset_peaks();
    if (i % 1700 == 1699) caching_->empty_cache();
    check();
    if (HasFailure()) FAIL() << "at step " << i;
  }
  while (!blocks_.empty()) drop_last();
  check();
  caching_->empty_cache();
  EXPECT_EQ(stats().reserved.current, 0);
  EXPECT_EQ(stats().split.current, 0);
}

TEST_F(CachingTest, AShortPeakOfSmallBlocksIsSeenLater) {
  const Block a = allocate(64), b = allocate(128);
  free(b);
  free(a);
  EXPECT_EQ(stats().active.current, 0);
  EXPECT_EQ(stats().active.peak, 192);
  caching_->reset_peak_stats();
  EXPECT_EQ(stats().active.peak, 0);
}

TEST_F(CachingTest, CountsOfEndedThreadsRemain) {
  std::thread([&] { free(allocate(100)); }).join();
  const MemoryStats s = stats();
  EXPECT_EQ(s.allocations, 1);
  EXPECT_EQ(s.frees, 1);
  EXPECT_EQ(s.requested.peak, 100);
  EXPECT_EQ(s.active.allocated, 128);
  EXPECT_EQ(s.active.freed, 128);
}

TEST_F(CachingTest, ThePeakOfThreadsOneAfterAnotherIsExact) {
  free(allocate(0));  // so that this thread has a cache of its own
  std::thread([&] { free(allocate(200)); }).join();
  free(allocate(200));
  EXPECT_EQ(stats().active.peak, 256);
  EXPECT_EQ(stats().requested.peak, 200);
}

TEST_F(CachingTest, WhatAThreadFreedDoesNotRaiseAnothersPeak) {
  free(allocate(3 * kMiB));
  std::thread([&] { free(allocate(3 * kMiB)); }).join();
  EXPECT_NEAR(stats().active.peak, 3 * kMiB, 2 * Allocator::kPeakSlack);
}

TEST_F(CachingTest, FreesOnAnotherThreadAreCounted) {
  const Block block = allocate(100);
  std::thread([&] { free(block); }).join();
  EXPECT_EQ(stats().active.current, 0);
  EXPECT_EQ(stats().frees, 1);
}

TEST_F(CachingTest, PeaksOfSeveralThreadsAreWithinTheSlack) {
  constexpr int kThreads = 4, kBlocks = 30;
  constexpr size_t kBytes = 40 * kKiB;
  std::barrier all_hold(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      std::vector<Block> blocks;
      for (int i = 0; i < kBlocks; ++i) blocks.push_back(allocate(kBytes));
      all_hold.arrive_and_wait();
      for (const Block& block : blocks) free(block);
    });
  for (std::thread& thread : threads) thread.join();
  constexpr int64_t kHeld = kThreads * kBlocks * kBytes, kSlack = kThreads * Allocator::kPeakSlack;
  EXPECT_NEAR(stats().active.peak, kHeld, kSlack);
  EXPECT_NEAR(stats().requested.peak, kHeld, kSlack);
  EXPECT_EQ(stats().active.allocated, kHeld);
  EXPECT_EQ(stats().active.current, 0);
}

}  // namespace
}  // namespace vellum::testing
