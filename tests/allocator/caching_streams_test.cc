// How the caching allocator reuses memory among streams, case by case; interleaving_test searches for others.

#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/stream_fixture.h"

namespace vellum::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class StreamsTest : public StreamFixture {};

INSTANTIATE_TEST_SUITE_P(SegmentsAndPages, StreamsTest, ::testing::Bool(), StreamFixture::name);

// pytorch/pytorch#147168.
TEST_P(StreamsTest, TheVeryNextAllocationReusesWhatItsConsumerIsDoneWith) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  void* const first = data(program, 0);
  program.use(0, 1);
  program.free(0);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));  // never before
  EXPECT_NE(data(program, 0), first);
  EXPECT_EQ(program.caching().stats().active.current, 24 * kMiB);  // what is pending counts as active
  program.streams().finish_all();
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(data(program, 1), first);
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, ASlowStreamHoldsUpNoOther) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  void* const second = data(program, 1);
  program.use(0, 1);
  program.use(1, 2);
  program.free(0);
  program.free(0);
  while (program.advance(2)) {
  }
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(data(program, 0), second);
}

// rapidsai/rmm#2489: stream 1 takes over what stream 0 still works on, stream 2 takes it over from stream 1.
TEST_P(StreamsTest, AThirdStreamWaitsForTheFirst) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  program.use(0, 0);
  program.free(0);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.free(0);
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  program.use(0, 2);
  EXPECT_FALSE(program.advance(2));
  EXPECT_FALSE(program.advance(1));
  EXPECT_TRUE(program.advance(0));
  EXPECT_FALSE(program.advance(2));
  EXPECT_TRUE(program.advance(1));
  EXPECT_TRUE(program.advance(2));
  program.streams().finish_all();
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, AnIdleStreamGivesWhatItHasFreeAndABusyOneKeepsIt) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  void* const first = data(program, 0);
  program.use(0, 1);
  program.free(0);
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  EXPECT_NE(data(program, 0), first);
  program.streams().finish_all();
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  EXPECT_EQ(data(program, 1), first);
  EXPECT_EQ(program.memory().growths, 2);
}

// rapidsai/rmm#2039. The pieces of one segment lie with two streams in turn.
TEST_P(StreamsTest, AFragmentedPoolServesNearlyAllOfItselfOnceAllIsIdle) {
  StreamProgram program = this->program(100 * kMiB);
  ASSERT_TRUE(program.allocate(0, 100 * kMiB));
  program.free(0);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(program.allocate(i % 2, 10 * kMiB));
    program.use(static_cast<size_t>(i), 1 - i % 2);
  }
  while (!program.held().empty()) program.free(0);
  program.streams().finish_all();
  EXPECT_EQ(program.memory().growths, 1);
  ASSERT_TRUE(program.allocate(2, 90 * kMiB));
  EXPECT_EQ(program.memory().growths, 1);
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, UnderPressureTheHostWaitsForWhatIsPending) {
  StreamProgram program = this->program(24 * kMiB);
  ASSERT_TRUE(program.allocate(0, 24 * kMiB));
  program.use(0, 1);
  program.free(0);
  EXPECT_TRUE(program.allocate(0, 20 * kMiB));
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, ABlockFreedOnAnotherStreamWaitsForThat) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(0, 100));
  program.streams().follow(1, 0);
  program.streams().use(1, program.held()[0].allocation, range_of(data(program, 0), 100));
  void* const first = data(program, 0);
  program.free(0, 1);
  ASSERT_TRUE(program.allocate(0, 100));
  EXPECT_NE(data(program, 0), first);
  EXPECT_EQ(program.caching().stats().active.current, 256);
}

TEST_P(StreamsTest, EmptyCacheWaitsForStreamsThatMayUseWhatItReturns) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.use(0, 1);
  program.free(0);
  program.empty_cache();
  EXPECT_EQ(program.memory().bytes, 0);
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, EventsAreUsedAgain) {
  StreamProgram program = this->program(64 * kMiB);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(program.allocate(0, 12 * kMiB));
    program.use(0, 1);
    program.use(0, 1);
    program.free(0);
    program.streams().finish_all();
  }
  EXPECT_EQ(program.streams().live_events(), 1u);
}

TEST_P(StreamsTest, TheDefaultStreamInheritsFromADestroyedOne) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.use(0, 1);
  program.free(0);
  program.destroy_stream(1);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(program.memory().growths, 1);
  program.use(0, 0);
  EXPECT_FALSE(program.advance(0));
  EXPECT_TRUE(program.advance(1));
  EXPECT_TRUE(program.advance(0));
  EXPECT_TRUE(program.advance(0));
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, ABlockOutlivesItsStream) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.use(0, 1);
  program.destroy_stream(1);
  program.free(0);
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  program.use(0, 2);
  program.streams().finish_all();
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, AUseOutlivesItsStream) {
  StreamProgram program = this->program(24 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  void* const first = data(program, 0);
  program.use(0, 1);
  program.destroy_stream(1);
  program.free(0);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_NE(data(program, 0), first);
  program.streams().finish_all();
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(data(program, 1), first);
  EXPECT_EQ(program.fault(), "");
}

class Snapshot final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { segments.push_back(segment); }
  void block(const BlockInfo& block) override { blocks.push_back(block); }
  std::vector<SegmentInfo> segments;
  std::vector<BlockInfo> blocks;
};

TEST_P(StreamsTest, ASnapshotTellsActivePendingAndCachedBlocks) {
  StreamProgram program = this->program(64 * kMiB);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(program.allocate(0, 4 * kMiB - 100));
  program.use(1, 1);
  program.free(1);
  program.free(1);
  Snapshot snapshot;
  program.caching().visit_segments(snapshot);
  ASSERT_EQ(snapshot.segments.size(), 1u);
  EXPECT_EQ(snapshot.segments[0].bytes, GetParam() ? 12 * kMiB : 20 * kMiB);
  ASSERT_EQ(snapshot.blocks.size(), 3u);
  EXPECT_EQ(snapshot.blocks[0].state, BlockInfo::State::kActive);
  EXPECT_EQ(snapshot.blocks[0].requested, 4 * kMiB - 100);
  EXPECT_EQ(snapshot.blocks[0].bytes, 4 * kMiB);
  EXPECT_EQ(snapshot.blocks[1].state, BlockInfo::State::kPending);
  EXPECT_EQ(snapshot.blocks[1].requested, 0u);
  EXPECT_EQ(snapshot.blocks[2].state, BlockInfo::State::kCached);
}

}  // namespace
}  // namespace vellum::testing
