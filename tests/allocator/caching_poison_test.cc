// Built with AddressSanitizer in every configuration, together with the allocator's sources.

#include "gtest/gtest.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

// Volatile, so that the reads stay.
char read(const Block& block, size_t offset) { return static_cast<volatile char*>(block.data)[offset]; }

class CachingPoisonDeathTest : public CachingTest, public ::testing::WithParamInterface<size_t> {};

TEST_P(CachingPoisonDeathTest, UseAfterFreeIsReported) {
  const Block block = allocate(GetParam());
  EXPECT_EQ(read(block, 0), read(block, 0));
  free(block);
  EXPECT_DEATH(read(block, 0), "use-after-poison");
  EXPECT_DEATH(read(block, GetParam() - 1), "use-after-poison");
}

TEST_P(CachingPoisonDeathTest, TheRoundingTailIsOutOfBounds) {
  const Block block = allocate(GetParam());
  EXPECT_EQ(read(block, GetParam() - 1), read(block, GetParam() - 1));
  EXPECT_DEATH(read(block, GetParam()), "use-after-poison");
  free(block);
  const Block again = allocate(GetParam() - 9);  // reuse for fewer bytes moves the bound
  ASSERT_EQ(again.data, block.data);
  EXPECT_DEATH(read(again, GetParam() - 9), "use-after-poison");
  free(again);
}

TEST_P(CachingPoisonDeathTest, OtherStreamsArePoisonedToo) {
  const Block block = allocate(GetParam(), 64, 1);
  free(block, 1);
  EXPECT_DEATH(read(block, 0), "use-after-poison");
}

INSTANTIATE_TEST_SUITE_P(Sizes, CachingPoisonDeathTest, ::testing::Values(100, 5000, 3000001));

// The fake upstream overwrites what it gets back, which would be reported were it still poisoned.
TEST_F(CachingTest, MemoryGivenBackUpstreamIsUsableThere) {
  free(allocate(100));
  free(allocate(3000000));
  caching_->empty_cache();
  EXPECT_EQ(upstream_.live_blocks, 0);
}

TEST_F(CachingTest, DeviceMemoryIsNotTouched) {
  create({.host_accessible = false});
  const Block block = allocate(100);
  free(block);
  EXPECT_EQ(read(block, 0), read(block, 0));
}

}  // namespace
}  // namespace vellum::testing
