// Where the device places memory decides nothing: what a strategy reserves is a function of the program alone. A
// prediction could not be exact otherwise, since only a run meets the device.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "vellum/allocator/caching.h"

namespace vellum {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Places each block above or below all earlier ones. Nobody touches them.
class Placing final : public Allocator {
 public:
  explicit Placing(bool upwards) : upwards_(upwards) {}

  std::string_view name() const override { return "placing"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    const uintptr_t room = (bytes + 4095) / 4096 * 4096;
    if (!upwards_) next_ -= room;
    *out = {std::bit_cast<void*>(next_), bytes, nullptr};
    if (upwards_) next_ += room;
    return ok_status();
  }
  void deallocate(const Block&, const Stream&) noexcept override {}
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}

 private:
  const bool upwards_;
  uintptr_t next_ = uintptr_t{1} << 45;
};

struct Trace {
  explicit Trace(bool upwards)
      : strategy(std::make_unique<Placing>(upwards), CachingOptions{.host_accessible = false}) {}
  ~Trace() {
    for (const Block& block : live) strategy.deallocate(block, {});
  }

  void step(std::mt19937& random) {
    if (!live.empty() && random() % 100 < (live.size() < 40 ? 40 : 60)) {
      std::swap(live[random() % live.size()], live.back());
      strategy.deallocate(live.back(), {});
      live.pop_back();
      return;
    }
    const size_t sizes[] = {64 << 10, 256 << 10, 1 * kMiB, 2 * kMiB, 5 * kMiB, 8 * kMiB, 12 * kMiB};
    live.emplace_back();
    ASSERT_TRUE(strategy.allocate(sizes[random() % std::size(sizes)], kDefaultAlignment, {}, &live.back()).ok());
  }

  CachingAllocator strategy;
  std::vector<Block> live;
};

TEST(Placement, DecidesNothingForTheCachingStrategy) {
  Trace up(true), down(false);
  std::mt19937 random_up(1), random_down(1);
  for (int i = 0; i < 20000; ++i) {
    up.step(random_up);
    down.step(random_down);
    const MemoryStats a = up.strategy.stats(), b = down.strategy.stats();
    ASSERT_EQ(a.reserved.current, b.reserved.current) << "after step " << i;
    ASSERT_EQ(a.split.current, b.split.current) << "after step " << i;
    ASSERT_EQ(a.largest_free, b.largest_free) << "after step " << i;
  }
}

}  // namespace
}  // namespace vellum
