// Adaptors, and the arena, between a strategy and its upstream.

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/fault_injection.h"
#include "vellum/allocator/adaptors/limit.h"
#include "vellum/allocator/adaptors/statistics.h"
#include "vellum/allocator/adaptors/trace.h"
#include "vellum/allocator/arena.h"
#include "vellum/allocator/caching.h"
#include "vellum/tests/allocator/simulated_streams.h"

namespace vellum {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Memory that offers pages, which a strategy would take past an adaptor that passed them on.
std::unique_ptr<Allocator> pages(testing::SimulatedMemory::Counts* counts) {
  return std::make_unique<testing::SimulatedMemory>(nullptr, counts, true, int64_t{1} << 40);
}

// Whether a strategy over `upstream` gets memory for a block.
bool serves(std::unique_ptr<Allocator> upstream, size_t bytes) {
  CachingAllocator caching(std::move(upstream), {.host_accessible = false});
  Block block;
  if (!caching.allocate(bytes, kDefaultAlignment, {}, &block).ok()) return false;
  caching.deallocate(block, {});
  return true;
}

TEST(BelowAStrategy, ALimitIsOfTheSegmentsThatItTakes) {
  testing::SimulatedMemory::Counts counts;
  EXPECT_TRUE(serves(std::make_unique<LimitAdaptor>(pages(&counts), 4 * kMiB), 3 * kMiB));
  EXPECT_FALSE(serves(std::make_unique<LimitAdaptor>(pages(&counts), 4 * kMiB), 5 * kMiB));
}

TEST(BelowAStrategy, FaultsAreOfTheSegmentsThatItTakes) {
  testing::SimulatedMemory::Counts counts;
  EXPECT_FALSE(serves(std::make_unique<FaultInjectionAdaptor>(pages(&counts), InjectedFaults{.from = 0}), 100));
}

TEST(BelowAStrategy, StatisticsCountTheSegmentsThatItTakes) {
  testing::SimulatedMemory::Counts counts;
  auto owned = std::make_unique<StatisticsAdaptor>(pages(&counts));
  StatisticsAdaptor& statistics = *owned;
  CachingAllocator caching(std::move(owned), {.host_accessible = false});
  Block block;
  ASSERT_TRUE(caching.allocate(100, kDefaultAlignment, {}, &block).ok());
  EXPECT_EQ(statistics.counters().requested.current, counts.bytes);
  EXPECT_EQ(statistics.counters().blocks.current, 1);
  caching.deallocate(block, {});
}

TEST(BelowAStrategy, AnArenaCountsTheSegmentsThatItTakes) {
  testing::SimulatedMemory::Counts counts;
  auto owned = std::make_unique<ArenaAllocator>(pages(&counts), ArenaOptions{.host_accessible = false});
  ArenaAllocator& arena = *owned;
  CachingAllocator caching(std::move(owned), {.host_accessible = false});
  Block block;
  ASSERT_TRUE(caching.allocate(100, kDefaultAlignment, {}, &block).ok());
  EXPECT_EQ(arena.stats().active.current, counts.bytes);
  caching.deallocate(block, {});
}

TEST(BelowAStrategy, ATraceOfBlocksHearsOfTheSegmentsThatItTakes) {
  testing::SimulatedMemory::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  EXPECT_TRUE(serves(std::make_unique<TraceAdaptor>(pages(&counts), log), 100));
  EXPECT_EQ(log->events().size(), 2);  // one is taken, and given back
}

}  // namespace
}  // namespace vellum
