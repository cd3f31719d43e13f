#include "vellum/allocator/arena_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/step_record.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::HasSubstr;

class PlannedReplay : public ::testing::Test {
 protected:
  PlannedReplay() { create(std::numeric_limits<int64_t>::max()); }
  ~PlannedReplay() override {
    plan_.reset();
    arena_.reset();
    EXPECT_EQ(upstream_.live_blocks, 0);
    EXPECT_EQ(upstream_.faults, 0);
  }

  void create(int64_t limit) {
    plan_.reset();
    arena_.emplace(std::make_unique<testing::FakeUpstream>(&upstream_, limit));
    plan_.emplace();
  }

  Block allocate(size_t bytes, StreamHandle stream = 0) {
    Block block;
    const Status status = arena_->allocate(bytes, kDefaultAlignment, Stream{{}, stream}, &block);
    EXPECT_TRUE(status.ok()) << status.message;
    if (status.ok()) std::memset(block.data, 0x77, block.bytes);
    return block;
  }
  void free(const Block& block, StreamHandle stream = 0) { arena_->deallocate(block, Stream{{}, stream}); }

  // What a step of this test does: two blocks that overlap in time, then one in the place of the first.
  void step(size_t third = 640) {
    ReplayScope scope(*plan_);
    const Block a = allocate(640), b = allocate(128);
    free(a);
    const Block c = allocate(third);
    free(b);
    free(c);
  }

  testing::FakeUpstream::Counts upstream_;
  std::optional<ArenaAllocator> arena_;
  std::optional<ArenaPlan> plan_;
};

TEST_F(PlannedReplay, TwoEqualStepsMakeAPlanThatTheNextFollows) {
  step();
  EXPECT_EQ(plan_->report().region_bytes, 0);
  step();
  EXPECT_EQ(plan_->report().recorded_steps, 2);
  EXPECT_EQ(plan_->report().max_live_bytes, 640 + 128);
  EXPECT_EQ(plan_->report().region_bytes, 640 + 128);
  const int64_t calls = upstream_.calls;
  for (int k = 0; k < 5; ++k) step();
  EXPECT_EQ(upstream_.calls, calls + 1);
  EXPECT_EQ(upstream_.live_bytes, 768);
  EXPECT_EQ(plan_->report().replayed_steps, 5);
  EXPECT_EQ(plan_->report().planned, 15);
  EXPECT_EQ(plan_->report().fallbacks, 0);
  EXPECT_EQ(plan_->report().differing_steps, 0);
}

TEST_F(PlannedReplay, BlocksHaveTheSameAddressInEveryStep) {
  std::vector<const void*> first, second;
  for (int k = 0; k < 4; ++k) {
    ReplayScope scope(*plan_);
    const Block a = allocate(64), b = allocate(64);
    (k == 2 ? first : second) = {a.data, b.data};
    free(a);
    free(b);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
}

TEST_F(PlannedReplay, AFirstStepThatMakesStateIsNotPlanned) {
  std::optional<Block> state;
  for (int k = 0; k < 4; ++k) {
    ReplayScope scope(*plan_);
    const Block a = allocate(640);
    if (!state) state = allocate(1280);
    free(a);
  }
  EXPECT_EQ(plan_->report().recorded_steps, 3);
  EXPECT_EQ(plan_->report().replayed_steps, 1);
  EXPECT_EQ(plan_->report().region_bytes, 640);
  free(*state);
}

// As gradients that the next step drops before it makes new ones.
TEST_F(PlannedReplay, WhatTheNextStepFreesHasItsPlaceUntilThen) {
  std::optional<Block> gradient;
  for (int k = 0; k < 6; ++k) {
    ReplayScope scope(*plan_);
    const Block activation = allocate(256);  // the old gradient is still alive
    if (gradient) free(*gradient);
    free(activation);
    const Block again = allocate(128);
    gradient = allocate(640);
    free(again);
  }
  EXPECT_EQ(plan_->report().region_bytes, 640 + 256);
  EXPECT_EQ(plan_->report().replayed_steps, 4);
  EXPECT_EQ(plan_->report().fallbacks, 0);
  free(*gradient);
}

TEST_F(PlannedReplay, WhatOutlivesItsSuccessorIsUpstreams) {
  std::optional<Block> loss;
  for (int k = 0; k < 5; ++k) {
    ReplayScope scope(*plan_);
    const Block next = allocate(64), other = allocate(128);
    if (loss) free(*loss);
    loss = next;
    free(other);
  }
  EXPECT_EQ(plan_->report().region_bytes, 128);
  EXPECT_EQ(plan_->report().replayed_steps, 3);
  free(*loss);
}

TEST_F(PlannedReplay, ADifferentSizeFallsBackAndSaysWhich) {
  step();
  step();
  ::testing::internal::CaptureStderr();
  step(1000);
  step(1000);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(plan_->report().first_difference, "allocation 2 asks for 1000 bytes, the recorded one for 640");
  EXPECT_THAT(log, HasSubstr("a step differs from the recorded one: allocation 2 asks for 1000 bytes"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
  EXPECT_EQ(plan_->report().differing_steps, 2);
  EXPECT_EQ(plan_->report().fallbacks, 2);
  step();
  EXPECT_EQ(plan_->report().replayed_steps, 1);
}

TEST_F(PlannedReplay, AMissingOrAdditionalAllocationCostsOnlyItself) {
  const auto varied = [&](bool first, bool additional) {
    ReplayScope scope(*plan_);
    std::vector<Block> blocks;
    if (first) blocks.push_back(allocate(64));
    if (additional) blocks.push_back(allocate(999));
    for (size_t bytes : {128, 192, 256}) blocks.push_back(allocate(bytes));
    for (const Block& block : blocks) free(block);
  };
  for (int k = 0; k < 3; ++k) varied(true, false);
  EXPECT_EQ(plan_->report().planned, 4);
  varied(false, false);
  EXPECT_EQ(plan_->report().planned, 7);
  EXPECT_EQ(plan_->report().fallbacks, 0);
  varied(true, true);
  EXPECT_EQ(plan_->report().planned, 11);
  EXPECT_EQ(plan_->report().fallbacks, 1);
  EXPECT_EQ(plan_->report().differing_steps, 2);
}

// Else it could take a place that the step will still need.
TEST_F(PlannedReplay, APlaceIsGivenOnceInAStep) {
  step();
  step();
  {
    ReplayScope scope(*plan_);
    free(allocate(640));
    free(allocate(640));  // that of the third allocation, asked for too early
    free(allocate(640));  // there is none left
    free(allocate(128));
  }
  EXPECT_EQ(plan_->report().planned, 3);
  EXPECT_EQ(plan_->report().fallbacks, 1);
}

TEST(StepRecord, ABlockThatAnotherStreamFreesIsCrossed) {
  internal::StepRecord record;
  char first, second;
  for (int step = 0; step < 2; ++step) {
    record.begin();
    record.allocated({&first, 64}, kDefaultAlignment, {});
    record.allocated({&second, 64}, kDefaultAlignment, {});
    record.freed(&first, Stream{{}, 5});
    record.freed(&second, {});
    EXPECT_EQ(record.end(), step == 1);
  }
  EXPECT_TRUE(record.blocks()[0].crossed);
  EXPECT_FALSE(record.blocks()[1].crossed);
}

TEST_F(PlannedReplay, AStepThatEndsEarlySaysSo) {
  step();
  step();
  {
    ReplayScope scope(*plan_);
    free(allocate(640));
  }
  EXPECT_EQ(plan_->report().first_difference, "it ends after allocation 1, the recorded one made 3");
  EXPECT_EQ(plan_->report().differing_steps, 1);
}

TEST_F(PlannedReplay, ABlockThatLivesLongerThanRecordedKeepsItsPlace) {
  step();
  step();
  Block a;
  {
    ReplayScope scope(*plan_);
    a = allocate(640);
    std::memset(a.data, 1, a.bytes);
    const Block b = allocate(128), c = allocate(640);  // c was recorded in the place of a
    EXPECT_NE(c.data, a.data);
    free(b);
    free(c);
  }
  EXPECT_THAT(plan_->report().first_difference, HasSubstr("at allocation 2 of 640 bytes a block is alive"));
  EXPECT_EQ(plan_->report().fallbacks, 1);
  step();  // a's place is still taken
  EXPECT_EQ(static_cast<const char*>(a.data)[639], 1);
  EXPECT_EQ(plan_->report().fallbacks, 3);
  free(a);
  step();
  EXPECT_EQ(plan_->report().replayed_steps, 1);
}

TEST_F(PlannedReplay, BlocksOutliveThePlan) {
  for (int k = 0; k < 2; ++k) step();
  Block kept;
  {
    ReplayScope scope(*plan_);
    kept = allocate(640);
  }
  plan_.reset();
  EXPECT_EQ(upstream_.live_bytes, 768);
  std::memset(kept.data, 1, kept.bytes);
  free(kept);
  EXPECT_EQ(upstream_.live_bytes, 0);
}

TEST_F(PlannedReplay, UsesOfSeveralStreamsAreNotPlanned) {
  for (int k = 0; k < 3; ++k) {
    ReplayScope scope(*plan_);
    const Block own = allocate(64), other = allocate(128, 5), used = allocate(192), freed = allocate(256);
    arena_->record_stream(used, Stream{{}, 5});
    free(own);
    free(other, 5);
    free(used);
    free(freed);
  }
  EXPECT_EQ(plan_->report().region_bytes, 64 + 256);
  EXPECT_EQ(plan_->report().replayed_steps, 1);
}

TEST_F(PlannedReplay, AUseOfAnotherStreamThatWasNotRecordedGivesTheRegionUp) {
  step();
  step();
  step();
  const void* before = nullptr;
  {
    ReplayScope scope(*plan_);
    const Block a = allocate(640);
    before = a.data;
    arena_->record_stream(a, Stream{{}, 5});
    const Block b = allocate(128);
    EXPECT_NE(b.data, static_cast<const char*>(before) + 640);
    free(a);
    free(b);
  }
  EXPECT_EQ(plan_->report().first_difference, "a block of the plan was used on another stream");
  EXPECT_EQ(upstream_.live_blocks, 1);  // the new region alone
}

TEST_F(PlannedReplay, WithoutMemoryForTheRegionUpstreamServesEachBlock) {
  create(1000);
  step();
  step();
  const Block taken = allocate(300);  // leaves 700: for each block, not for the region of 768
  {
    ReplayScope scope(*plan_);
    free(allocate(640));
    free(allocate(128));
    free(allocate(640));
  }
  EXPECT_EQ(plan_->report().fallbacks, 3);
  EXPECT_EQ(plan_->report().first_difference, "upstream has no region of 768 bytes");
  free(taken);
  step();
  EXPECT_EQ(plan_->report().replayed_steps, 1);
}

TEST_F(PlannedReplay, OnlyOneScopeOfAPlanIsOpen) {
  ReplayScope scope(*plan_);
  EXPECT_THROW(ReplayScope second(*plan_), InvalidArgumentError);
  EXPECT_THROW(plan_->reset(), InvalidArgumentError);
}

TEST_F(PlannedReplay, AfterAResetStepsAreRecordedAnew) {
  for (int k = 0; k < 3; ++k) step();
  plan_->reset();
  EXPECT_EQ(upstream_.live_bytes, 0);
  for (int k = 0; k < 3; ++k) step(1280);
  EXPECT_EQ(plan_->report().region_bytes, 1280 + 128);
  EXPECT_EQ(plan_->report().replayed_steps, 1);
}

// Steps that change at random, with blocks that live on at random: no block is ever part of another.
TEST_F(PlannedReplay, StaysSafeWhateverAProgramDoes) {
  struct Filled {
    Block block;
    unsigned char number;
  };
  std::mt19937 random(11);
  std::vector<Filled> live;
  const auto release = [&](size_t index) {
    std::swap(live[index], live.back());
    for (size_t i = 0; i < live.back().block.bytes; ++i)
      ASSERT_EQ(static_cast<const unsigned char*>(live.back().block.data)[i], live.back().number);
    free(live.back().block);
    live.pop_back();
  };
  for (int step = 0; step < 400; ++step) {
    const bool disturbed = step > 2 && random() % 3 == 0;
    std::mt19937 script(99);
    ReplayScope scope(*plan_);
    for (int k = 0; k < 60; ++k) {
      size_t bytes = 1 + script() % 500;
      if (disturbed && random() % 10 == 0) bytes = 1 + random() % 500;
      if (!disturbed || random() % 20 != 0) {
        live.push_back({allocate(bytes), static_cast<unsigned char>(random())});
        std::memset(live.back().block.data, live.back().number, live.back().block.bytes);
      }
      const size_t place = script();
      if (!live.empty() && k % 3 != 0 && (!disturbed || random() % 10 != 0)) release(place % live.size());
    }
    while (!live.empty() && (!disturbed || random() % 8 != 0)) release(live.size() - 1);
  }
  while (!live.empty()) release(live.size() - 1);
  EXPECT_GT(plan_->report().replayed_steps, 50);
  EXPECT_GT(plan_->report().differing_steps, 50);
  EXPECT_EQ(arena_->stats().active.current, 0);
}

}  // namespace
}  // namespace vellum
