#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/fault_injection.h"
#include "vellum/allocator/adaptors/limit.h"
#include "vellum/allocator/adaptors/statistics.h"
#include "vellum/allocator/adaptors/trace.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

class NoPages final : public PageSource {
 public:
  size_t granularity() const noexcept override { return 4096; }
  Status reserve(size_t, void**) noexcept override { return ok_status(); }
  Status map(void*, size_t) noexcept override { return ok_status(); }
  Status unmap(void*, size_t) noexcept override { return ok_status(); }
  Status release(void*, size_t) noexcept override { return ok_status(); }
};
class NoEvents final : public EventSource {
 public:
  Status create(EventHandle*) noexcept override { return ok_status(); }
  Status destroy(EventHandle) noexcept override { return ok_status(); }
  Status record(EventHandle, const Stream&) noexcept override { return ok_status(); }
  Status query(EventHandle) noexcept override { return ok_status(); }
  Status synchronize(EventHandle) noexcept override { return ok_status(); }
  Status wait(const Stream&, EventHandle) noexcept override { return ok_status(); }
};

// Notes each call that reaches it. Its blocks occupy twice their bytes.
class Noting final : public Allocator {
 public:
  explicit Noting(std::vector<std::string>* calls) : calls_(calls) {}

  std::string_view name() const override { return "noting"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    note("allocate", bytes, alignment, stream.handle);
    *out = {memory_, bytes, this};
    return ok_status();
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override {
    note("deallocate", block.bytes, block.handle == this, stream.handle);
  }
  void record_stream(const Block& block, const Stream& stream) noexcept override {
    note("record_stream", block.bytes, block.handle == this, stream.handle);
  }
  void release_stream(const Stream& stream) noexcept override { note("release_stream", stream.handle); }
  void empty_cache() noexcept override { note("empty_cache"); }
  MemoryStats stats() const override { return {.allocations = 7}; }  // no limit
  void reset_peak_stats() noexcept override { note("reset_peak_stats"); }
  int64_t allocated_on_this_thread() noexcept override { return 11; }
  size_t active_bytes(const Block& block) const noexcept override { return 2 * block.bytes; }
  void visit_segments(SegmentVisitor& visitor) const override { visitor.segment({memory_, 13, {}}); }
  uint64_t add_pressure_callback(PressureCallback callback) override { return callback(1) ? 17 : 0; }
  void remove_pressure_callback(uint64_t number) noexcept override { note("remove_pressure_callback", number); }
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override {
    observer->segment_changed(source, SegmentChange::kMapped, memory_, 19);
  }
  PageSource* pages() noexcept override { return &pages_; }
  EventSource* events() noexcept override { return &events_; }

  NoPages pages_;
  NoEvents events_;

 private:
  template <typename... Args>
  void note(const char* call, const Args&... args) {
    std::string line = call;
    ((line += " " + std::to_string(args)), ...);
    calls_->push_back(line);
  }

  std::vector<std::string>* calls_;
  char memory_[64];
};

class SumOfSegments final : public SegmentObserver {
 public:
  void segment_changed(const Allocator& source, SegmentChange, const void*, size_t bytes) noexcept override {
    of = &source;
    sum += bytes;
  }
  const Allocator* of = nullptr;
  size_t sum = 0;
};

class CountSegments final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { bytes += segment.bytes; }
  void block(const BlockInfo&) override {}
  size_t bytes = 0;
};

using MakeAdaptor = std::unique_ptr<Adaptor> (*)(std::unique_ptr<Allocator>);

struct NamedAdaptor {
  const char* name;
  MakeAdaptor make;
};

class AnyAdaptor : public ::testing::TestWithParam<NamedAdaptor> {};

TEST_P(AnyAdaptor, PassesEverythingOn) {
  std::vector<std::string> calls;
  auto owned = std::make_unique<Noting>(&calls);
  Noting& strategy = *owned;
  const std::unique_ptr<Adaptor> adaptor = GetParam().make(std::move(owned));
  EXPECT_EQ(adaptor->name(), std::string(GetParam().name) + "(noting)");
  EXPECT_EQ(&adaptor->upstream(), &strategy);

  Block block;
  ASSERT_TRUE(adaptor->allocate(100, 256, Stream{{}, 3}, &block).ok());
  EXPECT_EQ(block.handle, &strategy);
  adaptor->record_stream(block, Stream{{}, 4});
  adaptor->deallocate(block, Stream{{}, 5});
  adaptor->release_stream(Stream{{}, 6});
  adaptor->empty_cache();
  adaptor->reset_peak_stats();
  EXPECT_EQ(adaptor->add_pressure_callback([](size_t bytes) { return bytes == 1; }), 17);
  adaptor->remove_pressure_callback(17);
  EXPECT_THAT(calls, ElementsAre("allocate 100 256 3", "record_stream 100 1 4", "deallocate 100 1 5",
                                 "release_stream 6", "empty_cache", "reset_peak_stats", "remove_pressure_callback 17"));
  EXPECT_EQ(adaptor->stats().allocations, 7);
  EXPECT_EQ(adaptor->allocated_on_this_thread(), 11);
  EXPECT_EQ(adaptor->active_bytes(block), 200);
  EXPECT_EQ(adaptor->pages(), nullptr);  // else a strategy above would take memory past the adaptor
  EXPECT_EQ(adaptor->events(), &strategy.events_);
  CountSegments segments;
  adaptor->visit_segments(segments);
  EXPECT_EQ(segments.bytes, 13);
  SumOfSegments observer;
  adaptor->observe_segments(&observer, *adaptor);
  EXPECT_EQ(observer.of, adaptor.get());
  EXPECT_EQ(observer.sum, 19);
}

TEST_P(AnyAdaptor, RefusesToWrapNothing) { EXPECT_THROW(GetParam().make(nullptr), InvalidArgumentError); }

INSTANTIATE_TEST_SUITE_P(
    All, AnyAdaptor,
    ::testing::Values(NamedAdaptor{"statistics",
                                   [](std::unique_ptr<Allocator> upstream) -> std::unique_ptr<Adaptor> {
                                     return std::make_unique<StatisticsAdaptor>(std::move(upstream));
                                   }},
                      NamedAdaptor{"limit",
                                   [](std::unique_ptr<Allocator> upstream) -> std::unique_ptr<Adaptor> {
                                     return std::make_unique<LimitAdaptor>(std::move(upstream), 1000);
                                   }},
                      NamedAdaptor{"trace",
                                   [](std::unique_ptr<Allocator> upstream) -> std::unique_ptr<Adaptor> {
                                     return std::make_unique<TraceAdaptor>(std::move(upstream),
                                                                           std::make_shared<TraceLog>());
                                   }},
                      NamedAdaptor{"fault_injection",
                                   [](std::unique_ptr<Allocator> upstream) -> std::unique_ptr<Adaptor> {
                                     return std::make_unique<FaultInjectionAdaptor>(std::move(upstream));
                                   }}),
    [](const auto& info) { return std::string(info.param.name); });

// An adaptor over Noting and what a test says of blocks.
template <typename A>
class Over {
 public:
  template <typename... Args>
  explicit Over(Args&&... args) : adaptor(std::make_unique<Noting>(&calls), std::forward<Args>(args)...) {}

  Block allocate(size_t bytes, StreamHandle stream = 0) {
    Block block;
    EXPECT_TRUE(adaptor.allocate(bytes, kDefaultAlignment, Stream{{}, stream}, &block).ok());
    return block;
  }
  StatusCode refused(size_t bytes) {
    Block block;
    return adaptor.allocate(bytes, kDefaultAlignment, {}, &block).code;
  }
  void free(const Block& block) { adaptor.deallocate(block, {}); }

  std::vector<std::string> calls;
  A adaptor;
};

std::vector<int64_t> numbers(const MemoryStat& stat) { return {stat.current, stat.peak, stat.allocated, stat.freed}; }

TEST(Statistics, CountersBeginAtZeroAndGoIntoThoseBelow) {
  Over<StatisticsAdaptor> over;
  const Block a = over.allocate(100);
  over.adaptor.push_counters();
  const Block b = over.allocate(50), c = over.allocate(30);
  over.free(a);
  over.free(b);
  const MemoryCounters inner = over.adaptor.pop_counters();
  EXPECT_THAT(numbers(inner.requested), ElementsAre(-70, 80, 80, 150));
  EXPECT_THAT(numbers(inner.active), ElementsAre(-140, 160, 160, 300));
  EXPECT_THAT(numbers(inner.blocks), ElementsAre(0, 2, 2, 2));
  over.free(c);
  EXPECT_THAT(numbers(over.adaptor.counters().requested), ElementsAre(0, 180, 180, 180));
  EXPECT_THAT(numbers(over.adaptor.counters().blocks), ElementsAre(0, 3, 3, 3));
}

TEST(Statistics, AScopePushesAndPops) {
  Over<StatisticsAdaptor> over;
  const Block outside = over.allocate(10);
  {
    StatisticsScope scope(over.adaptor);
    over.free(over.allocate(40));
    EXPECT_THAT(numbers(scope.counters().requested), ElementsAre(0, 40, 40, 40));
  }
  EXPECT_THAT(numbers(over.adaptor.counters().requested), ElementsAre(10, 50, 50, 40));
  EXPECT_THROW(over.adaptor.pop_counters(), InvalidArgumentError);
  over.free(outside);
}

TEST(Statistics, AScopeEndsAlsoWhereItsCountersHaveBeenPopped) {
  Over<StatisticsAdaptor> over;
  {
    StatisticsScope scope(over.adaptor);
    over.free(over.allocate(40));
    over.adaptor.pop_counters();
  }
  EXPECT_THAT(numbers(over.adaptor.counters().requested), ElementsAre(0, 40, 40, 40));
}

TEST(Limit, RefusesWhatWouldExceedIt) {
  Over<LimitAdaptor> over(size_t{1000});  // each block occupies twice its bytes
  const Block a = over.allocate(300), b = over.allocate(200);
  EXPECT_EQ(over.adaptor.active(), 1000);
  EXPECT_EQ(over.refused(1), StatusCode::kOutOfMemory);
  EXPECT_EQ(over.adaptor.refusals(), 1);
  over.free(b);
  over.free(over.allocate(200));
  over.free(a);
  EXPECT_EQ(over.adaptor.active(), 0);
}

TEST(Limit, IsAmongTheStatistics) {
  EXPECT_EQ(Over<LimitAdaptor>(size_t{0}).adaptor.stats().limit, 0);
  EXPECT_EQ(Over<LimitAdaptor>(size_t{1000}).adaptor.stats().limit, 1000);
  std::vector<std::string> calls;
  auto inner = std::make_unique<LimitAdaptor>(std::make_unique<Noting>(&calls), 500);
  EXPECT_EQ(LimitAdaptor(std::move(inner), 1000).stats().limit, 500);
}

TEST(Limit, AskedForLessThanItWouldOccupyTheBlockGoesBack) {
  Over<LimitAdaptor> over(size_t{1000});
  EXPECT_EQ(over.refused(501), StatusCode::kOutOfMemory);
  EXPECT_THAT(over.calls, ElementsAre("allocate 501 64 0", "deallocate 501 1 0"));
  EXPECT_EQ(over.refused(1001), StatusCode::kOutOfMemory);
  EXPECT_EQ(over.calls.size(), 2);  // not even asked
  EXPECT_EQ(over.adaptor.active(), 0);
}

TEST(Limit, HoldsForThreads) {
  testing::FakeUpstream::Counts counts;
  LimitAdaptor limit(std::make_unique<testing::FakeUpstream>(&counts), 10 * 64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&limit] {
      for (int round = 0; round < 500; ++round) {
        std::vector<Block> blocks;
        for (int k = 0; k < 5; ++k)
          if (Block block; limit.allocate(64, kDefaultAlignment, {}, &block).ok()) blocks.push_back(block);
        EXPECT_LE(limit.active(), 10 * 64);
        for (const Block& block : blocks) limit.deallocate(block, {});
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limit.active(), 0);
  EXPECT_EQ(counts.live_blocks, 0);
}

// Which of 8 allocations fail.
std::vector<int> failing(const InjectedFaults& faults, size_t first_bytes = 1) {
  Over<FaultInjectionAdaptor> over;
  over.allocate(99);  // does not count: the faults come later
  over.adaptor.inject(faults);
  std::vector<int> failed;
  for (int k = 0; k < 8; ++k)
    if (over.refused(first_bytes + static_cast<size_t>(k)) == StatusCode::kOutOfMemory) failed.push_back(k);
  EXPECT_EQ(over.adaptor.allocations(), 8);
  EXPECT_EQ(over.adaptor.failures(), static_cast<int64_t>(failed.size()));
  EXPECT_EQ(over.calls.size(), 9 - failed.size());
  return failed;
}

TEST(FaultInjection, FailsWhatItIsToldTo) {
  EXPECT_THAT(failing({}), ElementsAre());
  EXPECT_THAT(failing({.at = 0}), ElementsAre(0));
  EXPECT_THAT(failing({.at = 3}), ElementsAre(3));
  EXPECT_THAT(failing({.from = 5}), ElementsAre(5, 6, 7));
  EXPECT_THAT(failing({.every = 3}), ElementsAre(2, 5));
  EXPECT_THAT(failing({.at = 0, .every = 4}), ElementsAre(0, 3, 7));
  EXPECT_THAT(failing({.if_bytes = [](size_t bytes) { return bytes > 16; }}, 12), ElementsAre(5, 6, 7));
}

using Action = TraceEvent::Action;

std::vector<std::string> described(const TraceLog& log) {
  std::vector<std::string> lines;
  for (const TraceEvent& event : log.events())
    lines.push_back(
        str_cat(static_cast<int>(event.action), " ", event.bytes, " ", event.stream.handle, " ", event.tag));
  return lines;
}

TEST(Trace, RecordsEachCallUnderItsAnnotations) {
  const auto log = std::make_shared<TraceLog>();
  Over<TraceAdaptor> over(log);
  const AnnotationScope module(Annotation::Kind::kModule, "encoder.0");
  Block block;
  {
    const AnnotationScope op(Annotation::Kind::kOperator, "linear");
    block = over.allocate(100, 3);
  }
  over.free(block);
  EXPECT_THAT(described(*log), ElementsAre("0 100 3 encoder.0/linear", "1 100 0 encoder.0"));
  const std::vector<TraceEvent> events = log->events();
  EXPECT_EQ(events[0].address, block.data);
  EXPECT_EQ(events[0].thread, events[1].thread);
  EXPECT_LE(events[0].time, events[1].time);
}

TEST(Trace, CountsTheEventsThatItOverwrites) {
  const auto log = std::make_shared<TraceLog>(3);
  Over<TraceAdaptor> over(log);
  for (size_t bytes = 1; bytes <= 5; ++bytes) over.allocate(bytes);
  EXPECT_THAT(described(*log), ElementsAre("0 3 0 ", "0 4 0 ", "0 5 0 "));
  EXPECT_EQ(log->overwritten(), 2);
  log->clear();
  EXPECT_EQ(log->overwritten(), 0);
  EXPECT_THAT(described(*log), ElementsAre());
  EXPECT_THROW(TraceLog(0), InvalidArgumentError);
}

TEST(Trace, BelowAStrategyItRecordsSegmentsAndPages) {
  const auto log = std::make_shared<TraceLog>();
  Over<TraceAdaptor> over(log, TraceLevel::kSegments);
  const Block block = over.allocate(4096);
  ASSERT_TRUE(over.adaptor.pages()->map(block.data, 8192).ok());
  ASSERT_TRUE(over.adaptor.pages()->unmap(block.data, 8192).ok());
  over.free(block);
  std::vector<Action> actions;
  for (const TraceEvent& event : log->events()) actions.push_back(event.action);
  EXPECT_THAT(actions,
              ElementsAre(Action::kSegmentAlloc, Action::kSegmentMap, Action::kSegmentUnmap, Action::kSegmentFree));
}

TEST(Trace, RecordsWhenMemoryHasRunOut) {
  testing::FakeUpstream::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  TraceAdaptor trace(std::make_unique<testing::FakeUpstream>(&counts, 10), log);
  Block block;
  EXPECT_EQ(trace.allocate(11, kDefaultAlignment, {}, &block).code, StatusCode::kOutOfMemory);
  ASSERT_EQ(log->events().size(), 1);
  EXPECT_EQ(log->events()[0].action, Action::kOom);
  EXPECT_EQ(log->events()[0].bytes, 11);
  EXPECT_EQ(log->events()[0].address, nullptr);
}

// The format as RMM's replay benchmark reads it.
TEST(Trace, ExportsTheFormatOfRMM) {
  testing::FakeUpstream::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  TraceAdaptor trace(std::make_unique<testing::FakeUpstream>(&counts, 300), log);
  Block block, none;
  ASSERT_TRUE(trace.allocate(256, kDefaultAlignment, Stream{{}, 2}, &block).ok());
  EXPECT_FALSE(trace.allocate(100, kDefaultAlignment, {}, &none).ok());
  trace.deallocate(block, Stream{{}, 2});
  log->record(Action::kSegmentAlloc, nullptr, 1, {});  // has no line
  std::ostringstream out;
  log->write_csv(out);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0], "Thread,Time,Action,Pointer,Size,Stream");
  const std::string start = "[0-9]+,[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9][0-9][0-9][0-9][0-9][0-9],";
  EXPECT_THAT(lines[1], MatchesRegex(start + "allocate,0x[0-9a-f]+,256,2"));
  EXPECT_THAT(lines[2], MatchesRegex(start + "allocate failure,0x0,100,0"));
  EXPECT_THAT(lines[3], MatchesRegex(start + "free,0x[0-9a-f]+,256,2"));
  EXPECT_EQ(lines[1].substr(lines[1].find(",0x")), lines[3].substr(lines[3].find(",0x")));
}

TEST(Trace, SaysWhenItCannotBeWritten) {
  EXPECT_THROW(TraceLog().write_csv(::testing::TempDir() + "/no_such_folder/trace.csv"), IoError);
  const std::string path = ::testing::TempDir() + "/trace.csv";
  TraceLog().write_csv(path);
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "Thread,Time,Action,Pointer,Size,Stream");
}

TEST(Adaptors, StackInAnyOrder) {
  testing::FakeUpstream::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  auto limit = std::make_unique<LimitAdaptor>(std::make_unique<testing::FakeUpstream>(&counts), 100);
  TraceAdaptor trace(std::make_unique<StatisticsAdaptor>(std::move(limit)), log);
  EXPECT_EQ(trace.name(), "trace(statistics(limit(fake)))");
  Block block;
  EXPECT_EQ(trace.allocate(101, kDefaultAlignment, {}, &block).code, StatusCode::kOutOfMemory);
  ASSERT_TRUE(trace.allocate(100, kDefaultAlignment, {}, &block).ok());
  trace.deallocate(block, {});
  EXPECT_EQ(counts.faults, 0);
}

}  // namespace
}  // namespace vellum
