#include "vellum/allocator/lifetime_packing.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace vellum::internal {
namespace {

// Byte by byte and tick by tick: whether two blocks are ever at one place at one time.
bool collides(const std::vector<Lifetime>& blocks, const Packing& packing, size_t ticks) {
  for (size_t tick = 0; tick < ticks; ++tick) {
    std::vector<bool> taken(packing.bytes);
    for (size_t k = 0; k < blocks.size(); ++k) {
      const bool alive = blocks[k].begin < blocks[k].end ? tick >= blocks[k].begin && tick < blocks[k].end
                                                         : tick >= blocks[k].begin || tick < blocks[k].end;
      for (size_t byte = 0; alive && byte < blocks[k].bytes; ++byte) {
        if (packing.offsets[k] + byte >= packing.bytes || taken[packing.offsets[k] + byte]) return true;
        taken[packing.offsets[k] + byte] = true;
      }
    }
  }
  return false;
}

size_t most_live(const std::vector<Lifetime>& blocks, size_t ticks) {
  size_t most = 0;
  for (size_t tick = 0; tick < ticks; ++tick) {
    size_t live = 0;
    for (const Lifetime& block : blocks)
      if (block.begin < block.end ? tick >= block.begin && tick < block.end : tick >= block.begin || tick < block.end)
        live += block.bytes;
    most = std::max(most, live);
  }
  return most;
}

TEST(LifetimePacking, OneAfterTheOtherShareAPlace) {
  const Packing packing = pack(std::vector<Lifetime>{{100, 0, 1}, {100, 1, 2}, {60, 2, 3}});
  EXPECT_EQ(packing.bytes, 100);
}

TEST(LifetimePacking, WhatIsAliveTogetherLiesSideBySide) {
  const Packing packing = pack(std::vector<Lifetime>{{100, 0, 2}, {50, 1, 3}});
  EXPECT_EQ(packing.bytes, 150);
  EXPECT_NE(packing.offsets[0], packing.offsets[1]);
}

TEST(LifetimePacking, ALifetimeGoesOnIntoTheNextStep) {
  // Alive at ticks 3, 0 and 1.
  EXPECT_EQ(pack(std::vector<Lifetime>{{100, 3, 2}, {100, 1, 2}}).bytes, 200);
  EXPECT_EQ(pack(std::vector<Lifetime>{{100, 3, 2}, {100, 2, 3}}).bytes, 100);
  // Alive always.
  EXPECT_EQ(pack(std::vector<Lifetime>{{100, 2, 2}, {100, 0, 1}}).bytes, 200);
}

// Blocks are placed side by side, the largest first; some end, and the last one comes then.
TEST(LifetimePacking, TheSmallestGapThatFitsIsTaken) {
  // Gaps of 90 at 0 and of 70 at 170.
  EXPECT_EQ(pack(std::vector<Lifetime>{{90, 0, 1}, {80, 0, 2}, {70, 0, 1}, {60, 0, 2}, {50, 1, 2}}).offsets[4], 170);
  // Gaps of 80 at 90 and of 110 at 240.
  EXPECT_EQ(
      pack(std::vector<Lifetime>{{90, 0, 2}, {80, 0, 1}, {70, 0, 2}, {60, 0, 1}, {50, 0, 1}, {40, 0, 2}, {30, 1, 2}})
          .offsets[6],
      90);
}

TEST(LifetimePacking, NothingNeedsNothing) { EXPECT_EQ(pack({}).bytes, 0); }

TEST(LifetimePacking, RandomBlocksNeverCollideAndNeedLittleMoreThanIsLive) {
  std::mt19937 random(5);
  double most = 1;
  for (int round = 0; round < 300; ++round) {
    const size_t ticks = 2 + random() % 12;
    std::vector<Lifetime> blocks(1 + random() % 12);
    for (Lifetime& block : blocks) {
      block = {1 + random() % 40, random() % ticks, random() % (ticks + 1)};
      if (block.end == 0) block.end = ticks;
    }
    const Packing packing = pack(blocks);
    const size_t bound = most_live(blocks, ticks);
    ASSERT_FALSE(collides(blocks, packing, ticks)) << "round " << round;
    ASSERT_EQ(max_live_bytes(blocks), bound);
    most = std::max(most, static_cast<double>(packing.bytes) / static_cast<double>(bound));
  }
  EXPECT_LT(most, 1.5);
}

}  // namespace
}  // namespace vellum::internal
