#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/statistics.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/adaptors_fixture.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using testing::Over;

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

}  // namespace
}  // namespace vellum
