#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/limit.h"
#include "vellum/tests/allocator/adaptors_fixture.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using testing::Noting;
using testing::Over;

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

}  // namespace
}  // namespace vellum
