// How the caching allocator reuses memory among streams, case by case; interleaving_test searches for others.

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/stream_program.h"

namespace vellum::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class StreamsTest : public ::testing::TestWithParam<bool> {
 protected:
  StreamProgram program(int64_t limit) {
    StreamProgram::Setting setting;
    setting.pages = GetParam();
    setting.limit = limit;
    return StreamProgram(setting);
  }
  static void* data(const StreamProgram& program, size_t index) { return program.held()[index].block.data; }
};

INSTANTIATE_TEST_SUITE_P(SegmentsAndPages, StreamsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Pages" : "Segments"; });

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

TEST_P(StreamsTest, WhatPassesToAStreamThatIsBeingWaitedForDoesNotGoBack) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  ASSERT_TRUE(program.allocate(5, 12 * kMiB));
  program.use(1, 5);
  program.free(1);
  program.free(0);
  program.streams().after_next_synchronize = [&] { program.caching().release_stream(Stream{{}, 5}); };
  program.empty_cache();
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, NothingGoesBackWhileItCannotBeToldHowFarAStreamIs) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.use(0, 1);
  program.free(0);
  program.streams().no_records = true;
  program.empty_cache();
  EXPECT_EQ(program.memory().bytes, 12 * kMiB);
  program.streams().no_records = false;
  program.empty_cache();
  EXPECT_EQ(program.memory().bytes, 0);
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, WithoutFurtherEventsTheDefaultStreamInheritsAllTheSame) {
  StreamProgram program = this->program(24 * kMiB);
  for (const StreamHandle stream : {1, 2}) {
    ASSERT_TRUE(program.allocate(stream, 12 * kMiB));
    program.use(program.held().size() - 1, stream);
  }
  program.free(0);
  program.free(0);
  program.streams().no_events = true;
  program.destroy_stream(1);
  program.destroy_stream(2);
  for (size_t k = 0; k < 2; ++k) {
    ASSERT_TRUE(program.allocate(0, 12 * kMiB));
    program.use(k, 0);
  }
  EXPECT_EQ(program.memory().growths, 2);
  program.streams().finish_all();
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, AStreamWhoseEndCouldNotBeDealtWithGetsNoMemory) {
  StreamProgram program = this->program(24 * kMiB);
  program.streams().no_events = true;
  EXPECT_FALSE(program.allocate(1, 12 * kMiB));
  EXPECT_TRUE(program.allocate(0, 12 * kMiB));
  program.streams().no_events = false;
  EXPECT_TRUE(program.allocate(1, 12 * kMiB));
}

TEST_P(StreamsTest, AUseWhoseEventWasNotRecordedEndsWithItsStream) {
  StreamProgram program = this->program(24 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  void* const first = data(program, 0);
  program.use(0, 1);
  program.streams().no_records = true;
  program.free(0);
  program.streams().no_records = false;
  program.destroy_stream(1);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_NE(data(program, 0), first);
  program.streams().finish_all();
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(data(program, 1), first);
  EXPECT_EQ(program.fault(), "");
}

// After a fault of the device, which the next synchronisation tells.
TEST_P(StreamsTest, AUseThatCannotBeRecordedAtTheEndOfItsStreamIsOver) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(0, 12 * kMiB));
  program.use(0, 1);
  program.streams().finish_all();
  program.streams().no_records = true;
  program.destroy_stream(1);
  program.free(0);
  program.streams().no_records = false;
  EXPECT_TRUE(program.allocate(0, 12 * kMiB));
  EXPECT_EQ(program.fault(), "");
}

TEST_P(StreamsTest, SegmentsPassOnFromAStreamThatOwnsNoBlockAnyMore) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.free(0);
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  program.destroy_stream(1);
  Snapshot snapshot;
  program.caching().visit_segments(snapshot);
  ASSERT_EQ(snapshot.segments.size(), 1u);
  EXPECT_EQ(snapshot.segments[0].stream.handle, 0);
}

// A strategy above that saw no events would hand memory out that streams still use.
TEST_P(StreamsTest, AStrategyOverAnotherKnowsOfStreamsToo) {
  SimulatedStreams streams;
  SimulatedMemory::Counts counts;
  {
    const CachingOptions options{.host_accessible = false, .thread_cache_bytes = 0};
    auto memory = std::make_unique<SimulatedMemory>(&streams, &counts, GetParam(), 64 * kMiB);
    CachingAllocator caching(std::make_unique<CachingAllocator>(std::move(memory), options), options);
    EXPECT_EQ(caching.events(), &streams);
    Block shared, block;
    ASSERT_TRUE(caching.allocate(12 * kMiB, kDefaultAlignment, {}, &shared).ok());
    ASSERT_TRUE(caching.allocate(12 * kMiB, kDefaultAlignment, Stream{{}, 5}, &block).ok());
    caching.record_stream(shared, Stream{{}, 5});
    streams.use(5, 1, range_of(shared.data, shared.bytes));
    caching.deallocate(shared, {});
    caching.deallocate(block, Stream{{}, 5});
    ASSERT_TRUE(caching.allocate(12 * kMiB, kDefaultAlignment, {}, &block).ok());
    EXPECT_NE(block.data, shared.data);
    caching.deallocate(block, {});
    caching.release_stream(Stream{{}, 5});
    streams.destroy_stream(5);
    caching.empty_cache();
  }
  EXPECT_EQ(counts.bytes, 0);
  EXPECT_EQ(streams.fault, "");
}

// Events that are complete at once, of streams that threads destroy.
class DestroyedStreams final : public EventSource {
 public:
  void destroy_stream(StreamHandle stream) {
    std::lock_guard lock(mutex_);
    destroyed_.insert(stream);
  }
  int faults() const { return faults_; }

  Status create(EventHandle* out) noexcept override {
    *out = ++last_;
    return ok_status();
  }
  Status destroy(EventHandle) noexcept override { return ok_status(); }
  Status record(EventHandle, const Stream& stream) noexcept override {
    std::lock_guard lock(mutex_);
    if (destroyed_.contains(stream.handle)) ++faults_;
    return ok_status();
  }
  Status query(EventHandle) noexcept override { return ok_status(); }
  Status synchronize(EventHandle) noexcept override { return ok_status(); }
  Status wait(const Stream&, EventHandle) noexcept override { return ok_status(); }

 private:
  std::mutex mutex_;
  std::set<StreamHandle> destroyed_;
  std::atomic<int> faults_{0};
  std::atomic<EventHandle> last_{0};
};

class MemoryOf final : public Allocator {
 public:
  explicit MemoryOf(EventSource& events) : events_(events) {}
  std::string_view name() const override { return "memory_of"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    *out = {std::aligned_alloc(64, bytes), bytes, nullptr};
    return ok_status();
  }
  void deallocate(const Block& block, const Stream&) noexcept override { std::free(block.data); }
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
  EventSource* events() noexcept override { return &events_; }

 private:
  EventSource& events_;
};

// Blocks are freed on their own stream while another thread destroys it.
TEST(StreamsAndThreads, AFreeAndTheEndOfItsStreamMayComeTogether) {
  DestroyedStreams streams;
  CachingAllocator caching(std::make_unique<MemoryOf>(streams), {.host_accessible = false});
  for (StreamHandle handle = 1; handle <= 1000; ++handle) {
    const Stream stream{{}, handle};
    std::vector<Block> blocks(20);
    for (Block& block : blocks) ASSERT_TRUE(caching.allocate(1000, kDefaultAlignment, stream, &block).ok());
    std::atomic<int> ready{0};
    std::thread other([&] {
      for (++ready; ready < 2;) std::this_thread::yield();
      for (const Block& block : blocks) caching.deallocate(block, stream);
    });
    for (++ready; ready < 2;) std::this_thread::yield();
    caching.release_stream(stream);
    streams.destroy_stream(handle);
    other.join();
  }
  EXPECT_EQ(streams.faults(), 0);
}

}  // namespace
}  // namespace vellum::testing
