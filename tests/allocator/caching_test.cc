#include "vellum/allocator/caching.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

char* bytes_of(const Block& block) { return static_cast<char*>(block.data); }

TEST_F(CachingTest, ReusesTheBlockFreedLast) {
  const Block a = allocate(1000), b = allocate(1000);
  EXPECT_NE(a.data, b.data);
  free(a);
  free(b);
  EXPECT_EQ(allocate(1020).data, b.data);  // the same size class
  EXPECT_EQ(allocate(1000).data, a.data);
  EXPECT_EQ(upstream_.calls, 1);
  free(a);
  free(b);
}

TEST_F(CachingTest, ReusesLargeBlocksToo) {
  const Block a = allocate(64 * kMiB);
  free(a);
  const Block b = allocate(64 * kMiB);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(upstream_.calls, 1);
  free(b);
}

TEST_F(CachingTest, SegmentSizesFollowTheRequest) {
  struct Row {
    size_t requested, segment;
  };
  const Row table[] = {{1, 2 * kMiB},          {kMiB, 2 * kMiB},           {kMiB + 1, 20 * kMiB}, {9 * kMiB, 20 * kMiB},
                       {10 * kMiB, 10 * kMiB}, {10 * kMiB + 1, 12 * kMiB}, {64 * kMiB, 64 * kMiB}};
  for (const Row& row : table) {
    create({});
    free(allocate(row.requested));
    EXPECT_EQ(upstream_.last_bytes, row.segment) << row.requested;
  }
}

TEST_F(CachingTest, SplitsASegmentAndCountsTheRemainder) {
  const Block a = allocate(3 * kMiB);
  EXPECT_EQ(stats().split.current, 17 * kMiB);
  const Block b = allocate(5 * kMiB);
  EXPECT_EQ(bytes_of(b), bytes_of(a) + 3 * kMiB);
  EXPECT_EQ(stats().split.current, 12 * kMiB);
  EXPECT_EQ(stats().largest_free, 12 * kMiB);
  EXPECT_EQ(upstream_.calls, 1);
  free(a);
  free(b);
}

TEST_F(CachingTest, MergesAFreedBlockWithBothNeighbours) {
  const Block a = allocate(4 * kMiB), b = allocate(4 * kMiB), c = allocate(4 * kMiB), d = allocate(8 * kMiB);
  EXPECT_EQ(stats().split.current, 0);
  free(a);
  free(c);
  EXPECT_EQ(stats().largest_free, 4 * kMiB);
  free(b);
  EXPECT_EQ(stats().largest_free, 12 * kMiB);
  free(d);
  EXPECT_EQ(stats().largest_free, 20 * kMiB);
  EXPECT_EQ(stats().split.current, 0);  // a whole segment is no remainder
  const Block whole = allocate(20 * kMiB);
  EXPECT_EQ(whole.data, a.data);
  EXPECT_EQ(upstream_.calls, 1);
  free(whole);
}

TEST_F(CachingTest, TakesTheBestFitThenTheLowestAddress) {
  // Holes of 3, 2 and 2 MiB, apart from each other, and no remainder.
  const Block hole3 = allocate(3 * kMiB), wall1 = allocate(4 * kMiB), hole2 = allocate(2 * kMiB),
              wall2 = allocate(4 * kMiB), other2 = allocate(2 * kMiB), wall3 = allocate(5 * kMiB);
  free(hole3);
  free(other2);
  free(hole2);
  EXPECT_EQ(stats().split.current, 7 * kMiB);
  const Block first = allocate(2 * kMiB), second = allocate(2 * kMiB), third = allocate(2 * kMiB);
  EXPECT_EQ(first.data, hole2.data);
  EXPECT_EQ(second.data, other2.data);
  EXPECT_EQ(third.data, hole3.data);
  EXPECT_EQ(upstream_.calls, 1);
  for (const Block& block : {wall1, wall2, wall3, first, second, third}) free(block);
}

TEST_F(CachingTest, SmallRequestsDoNotBreakUpLargeSegments) {
  free(allocate(16 * kMiB));
  const Block small = allocate(64);
  EXPECT_EQ(upstream_.live_blocks, 2);
  EXPECT_EQ(stats().largest_free, 16 * kMiB);
  free(small);
}

TEST_F(CachingTest, AlignsAsAsked) {
  std::vector<Block> blocks;
  for (const size_t alignment : {64, 128, 256, 4096, 65536})
    for (const size_t bytes : {1, 100, 4096, 300000, 3000000, 30000000}) {
      blocks.push_back(allocate(bytes, alignment));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().data) % alignment, 0u) << bytes << " " << alignment;
      std::memset(blocks.back().data, 1, bytes);
    }
  const int64_t active = stats().active.current;
  for (const Block& block : blocks) free(block);
  // An aligned block occupies no more than any other of its size.
  std::vector<Block> plain;
  for (int i = 0; i < 5; ++i)
    for (const size_t bytes : {1, 100, 4096, 300000, 3000000, 30000000}) plain.push_back(allocate(bytes));
  EXPECT_EQ(stats().active.current, active);
  for (const Block& block : plain) free(block);
}

TEST_F(CachingTest, ReusesAnAlignedBlock) {
  const Block a = allocate(5000, 4096);
  free(a);
  EXPECT_EQ(allocate(5000, 4096).data, a.data);
  free(a);
}

TEST_F(CachingTest, AFreeBlockIsReusedOnlyIfItIsAligned) {
  free(allocate(5000));  // lies at an address that only 64 divides
  const Block aligned = allocate(5000, 4096);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.data) % 4096, 0u);
  free(aligned);
}

TEST_F(CachingTest, SmallerAlignmentsAreServed) {
  for (const size_t alignment : {1, 2, 32}) free(allocate(100, alignment));
  EXPECT_EQ(stats().allocations, 3);
}

TEST_F(CachingTest, RefusesWhatIsNoAlignmentAndWhatCannotExist) {
  Block block{this, 1, this};
  for (const size_t alignment : {0, 3, 96})
    EXPECT_EQ(caching_->allocate(64, alignment, {}, &block).code, StatusCode::kInvalidArgument);
  for (const size_t bytes : {~size_t{0}, ~size_t{0} - 4096, size_t{1} << 62})
    EXPECT_EQ(caching_->allocate(bytes, 64, {}, &block).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(block.data, this);
  EXPECT_EQ(stats().allocations, 0);
}

TEST_F(CachingTest, ZeroBytesNeedNoMemory) {
  const Block block = allocate(0);
  EXPECT_EQ(block.data, nullptr);
  EXPECT_EQ(block.bytes, 0u);
  EXPECT_EQ(stats().allocations, 1);
  EXPECT_EQ(stats().active.allocated, 0);
  EXPECT_EQ(upstream_.calls, 0);
  free(block);
  EXPECT_EQ(stats().frees, 1);
}

TEST_F(CachingTest, EmptyCacheReturnsFreeSegmentsAndKeepsUsedOnes) {
  const Block small = allocate(100), other = allocate(100), large = allocate(30 * kMiB);
  free(small);
  free(large);
  caching_->empty_cache();
  EXPECT_EQ(upstream_.live_bytes, 2 * kMiB);
  EXPECT_EQ(stats().reserved.current, 2 * kMiB);
  std::memset(other.data, 7, 100);
  free(other);
  caching_->empty_cache();
  EXPECT_EQ(upstream_.live_bytes, 0);
  EXPECT_EQ(stats().split.current, 0);
}

TEST_F(CachingTest, AThreadKeepsABoundedNumberOfBytes) {
  create({.thread_cache_bytes = 64 * kKiB});
  std::vector<Block> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(allocate(8 * kKiB));
  for (const Block& block : blocks) free(block);
  // What exceeds the bound was merged again in the heap.
  EXPECT_GE(stats().largest_free, static_cast<int64_t>(kMiB));
}

TEST_F(CachingTest, ABlockIsReusedOnItsOwnStreamOnly) {
  for (const size_t bytes : {100 * size_t{1}, 3 * kMiB}) {
    create({});
    const Block first = allocate(bytes, 64, 1);
    free(first, 1);
    const Block other = allocate(bytes, 64, 2), default_stream = allocate(bytes);
    EXPECT_NE(other.data, first.data);
    EXPECT_NE(default_stream.data, first.data);
    EXPECT_EQ(upstream_.live_blocks, 3);  // segments are not shared either
    const Block again = allocate(bytes, 64, 1);
    EXPECT_EQ(again.data, first.data);
    free(again, 2);  // returns to the stream it was allocated on
    const Block not_it = allocate(bytes, 64, 2);
    EXPECT_NE(not_it.data, first.data);
    free(not_it, 2);
    free(other, 2);
    free(default_stream);
  }
}

// Gives out no memory, as a device that only knows shapes does.
class NoMemory final : public Allocator {
 public:
  std::string_view name() const override { return "no memory"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    *out = {nullptr, bytes, nullptr};
    return ok_status();
  }
  void deallocate(const Block&, const Stream&) noexcept override {}
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
};

TEST(CachingOverNoMemory, CountsAsOverAnyOther) {
  CachingAllocator caching(std::make_unique<NoMemory>(), {.host_accessible = false});
  std::vector<Block> blocks(40);
  size_t bytes = 0;
  for (Block& block : blocks) ASSERT_TRUE(caching.allocate(bytes += 200000, 4096, {}, &block).ok());
  for (const Block& block : blocks) EXPECT_EQ(block.data, nullptr);
  for (const Block& block : blocks) caching.deallocate(block, {});
  EXPECT_EQ(caching.stats().requested.peak, 200000 * 40 * 41 / 2);
  caching.empty_cache();
  EXPECT_EQ(caching.stats().reserved.current, 0);
}

using CachingDeathTest = CachingTest;

TEST_F(CachingDeathTest, FreeingTwiceIsReported) {
  const Block small = allocate(100);
  free(small);
  EXPECT_DEATH(free(small), "not in use");
}

}  // namespace
}  // namespace vellum::testing
