// What all adaptors have in common.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/fault_injection.h"
#include "vellum/allocator/adaptors/limit.h"
#include "vellum/allocator/adaptors/statistics.h"
#include "vellum/allocator/adaptors/trace.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/adaptors_fixture.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using testing::Noting;

class CountSegments final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { bytes += segment.bytes; }
  void block(const BlockInfo&) override {}
  size_t bytes = 0;
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
