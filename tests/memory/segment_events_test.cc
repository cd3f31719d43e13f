// What a recording tells of the memory that strategies take from the device and give back. Two oracles: the strategy's
// own count of reserved bytes, and the segments that it shows at the end, to which the events must lead by address.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "vellum/allocator/adaptors/limit.h"
#include "vellum/allocator/arena.h"
#include "vellum/allocator/caching.h"
#include "vellum/allocator/direct.h"
#include "vellum/memory/predict.h"
#include "vellum/memory/snapshot.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/memory/snapshot_fixture.h"
#include "vellum/tests/memory/testing.h"

namespace vellum::testing {
namespace {

using nlohmann::json;

std::unique_ptr<Allocator> caching(bool pages) {
  return std::make_unique<CachingAllocator>(std::make_unique<DirectAllocator>(Device()),
                                            CachingOptions{.extendable_segments = pages});
}

struct Strategy {
  const char* name;
  std::function<std::unique_ptr<Allocator>()> make;
  std::set<std::string> actions;  // that a step and empty_cache() cause
};
void PrintTo(const Strategy& strategy, std::ostream* out) { *out << strategy.name; }

const std::set<std::string> kPages{"segment_map", "segment_unmap"}, kWhole{"segment_alloc", "segment_free"};

const Strategy kStrategies[] = {
    {"caching_pages", [] { return caching(true); }, kPages},
    {"caching_segments", [] { return caching(false); }, kWhole},
    {"direct", [] { return std::make_unique<DirectAllocator>(Device()); }, kWhole},
    {"arena", [] { return std::make_unique<ArenaAllocator>(caching(true)); }, kPages},
    {"adaptor", [] { return std::make_unique<LimitAdaptor>(caching(true), size_t{1} << 30); }, kPages},
};

void train_step() {
  nn::Sequential model{nn::Linear(64, 700), nn::Linear(700, 900)};
  optim::AdamW optimizer(model.parameters());
  model(ones({300, 64})).square().sum().backward();
  optimizer.step();
}

int64_t sign_of(const std::string& action) {
  if (action == "segment_alloc" || action == "segment_map") return 1;
  return action == "segment_free" || action == "segment_unmap" ? -1 : 0;
}

// Where memory begins (+1) and ends (-1), of pieces in any order and cut anyhow.
class Coverage {
 public:
  void add(uint64_t address, int64_t bytes, int64_t sign) {
    step(address, sign);
    step(address + static_cast<uint64_t>(bytes), -sign);
  }
  bool operator==(const Coverage&) const = default;
  bool empty() const { return edges_.empty(); }

 private:
  void step(uint64_t address, int64_t by) {
    if ((edges_[address] += by) == 0) edges_.erase(address);
  }
  std::map<uint64_t, int64_t> edges_;
};

// What the events of a snapshot say.
struct Told {
  explicit Told(const json& snapshot) {
    for (const json& row : snapshot["events"]["rows"]) {
      const std::string action = row[1];
      const int64_t bytes = row[4], sign = sign_of(action);
      if (sign == 0) continue;
      actions.insert(action);
      (sign > 0 ? taken : given_back) += bytes;
      memory.add(row[3], bytes, sign);
      EXPECT_EQ(row[2], 0) << "a segment is no block";
    }
  }
  std::set<std::string> actions;
  int64_t taken = 0, given_back = 0;
  Coverage memory;
};

Coverage segments_of(const json& snapshot) {
  Coverage memory;
  for (const json& segment : snapshot["segments"]) memory.add(segment["address"], segment["bytes"], 1);
  return memory;
}

class SegmentEvents : public SnapshotFixture, public ::testing::WithParamInterface<Strategy> {
 protected:
  SegmentEvents() { set_allocator(Device(), GetParam().make()); }
};

TEST_P(SegmentEvents, SumToTheChangeOfWhatIsReserved) {
  start_memory_recording();
  train_step();
  empty_cache();
  const MemoryStats stats = memory_stats();
  const Told told(take());
  EXPECT_GT(told.taken, 0);
  EXPECT_EQ(told.taken, stats.reserved.allocated);
  EXPECT_EQ(told.given_back, stats.reserved.freed);
  EXPECT_EQ(told.taken - told.given_back, memory_reserved());
  EXPECT_EQ(told.actions, GetParam().actions);
}

TEST_P(SegmentEvents, LeadToTheSegmentsThatThereAre) {
  start_memory_recording();
  const Tensor kept = ones({3'000'000}), small = ones({10});
  train_step();
  const json filled = take();
  EXPECT_EQ(Told(filled).memory, segments_of(filled));
  empty_cache();
  const json emptied = take();
  EXPECT_EQ(Told(emptied).memory, segments_of(emptied));
  EXPECT_FALSE(segments_of(emptied).empty());
}

TEST_P(SegmentEvents, BeginWithTheRecording) {
  const Tensor before = ones({3'000'000});
  const int64_t reserved = memory_reserved();
  start_memory_recording();
  const Tensor after = ones({9'000'000});
  const Told told(take());
  EXPECT_EQ(told.taken - told.given_back, memory_reserved() - reserved);
  EXPECT_GT(told.taken, 0);
}

TEST_P(SegmentEvents, TellOfThreadsWithoutTheLedgerToo) {
  start_memory_recording();
  std::thread([] {
    ones({3'000'000});
    empty_cache();
  }).join();
  const MemoryStats stats = memory_stats();
  const Told told(take());
  EXPECT_GT(told.taken, 0);
  EXPECT_EQ(told.taken, stats.reserved.allocated);
  EXPECT_EQ(told.given_back, stats.reserved.freed);
}

TEST_P(SegmentEvents, AreNotOfDryRuns) {
  start_memory_recording();
  predict_peak(train_step, {.strategy = "caching"});
  EXPECT_EQ(Told(take()).taken, memory_stats().reserved.allocated);
}

TEST_P(SegmentEvents, EndWithTheRecording) {
  start_memory_recording();
  stop_memory_recording();
  ones({3'000'000});
  start_memory_recording();
  EXPECT_EQ(Told(take()).taken, 0);
}

// The strategy's lock is held while an event is recorded: the recorder must not wait for it the other way around.
TEST_P(SegmentEvents, AreRecordedWhileRecordingsBeginAndEnd) {
  const Tensor held = ones({1000});
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      ones({300});
      empty_cache();
    }
  });
  for (int i = 0; i < 2000; ++i) {
    start_memory_recording();
    stop_memory_recording();
  }
  done = true;
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Strategies, SegmentEvents, ::testing::ValuesIn(kStrategies),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vellum::testing
