#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "vellum/allocator/arena_plan.h"

namespace vellum {
namespace {

// Memory that nothing touches. No address comes twice. Counts what is given back on the default stream.
class NeverTheSame final : public Allocator {
 public:
  std::string_view name() const override { return "never_the_same"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    *out = {reinterpret_cast<void*>(next_.fetch_add((bytes + 4095) / 4096 * 4096)), bytes, nullptr};
    return ok_status();
  }
  void deallocate(const Block&, const Stream& stream) noexcept override { freed_on_default += stream.handle == 0; }
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
  std::atomic<int> freed_on_default{0};

 private:
  std::atomic<uintptr_t> next_{uintptr_t{1} << 40};
};

// Two blocks of one place, one after the other.
void two_in_turn(ArenaAllocator& arena, const Stream& stream) {
  for (int k = 0; k < 2; ++k) {
    Block block;
    ASSERT_TRUE(arena.allocate(640, kDefaultAlignment, stream, &block).ok());
    arena.deallocate(block, stream);
  }
}

TEST(PlannedReplayOnStreams, AStreamWithTheHandleOfADestroyedOneGetsAnotherRegion) {
  auto owned = std::make_unique<NeverTheSame>();
  const NeverTheSame& upstream = *owned;
  ArenaAllocator arena(std::move(owned), {.host_accessible = false});
  const Stream stream{{}, 5};
  ArenaPlan plan;
  for (int k = 0; k < 3; ++k) {
    ReplayScope scope(plan);
    two_in_turn(arena, stream);
  }
  arena.release_stream(stream);
  for (int k = 0; k < 2; ++k) {
    ReplayScope scope(plan);
    two_in_turn(arena, stream);
  }
  EXPECT_EQ(upstream.freed_on_default, 1);
  EXPECT_EQ(plan.report().first_difference, "the stream of the plan was destroyed");
  EXPECT_EQ(plan.report().differing_steps, 1);
  EXPECT_EQ(plan.report().planned, 6);
}

// While this thread asks for the second block of a place, another one frees the first on a stream that may still be
// using it.
TEST(PlannedReplayOnStreams, APlaceThatAnotherStreamStillUsesIsNotGivenAgain) {
  ArenaAllocator arena(std::make_unique<NeverTheSame>(), {.host_accessible = false});
  ::testing::internal::CaptureStderr();
  int given = 0;
  for (int round = 0; round < 20000; ++round) {
    ArenaPlan plan;
    for (int k = 0; k < 2; ++k) {
      ReplayScope scope(plan);
      two_in_turn(arena, {});
    }
    ReplayScope scope(plan);
    Block first, second;
    ASSERT_TRUE(arena.allocate(640, kDefaultAlignment, {}, &first).ok());
    std::atomic<int> ready{0};
    std::thread other([&] {
      for (++ready; ready < 2;) std::this_thread::yield();
      for (std::atomic<int> wait{round % 200}; wait > 0;) --wait;
      arena.deallocate(first, Stream{{}, 5});
    });
    for (++ready; ready < 2;) std::this_thread::yield();
    for (std::atomic<int> wait{30}; wait > 0;) --wait;
    ASSERT_TRUE(arena.allocate(640, kDefaultAlignment, {}, &second).ok());
    other.join();
    given += second.data == first.data;
    arena.deallocate(second, {});
  }
  (void)::testing::internal::GetCapturedStderr();
  EXPECT_EQ(given, 0);
}

}  // namespace
}  // namespace vellum
