// Extendable segments: what is held follows what is needed.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/caching.h"
#include "vellum/tests/allocator/simulated_streams.h"

namespace vellum::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20, kPage = 2 * kMiB;

class SegmentsTest : public ::testing::Test {
 protected:
  SegmentsTest() { create(1000 * kMiB); }
  ~SegmentsTest() override {
    EXPECT_EQ(caching_->check_invariants(), "");
    caching_.reset();
    EXPECT_EQ(memory_.bytes, 0);
    EXPECT_EQ(memory_.reservations, 0);
  }

  void create(int64_t limit, CachingOptions options = {.host_accessible = false}) {
    caching_.emplace(std::make_unique<SimulatedMemory>(nullptr, &memory_, true, limit), options);
  }
  Block allocate(size_t bytes, size_t alignment = kDefaultAlignment) {
    Block block;
    EXPECT_TRUE(caching_->allocate(bytes, alignment, {}, &block).ok());
    return block;
  }
  void free(const Block& block) { caching_->deallocate(block, {}); }
  static char* address(const Block& block) { return static_cast<char*>(block.data); }
  int64_t reserved() const { return caching_->stats().reserved.current; }

  SimulatedMemory::Counts memory_;
  std::optional<CachingAllocator> caching_;
};

TEST_F(SegmentsTest, AsManyPagesAsAreNeeded) {
  const Block small = allocate(100), large = allocate(5 * kMiB), next = allocate(kMiB + 1);
  EXPECT_EQ(memory_.bytes, static_cast<int64_t>(kPage + 4 * kPage));  // 5 and a little more than 1 MiB are 4 pages
  EXPECT_EQ(reserved(), memory_.bytes);
  EXPECT_EQ(address(next), address(large) + 5 * kMiB);
  EXPECT_EQ(memory_.reservations, 2);
  EXPECT_EQ(caching_->stats().upstream_allocations, 5);
  for (const Block& block : {small, large, next}) free(block);
}

TEST_F(SegmentsTest, AFreeEndGrowsByWhatIsMissing) {
  const Block first = allocate(4 * kMiB), end = allocate(6 * kMiB);
  free(end);
  const Block more = allocate(20 * kMiB);
  EXPECT_EQ(more.data, end.data);
  EXPECT_EQ(memory_.bytes, static_cast<int64_t>(24 * kMiB));
  free(first);
  free(more);
}

TEST_F(SegmentsTest, BlocksOfSeveralGrowthsMergeIntoOne) {
  std::vector<Block> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(10 * kMiB));
  for (const Block& block : blocks) free(block);
  const int64_t growths = memory_.growths;
  const Block whole = allocate(100 * kMiB);
  EXPECT_EQ(memory_.growths, growths);
  EXPECT_EQ(whole.data, blocks[0].data);
  free(whole);
}

TEST_F(SegmentsTest, EmptyCacheReturnsTheWholePagesOfFreeBlocks) {
  const Block a = allocate(3 * kMiB), b = allocate(10 * kMiB), c = allocate(3 * kMiB);
  free(b);  // from 3 to 13 MiB: pages from 4 to 12
  caching_->empty_cache();
  EXPECT_EQ(reserved(), static_cast<int64_t>(8 * kMiB));
  EXPECT_EQ(memory_.bytes, reserved());
  EXPECT_EQ(caching_->stats().largest_free, static_cast<int64_t>(kMiB));
  const Block again = allocate(10 * kMiB);  // into the hole, which is the lowest place that has room
  EXPECT_EQ(again.data, b.data);
  EXPECT_EQ(reserved(), static_cast<int64_t>(16 * kMiB));
  for (const Block& block : {a, c, again}) free(block);
  caching_->empty_cache();
  EXPECT_EQ(memory_.bytes, 0);
  EXPECT_EQ(memory_.reservations, 0);
}

TEST_F(SegmentsTest, AHoleThatIsTooNarrowIsLeftOut) {
  const Block a = allocate(4 * kMiB), b = allocate(4 * kMiB), c = allocate(4 * kMiB);
  free(b);
  caching_->empty_cache();
  const Block large = allocate(6 * kMiB), fits = allocate(4 * kMiB);
  EXPECT_EQ(address(large), address(c) + 4 * kMiB);
  EXPECT_EQ(fits.data, b.data);
  for (const Block& block : {a, c, large, fits}) free(block);
}

TEST_F(SegmentsTest, AlignmentCountsFromTheAddress) {
  const Block a = allocate(3 * kMiB), aligned = allocate(8 * kMiB, 4 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.data) % (4 * kMiB), 0u);
  free(a);
  free(aligned);
}

TEST_F(SegmentsTest, LessAddressSpaceIsTakenWhereThereIsNoMore) {
  memory_.largest_reservation = 64 * kMiB;
  const Block a = allocate(40 * kMiB), b = allocate(40 * kMiB);  // the second does not fit in the first range
  EXPECT_EQ(memory_.reservations, 2);
  Block block;
  EXPECT_EQ(caching_->allocate(65 * kMiB, 64, {}, &block).code, StatusCode::kOutOfMemory);
  free(a);
  free(b);
}

TEST_F(SegmentsTest, UnderPressureJustEnoughPagesGoBack) {
  create(40 * kMiB);
  free(allocate(30 * kMiB));  // large
  std::vector<Block> small;
  for (int i = 0; i < 12; ++i) small.push_back(allocate(kMiB));  // 12 MiB, 2 of them from the other
  EXPECT_EQ(memory_.bytes, static_cast<int64_t>(40 * kMiB));
  EXPECT_EQ(caching_->stats().largest_free, static_cast<int64_t>(28 * kMiB));
  for (const Block& block : small) free(block);
}

TEST_F(SegmentsTest, TheLimitHolds) {
  create(1000 * kMiB, {.host_accessible = false, .memory_limit = 16 * kMiB});
  const Block block = allocate(14 * kMiB);
  Block other;
  EXPECT_EQ(caching_->allocate(3 * kMiB, 64, {}, &other).code, StatusCode::kOutOfMemory);
  free(block);
  free(allocate(16 * kMiB));
}

TEST_F(SegmentsTest, CollectionUnmapsWhatHasBeenFreeForLongest) {
  create(1000 * kMiB, {.host_accessible = false, .memory_limit = 100 * kMiB, .garbage_collection_threshold = 0.5});
  const Block a = allocate(20 * kMiB), wall = allocate(2 * kMiB), b = allocate(12 * kMiB), end = allocate(2 * kMiB);
  free(a);
  free(b);
  free(allocate(12 * kMiB));
  const Block next = allocate(30 * kMiB);  // with 36 held already
  EXPECT_EQ(reserved(), static_cast<int64_t>(50 * kMiB));
  EXPECT_EQ(caching_->stats().largest_free, static_cast<int64_t>(12 * kMiB));  // b, while a lost 16 of its 20
  for (const Block& block : {wall, end, next}) free(block);
}

TEST_F(SegmentsTest, WholeSegmentsAreTakenWhereThatIsAskedFor) {
  create(1000 * kMiB, {.host_accessible = false, .extendable_segments = false});
  free(allocate(3 * kMiB));
  EXPECT_EQ(reserved(), static_cast<int64_t>(20 * kMiB));
}

class Snapshot final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { segments.push_back(segment); }
  void block(const BlockInfo& block) override { blocks.push_back(block); }
  std::vector<SegmentInfo> segments;
  std::vector<BlockInfo> blocks;
};

TEST_F(SegmentsTest, ASnapshotTellsEachRangeThatHasMemory) {
  const Block a = allocate(4 * kMiB), b = allocate(4 * kMiB), c = allocate(5 * kMiB), small = allocate(1000);
  free(b);
  caching_->empty_cache();
  free(small);  // into the free blocks of this thread
  Snapshot snapshot;
  caching_->visit_segments(snapshot);
  ASSERT_EQ(snapshot.segments.size(), 3u);
  EXPECT_EQ(snapshot.segments[0].data, a.data);
  EXPECT_EQ(snapshot.segments[0].bytes, 4 * kMiB);
  EXPECT_EQ(snapshot.segments[1].data, c.data);
  EXPECT_EQ(snapshot.segments[1].bytes, 6 * kMiB);
  EXPECT_EQ(snapshot.segments[2].data, small.data);
  ASSERT_EQ(snapshot.blocks.size(), 5u);
  EXPECT_EQ(snapshot.blocks[1].state, BlockInfo::State::kActive);
  EXPECT_EQ(snapshot.blocks[2].state, BlockInfo::State::kCached);
  EXPECT_EQ(snapshot.blocks[3].state, BlockInfo::State::kCached);
  EXPECT_EQ(snapshot.blocks[3].bytes, 1024u);
  EXPECT_EQ(caching_->active_bytes(c), 5 * kMiB);
  free(a);
  free(c);
}

}  // namespace
}  // namespace vellum::testing
