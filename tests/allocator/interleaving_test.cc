// Searches the interleavings of small programs on several streams for one in which the caching allocator hands out
// memory too early, or does not reuse it when it could. Deterministic; needs no device.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/stream_program.h"

namespace vellum::testing {
namespace {

using Plant = SimulatedStreams::Plant;

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

// Does one action of a program; false when there is nothing to do.
using Action = std::function<bool(StreamProgram&)>;

// Allocate and advance on every stream; use the newest block on every stream; free the oldest or the newest.
std::vector<Action> actions(StreamHandle streams, size_t bytes) {
  std::vector<Action> all;
  for (StreamHandle stream = 0; stream < streams; ++stream) {
    all.push_back([=](StreamProgram& program) {
      program.allocate(stream, bytes);
      return true;
    });
    all.push_back([=](StreamProgram& program) {
      if (program.held().empty()) return false;
      program.use(program.held().size() - 1, stream);
      return true;
    });
    all.push_back([=](StreamProgram& program) { return program.advance(stream); });
  }
  all.push_back([](StreamProgram& program) {
    if (program.held().empty()) return false;
    program.free(0);
    return true;
  });
  return all;
}

struct Found {
  std::string fault;  // empty: none in all schedules
  int64_t schedules = 0;
};

// Runs every schedule of `length` actions, leaving out those that differ only by actions without effect.
Found search_all(const StreamProgram::Setting& setting, const std::vector<Action>& all, size_t length) {
  std::vector<size_t> schedule(length, 0);
  Found found;
  for (;;) {
    ++found.schedules;
    size_t last = length - 1;
    {
      StreamProgram program(setting);
      for (size_t i = 0; i < length; ++i) {
        const bool done = all[schedule[i]](program);
        if (!program.fault().empty()) {
          found.fault = program.fault();
          return found;
        }
        if (done) continue;
        last = i;
        break;
      }
    }
    while (++schedule[last] == all.size()) {
      if (last == 0) return found;
      schedule[last--] = 0;
    }
    for (size_t i = last + 1; i < length; ++i) schedule[i] = 0;
  }
}

// A random program: mostly short-lived blocks, now and then all streams come to rest or the cache is emptied.
void random_step(StreamProgram& program, StreamHandle streams, std::mt19937& random) {
  static constexpr size_t kBytes[] = {64 * kKiB, 512 * kKiB, kMiB, 3 * kMiB, 7 * kMiB, 12 * kMiB};
  const StreamHandle stream = random() % streams;
  const size_t held = program.held().size();
  const unsigned choice = random() % 1000;
  if (choice < 4) return program.empty_cache();
  if (choice < 8) return program.streams().finish_all();
  if (choice < 350) return void(program.advance(stream));
  if (choice < 600 || held == 0) {
    if (held < 10) program.allocate(stream, kBytes[random() % std::size(kBytes)]);
  } else if (choice < 780) {
    program.use(random() % held, stream);
  } else {
    const size_t index = random() % held;
    choice % 8 == 0 ? program.free(index, stream) : program.free(index);
  }
}

Found search_random(const StreamProgram::Setting& setting, StreamHandle streams, int steps, unsigned seed) {
  std::mt19937 random(seed);
  StreamProgram program(setting);
  Found found;
  for (; found.schedules < steps && found.fault.empty(); ++found.schedules) {
    random_step(program, streams, random);
    found.fault = program.fault();
  }
  return found;
}

StreamProgram::Setting setting(bool pages, int64_t limit, Plant plant = Plant::kNothing) {
  StreamProgram::Setting made;
  made.pages = pages;
  made.limit = limit;
  made.plant = plant;
  return made;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class InterleavingTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(SegmentsAndPages, InterleavingTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Pages" : "Segments"; });

// With memory for one block, every change of streams is under pressure; with memory for two, it need not be.
TEST_P(InterleavingTest, EverySmallScheduleOfTwoStreamsIsRight) {
  for (const int64_t blocks : {1, 2}) {
    const Found found = search_all(setting(GetParam(), blocks * 12 * kMiB), actions(2, 12 * kMiB), 7);
    EXPECT_EQ(found.fault, "") << found.schedules;
    EXPECT_GT(found.schedules, 10000);
  }
}

TEST_P(InterleavingTest, EverySmallScheduleOfThreeStreamsIsRight) {
  const Found found = search_all(setting(GetParam(), 12 * kMiB), actions(3, 12 * kMiB), 6);
  EXPECT_EQ(found.fault, "") << found.schedules;
  EXPECT_GT(found.schedules, 10000);
}

// Altogether 10^6 steps.
TEST_P(InterleavingTest, LongRandomSchedulesAreRight) {
  for (const StreamHandle streams : {2, 3, 4})
    for (const int64_t limit : {24 * kMiB, 64 * kMiB}) {
      const Found found = search_random(setting(GetParam(), limit), streams, 500000 / 6 + 1, 7);
      EXPECT_EQ(found.fault, "") << "step " << found.schedules << " of " << streams << " streams, limit " << limit;
    }
}

// The fault of rapidsai/rmm#2489: the free lists of two streams are merged, and what the donor had still to do is lost.
TEST_P(InterleavingTest, ALostEventOfADonorIsFound) {
  const auto planted = setting(GetParam(), 12 * kMiB, Plant::kDropWaits);
  EXPECT_PRED2(contains, search_all(planted, actions(2, 12 * kMiB), 6).fault, "is used before");
  EXPECT_PRED2(contains, search_random(planted, 3, 100000, 1).fault, "use");
}

TEST_P(InterleavingTest, AForgottenUseIsFound) {
  const auto planted = setting(GetParam(), 64 * kMiB, Plant::kForgetUses);
  EXPECT_NE(search_random(planted, 2, 100000, 1).fault, "");
}

TEST_P(InterleavingTest, ReuseThatIsLateIsFound) {
  const auto planted = setting(GetParam(), 64 * kMiB, Plant::kNeverReady);
  EXPECT_EQ(search_random(planted, 2, 100000, 1).fault, "memory that was free was not reused at once");
}

}  // namespace
}  // namespace vellum::testing
