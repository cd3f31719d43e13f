// What becomes of memory when streams end, events are short, or a strategy lies over another.

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/stream_fixture.h"

namespace vellum::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class StreamEndsTest : public StreamFixture {};

INSTANTIATE_TEST_SUITE_P(SegmentsAndPages, StreamEndsTest, ::testing::Bool(), StreamFixture::name);

TEST_P(StreamEndsTest, WhatPassesToAStreamThatIsBeingWaitedForDoesNotGoBack) {
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

TEST_P(StreamEndsTest, NothingGoesBackWhileItCannotBeToldHowFarAStreamIs) {
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

TEST_P(StreamEndsTest, NothingGoesBackWhileAStreamCannotBeWaitedFor) {
  StreamProgram program = this->program(64 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.use(0, 1);
  program.free(0);
  program.streams().no_waits = true;
  program.empty_cache();
  EXPECT_EQ(program.memory().bytes, 12 * kMiB);
  EXPECT_EQ(program.fault(), "");
  program.streams().no_waits = false;
}

// What is left of memory with its upstream when the strategy over it is destroyed after `work`, which frees its blocks.
class Destroyed {
 public:
  template <typename Work>
  Destroyed(bool pages, const Work& work) {
    CachingAllocator caching(std::make_unique<SimulatedMemory>(&streams, &counts, pages, 64 * kMiB),
                             {.host_accessible = false});
    work(caching, streams);
  }
  SimulatedStreams streams;
  SimulatedMemory::Counts counts;
};

TEST_P(StreamEndsTest, AStrategyIsDestroyedAfterTheWorkOnItsMemory) {
  const auto work = [](CachingAllocator& caching, SimulatedStreams& streams) {
    // All of a segment, in the cache of the thread.
    Block blocks[2];
    for (Block& block : blocks) {
      ASSERT_TRUE(caching.allocate(kMiB, kDefaultAlignment, {}, &block).ok());
      streams.use(0, 1, range_of(block.data, block.bytes));
    }
    for (const Block& block : blocks) caching.deallocate(block, {});
  };
  const Destroyed destroyed(GetParam(), work);
  EXPECT_EQ(destroyed.counts.bytes, 0);
  EXPECT_EQ(destroyed.streams.fault, "");
}

TEST_P(StreamEndsTest, WhatAStreamMayStillUseOutlivesTheStrategy) {
  for (bool SimulatedStreams::*const fails : {&SimulatedStreams::no_records, &SimulatedStreams::no_waits}) {
    const auto work = [fails](CachingAllocator& caching, SimulatedStreams& streams) {
      const Stream stream{{}, 1};
      Block block;
      ASSERT_TRUE(caching.allocate(12 * kMiB, kDefaultAlignment, stream, &block).ok());
      streams.use(1, 1, range_of(block.data, block.bytes));
      caching.deallocate(block, stream);
      streams.*fails = true;
    };
    const Destroyed destroyed(GetParam(), work);
    EXPECT_EQ(destroyed.counts.bytes, 12 * kMiB);
    EXPECT_EQ(destroyed.streams.fault, "");
  }
}

TEST_P(StreamEndsTest, ABlockWithAUseThatCouldNotBeNotedOutlivesTheStrategy) {
  const auto work = [](CachingAllocator& caching, SimulatedStreams& streams) {
    Block used, other;
    ASSERT_TRUE(caching.allocate(12 * kMiB, kDefaultAlignment, {}, &used).ok());
    ASSERT_TRUE(caching.allocate(kMiB, kDefaultAlignment, {}, &other).ok());
    streams.no_events = true;
    caching.record_stream(used, Stream{{}, 1});
    streams.no_events = false;
    streams.use(1, 1, range_of(used.data, used.bytes));
    caching.deallocate(used, {});
    caching.deallocate(other, {});
  };
  const Destroyed destroyed(GetParam(), work);
  EXPECT_EQ(destroyed.counts.bytes, 12 * kMiB);
  EXPECT_EQ(destroyed.streams.fault, "");
}

TEST_P(StreamEndsTest, WithoutFurtherEventsTheDefaultStreamInheritsAllTheSame) {
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

TEST_P(StreamEndsTest, AStreamWhoseEndCouldNotBeDealtWithGetsNoMemory) {
  StreamProgram program = this->program(24 * kMiB);
  program.streams().no_events = true;
  EXPECT_FALSE(program.allocate(1, 12 * kMiB));
  EXPECT_TRUE(program.allocate(0, 12 * kMiB));
  program.streams().no_events = false;
  EXPECT_TRUE(program.allocate(1, 12 * kMiB));
}

TEST_P(StreamEndsTest, AUseWhoseEventWasNotRecordedEndsWithItsStream) {
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
TEST_P(StreamEndsTest, AUseThatCannotBeRecordedAtTheEndOfItsStreamIsOver) {
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

class StreamsOfSegments final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { streams.push_back(segment.stream.handle); }
  void block(const BlockInfo&) override {}
  std::vector<StreamHandle> streams;
};

TEST_P(StreamEndsTest, SegmentsPassOnFromAStreamThatOwnsNoBlockAnyMore) {
  StreamProgram program = this->program(12 * kMiB);
  ASSERT_TRUE(program.allocate(1, 12 * kMiB));
  program.free(0);
  ASSERT_TRUE(program.allocate(2, 12 * kMiB));
  program.destroy_stream(1);
  StreamsOfSegments segments;
  program.caching().visit_segments(segments);
  EXPECT_EQ(segments.streams, std::vector<StreamHandle>{0});
}

// A strategy above that saw no events would hand memory out that streams still use.
TEST_P(StreamEndsTest, AStrategyOverAnotherKnowsOfStreamsToo) {
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
