// What happens, in which order, when free memory does not suffice.

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/out_of_memory.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

class PressureTest : public CachingTest {
 protected:
  bool fails(size_t bytes) {
    Block block;
    const bool failed = caching_->allocate(bytes, 64, {}, &block).code == StatusCode::kOutOfMemory;
    if (!failed) free(block);
    return failed;
  }
};

TEST_F(PressureTest, CallbacksAreAskedBeforeUpstream) {
  const Block kept = allocate(12 * kMiB);
  std::vector<size_t> asked;
  const uint64_t id = caching_->add_pressure_callback([&](size_t bytes) {
    asked.push_back(bytes);
    if (asked.size() > 1) return false;
    free(kept);
    return true;
  });
  const Block block = allocate(11 * kMiB);
  EXPECT_EQ(block.data, kept.data);
  EXPECT_EQ(upstream_.calls, 1);
  const Block other = allocate(12 * kMiB);
  EXPECT_EQ(upstream_.calls, 2);
  EXPECT_EQ(asked, (std::vector<size_t>{11 * kMiB, 12 * kMiB}));
  caching_->remove_pressure_callback(id);
  free(allocate(40 * kMiB));
  EXPECT_EQ(asked.size(), 2u);
  free(block);
  free(other);
}

TEST_F(PressureTest, ACallbackIsNotAskedForWhatIsCached) {
  int calls = 0;
  free(allocate(100));
  free(allocate(12 * kMiB));
  caching_->add_pressure_callback([&](size_t) { return ++calls > 0; });
  free(allocate(100));
  free(allocate(12 * kMiB));
  EXPECT_EQ(calls, 0);
}

TEST_F(PressureTest, AnAllocationOfACallbackDoesNotCallItAgain) {
  int calls = 0;
  caching_->add_pressure_callback([&](size_t) {
    ++calls;
    free(allocate(40 * kMiB));
    return true;
  });
  free(allocate(12 * kMiB));
  EXPECT_EQ(calls, 1);
}

TEST_F(PressureTest, AfterACallbackThatFailedItIsCalledAgain) {
  int calls = 0;
  caching_->add_pressure_callback([&](size_t) -> bool {
    if (++calls == 1) throw std::bad_alloc();
    return false;
  });
  EXPECT_TRUE(fails(12 * kMiB));
  EXPECT_FALSE(fails(12 * kMiB));
  EXPECT_EQ(calls, 2);
}

// Each other's, which ask neither of them again.
TEST_F(PressureTest, CallbacksOfSeveralAllocatorsMayAllocateFromEachOther) {
  FakeUpstream::Counts counts;
  CachingAllocator other(std::make_unique<FakeUpstream>(&counts));
  int calls = 0, calls_of_other = 0;
  caching_->add_pressure_callback([&](size_t) {
    ++calls;
    Block block;
    EXPECT_TRUE(other.allocate(40 * kMiB, kDefaultAlignment, {}, &block).ok());
    other.deallocate(block, {});
    return false;
  });
  other.add_pressure_callback([&](size_t) {
    ++calls_of_other;
    free(allocate(40 * kMiB));
    return false;
  });
  free(allocate(12 * kMiB));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(calls_of_other, 1);
}

TEST_F(PressureTest, SmallBlocksThatACallbackFreesAreFound) {
  create({}, 2 * kMiB);
  Block blocks[2] = {allocate(kMiB), allocate(kMiB)};
  caching_->add_pressure_callback([&](size_t) {
    free(blocks[0]);
    return true;
  });
  const Block again = allocate(kMiB);
  EXPECT_EQ(again.data, blocks[0].data);
  free(again);
  free(blocks[1]);
}

TEST_F(PressureTest, JustEnoughGoesBackToUpstream) {
  create({}, 70 * kMiB);
  const Block a = allocate(30 * kMiB), b = allocate(22 * kMiB), c = allocate(18 * kMiB);
  for (const Block& block : {a, b, c}) free(block);
  free(allocate(30 * kMiB));  // from what is cached
  EXPECT_EQ(upstream_.calls, 3);
  const Block larger = allocate(31 * kMiB);  // for the first and the smallest; a segment of 32 MiB
  EXPECT_EQ(upstream_.live_bytes, 22 * kMiB + 32 * kMiB);
  free(larger);
}

TEST_F(PressureTest, OfSegmentsThatAreEnoughTheSmallestGoes) {
  create({}, 70 * kMiB);
  const Block a = allocate(30 * kMiB), b = allocate(22 * kMiB), c = allocate(18 * kMiB);
  for (const Block& block : {a, b, c}) free(block);
  const Block small = allocate(100);
  EXPECT_EQ(upstream_.live_bytes, 30 * kMiB + 22 * kMiB + 2 * kMiB);
  free(small);
}

TEST_F(PressureTest, TheLimitHoldsAndIsTold) {
  create({.memory_limit = 40 * kMiB});
  const Block kept = allocate(30 * kMiB);
  EXPECT_TRUE(fails(12 * kMiB));
  EXPECT_FALSE(fails(5 * kMiB));  // a segment no larger than that
  EXPECT_EQ(stats().limit, static_cast<int64_t>(40 * kMiB));
  EXPECT_LE(upstream_.peak_bytes, static_cast<int64_t>(40 * kMiB));
  free(kept);
  EXPECT_FALSE(fails(40 * kMiB));
  EXPECT_TRUE(fails(41 * kMiB));
}

TEST_F(PressureTest, WhatHasBeenFreeForLongestGoesBeyondTheThreshold) {
  create({.memory_limit = 100 * kMiB, .garbage_collection_threshold = 0.5});
  const Block old = allocate(20 * kMiB), young = allocate(12 * kMiB);
  free(old);
  free(young);
  free(allocate(12 * kMiB));  // young again
  EXPECT_EQ(upstream_.live_bytes, 32 * kMiB);
  const Block next = allocate(30 * kMiB);  // 62 MiB would be above 50
  EXPECT_EQ(upstream_.live_bytes, 42 * kMiB);
  free(allocate(12 * kMiB));
  EXPECT_EQ(upstream_.calls, 3);
  free(next);
}

TEST_F(PressureTest, BelowTheThresholdNothingGoes) {
  create({.memory_limit = 100 * kMiB, .garbage_collection_threshold = 0.9});
  free(allocate(20 * kMiB));
  free(allocate(30 * kMiB));
  EXPECT_EQ(upstream_.live_bytes, 50 * kMiB);
}

TEST_F(PressureTest, OversizeBlocksAreNotSplitNorGivenToSmallerRequests) {
  create({.max_split_size = 24 * kMiB});
  free(allocate(40 * kMiB));
  const Block below = allocate(20 * kMiB);  // less than the size that is not split
  EXPECT_EQ(upstream_.calls, 2);
  const Block near = allocate(30 * kMiB);  // 10 MiB of it unused
  EXPECT_EQ(upstream_.calls, 2);
  EXPECT_EQ(caching_->active_bytes(near), 40 * kMiB);
  EXPECT_EQ(stats().active.current, 60 * kMiB);
  free(near);
  free(below);
  create({.max_split_size = 24 * kMiB});
  free(allocate(60 * kMiB));
  const Block far = allocate(30 * kMiB);  // 30 MiB unused would be too many
  EXPECT_EQ(upstream_.calls, 2);
  free(far);
}

TEST_F(PressureTest, TheTextOfTheErrorTellsWhereTheMemoryIs) {
  create({.memory_limit = 60 * kMiB});
  const Block a = allocate(18 * kMiB), b = allocate(5 * kMiB), c = allocate(10 * kMiB), d = allocate(5 * kMiB);
  free(b);
  free(d);
  EXPECT_TRUE(fails(30 * kMiB));
  EXPECT_EQ(out_of_memory_text(Device(), 30 * kMiB, *caching_),
            "out of memory on cpu ('caching' allocator): 30.00 MiB (31457280 bytes) requested, 28.00 MiB live, 10.00 "
            "MiB cached, largest free block 5.00 MiB, fragmentation 50%, limit 60.00 MiB; free tensors, use a smaller "
            "batch or call empty_cache()");
  free(a);
  free(c);
}

}  // namespace
}  // namespace vellum::testing
