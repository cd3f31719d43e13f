#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <vector>

#include "nlohmann/json.hpp"
#include "vellum/allocator/direct.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/error.h"
#include "vellum/tools/allocator_replay/counted_device.h"
#include "vellum/tools/allocator_replay/report.h"
#include "vellum/tools/allocator_replay/tournament.h"
#include "vellum/tools/allocator_replay/training_trace.h"

namespace vellum::allocator_replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Live are 8000, 24000, 16000, 40000, 16000 and 24000 bytes: 40000 at most.
constexpr char kLog[] =
    "Action,Pointer,Size\n"
    "allocate,1,8000\n"
    "allocate,2,16000\n"
    "free,1,8000\n"
    "allocate,3,24000\n"
    "free,3,24000\n"
    "allocate,4,8000\n";

Trace read(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in, "log.csv");
}

Trace training() {
  std::stringstream log;
  write_training_trace(log, {.layers = 4, .steps = 3});
  return read_trace(log, "training");
}

// Asks for one block of 32 KiB first and cuts everything from it; what does not fit fails. It frees nothing until it is
// destroyed, and `lose` never does.
class OneSlab final : public Allocator {
 public:
  explicit OneSlab(bool lose) : upstream_(counted_device()), lose_(lose) {}
  ~OneSlab() override {
    // What is lost stays within reach, lest LeakSanitizer finds it too.
    static std::vector<void*>& lost = *new std::vector<void*>;
    if (slab_.data && lose_)
      lost.push_back(slab_.data);
    else if (slab_.data)
      upstream_.deallocate(slab_, {});
  }
  std::string_view name() const override { return "one_slab"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    if (!slab_.data)
      if (const Status status = upstream_.allocate(kSlab, alignment, stream, &slab_); !status.ok()) return status;
    if (used_ + bytes > kSlab) return {StatusCode::kOutOfMemory, "the slab is used up"};
    *out = {static_cast<char*>(slab_.data) + used_, bytes, nullptr};
    used_ += bytes;
    return ok_status();
  }
  void deallocate(const Block&, const Stream&) noexcept override {}
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}

  static constexpr size_t kSlab = 32768;

 private:
  DirectAllocator upstream_;
  Block slab_;
  size_t used_ = 0;
  bool lose_;
};

const bool kRegistered = [] {
  register_strategy("one_slab", [](Device) -> std::unique_ptr<Allocator> { return std::make_unique<OneSlab>(false); });
  register_strategy("losing_slab",
                    [](Device) -> std::unique_ptr<Allocator> { return std::make_unique<OneSlab>(true); });
  return true;
}();

TEST(Tournament, DirectHoldsWhatIsLiveAndAsksTheDeviceForEverything) {
  const Outcome outcome = replay(read(kLog), "direct", {});
  EXPECT_EQ(outcome.reserved_peak, 40000);  // all multiples of the alignment of 64 bytes
  EXPECT_EQ(outcome.upstream_allocations, 4);
  EXPECT_EQ(outcome.upstream_frees, 2);
  EXPECT_EQ(outcome.failures, 0);
  EXPECT_EQ(outcome.lost_bytes, 0);
}

TEST(Tournament, FiguresAreThoseOfTheDeviceNotOfTheStrategy) {
  ASSERT_TRUE(kRegistered);
  const Outcome outcome = replay(read(kLog), "one_slab", {});
  EXPECT_EQ(outcome.reserved_peak, 32768);
  EXPECT_EQ(outcome.upstream_allocations, 1);
  EXPECT_EQ(outcome.upstream_frees, 0);
}

TEST(Tournament, WhatCannotBeServedIsCountedAndNotFreed) {
  // 8000, 16000 and the last 8000 bytes fit into the slab, 24000 do not.
  EXPECT_EQ(replay(read(kLog), "one_slab", {}).failures, 1);
  EXPECT_EQ(replay(read(kLog), "direct", {.memory_limit = 30000}).failures, 1);
  EXPECT_EQ(replay(read(kLog), "direct", {.memory_limit = 30000}).reserved_peak, 24000);
  EXPECT_EQ(replay(read(kLog), "direct", {.memory_limit = 40000}).failures, 0);
}

TEST(Tournament, AStrategyThatLosesMemoryIsNamed) {
  const Outcome outcome = replay(read(kLog), "losing_slab", {});
  EXPECT_EQ(outcome.lost_bytes, 32768);
  EXPECT_THAT(table(read(kLog), {outcome}), HasSubstr("losing_slab kept 32768 bytes for ever"));
  EXPECT_EQ(replay(read(kLog), "direct", {}).reserved_peak, 40000) << "nor does it burden the next";
}

TEST(Tournament, CachingServesATrainingFromFewerCallsToTheDevice) {
  const Trace trace = training();
  const Outcome direct = replay(trace, "direct", {}), caching = replay(trace, "caching", {.touch = true});
  EXPECT_EQ(direct.upstream_allocations, static_cast<int64_t>(trace.allocations));
  EXPECT_LT(caching.upstream_allocations, direct.upstream_allocations / 4);
  EXPECT_GE(caching.reserved_peak, static_cast<int64_t>(trace.max_live));
  EXPECT_EQ(caching.failures, 0);
  EXPECT_EQ(caching.lost_bytes, 0);
}

TEST(Tournament, AStrategyThatIsNotLinkedIsAnErrorThatListsThoseThatAre) {
  try {
    replay(read(kLog), "none", {});
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("caching, direct, losing_slab, one_slab"));
  }
}

TEST(Tournament, ProgressIsTold) {
  std::vector<size_t> told;
  replay(read(kLog), "direct", {.progress = [&](const std::string&, size_t done, size_t all) {
           told.push_back(done);
           EXPECT_EQ(all, 6);
         }});
  EXPECT_THAT(told, ElementsAre(0));
}

TEST(Percentile, IsTheSmallestValueThatSoManyDoNotExceed) {
  std::vector<uint32_t> hundred;
  for (uint32_t i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.5), 50);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

const std::vector<Outcome> kOutcomes = {
    {.strategy = "a", .reserved_peak = 60000, .failures = 0, .allocate = {10, 20}, .free = {5, 6}, .total_ns = 300},
    {.strategy = "b", .reserved_peak = 50000, .failures = 0, .total_ns = 400},
    {.strategy = "c", .reserved_peak = 10, .failures = 1, .total_ns = 1}};

TEST(Report, NamesTheBestOfThoseThatServedEverything) {
  EXPECT_THAT(table(read(kLog), kOutcomes), HasSubstr("least memory: b; least time: a\n"));
  EXPECT_THAT(table(read(kLog), {kOutcomes[2]}), HasSubstr("none served every allocation"));
}

TEST(Report, TellsHowManyTimesTheBoundWasReserved) {
  EXPECT_THAT(table(read(kLog), kOutcomes), HasSubstr("0.06 MiB   1.500       10       20        5        6"));
  EXPECT_EQ(summary(read(kLog), "log.csv"),
            "log.csv: 4 allocations, 2 frees, 2 left at the end, 0 rows ignored; at most 0.04 MiB live at once\n");
}

TEST(Report, JsonHasTheSameFigures) {
  const nlohmann::json read_back = nlohmann::json::parse(json(read(kLog), "\xff.csv", kOutcomes));
  EXPECT_EQ(read_back["trace"]["max_live_bytes"], 40000);
  EXPECT_EQ(read_back["strategies"].size(), 3);
  EXPECT_EQ(read_back["strategies"][0]["reserved_over_bound"], 1.5);
  EXPECT_EQ(read_back["strategies"][0]["allocate_p99_ns"], 20);
  EXPECT_EQ(read_back["strategies"][2]["failures"], 1);
}

}  // namespace
}  // namespace vellum::allocator_replay
