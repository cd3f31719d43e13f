#include <algorithm>
#include <vector>

#include "vellum/tests/memory/predict_testing.h"

namespace vellum {
namespace {

using testing::message_of;

constexpr int64_t kMiB = 1 << 20;

// 4 MiB for each of a batch.
void hold(int64_t batch) { empty({batch, kMiB}).fill_(1); }

int64_t largest(int64_t budget, std::vector<BatchTrial>* trials = nullptr, int64_t at_most = 1 << 20) {
  return largest_batch(
      hold, budget, {.predict = {.strategy = "direct"}, .at_most = at_most, .on_trial = [&](const BatchTrial& trial) {
                       if (trials) trials->push_back(trial);
                     }});
}

TEST(LargestBatch, IsTheLargestThatFits) {
  for (const int64_t batch : {1, 2, 3, 31, 32, 33, 1000}) {
    EXPECT_EQ(largest(batch * 4 * kMiB), batch);
    EXPECT_EQ(largest(batch * 4 * kMiB - 1), batch - 1);
    EXPECT_EQ(largest((batch + 1) * 4 * kMiB - 1), batch);
  }
}

TEST(LargestBatch, CanExceedTheMachine) { EXPECT_EQ(largest(int64_t{1} << 42), 1 << 20); }

TEST(LargestBatch, StaysBelowTheLimit) {
  for (const int64_t limit : {1, 2, 5, 8, 9}) EXPECT_EQ(largest(100 * 4 * kMiB, nullptr, limit), limit);
}

TEST(LargestBatch, TellsItsTrials) {
  std::vector<BatchTrial> trials;
  EXPECT_EQ(largest(11 * 4 * kMiB, &trials), 11);
  std::vector<int64_t> tried;
  for (const BatchTrial& trial : trials) {
    tried.push_back(trial.batch);
    EXPECT_EQ(trial.fits, trial.batch <= 11);
    EXPECT_EQ(trial.peaks.reserved, trial.fits ? trial.batch * 4 * kMiB : 0);
  }
  EXPECT_EQ(tried, (std::vector<int64_t>{1, 2, 4, 8, 16, 12, 10, 11}));
}

// The strategy gives back what it caches before it gives up.
TEST(LargestBatch, CountsWhatPressureFrees) {
  const auto two_after_each_other = [](int64_t batch) {
    empty({batch, 11 * kMiB / 4});
    empty({batch, 13 * kMiB / 4});
  };
  const LargestBatchOptions options{.predict = {.strategy = "caching"}};
  EXPECT_EQ(largest_batch(two_after_each_other, 40 * kMiB, options), 3);
}

TEST(LargestBatch, OfTrainingRunsWithinTheBudget) {
  const auto train = [](int64_t batch) {
    nn::Linear model(100, 1000);
    optim::AdamW optimizer(model.parameters());
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      model(randn({batch, 100})).relu().sum().backward();
      optimizer.step();
    }
  };
  const int64_t budget = 64 * kMiB;
  const int64_t batch = largest_batch(train, budget);
  EXPECT_LE(predict_peak([&] { train(batch); }, {.budget = budget}).reserved, budget);
  EXPECT_THROW(predict_peak([&] { train(batch + 1); }, {.budget = budget}), OutOfMemoryError);
}

TEST(LargestBatch, RefusesWhatMakesNoSense) {
  EXPECT_NE(message_of<InvalidArgumentError>([] { largest_batch(hold, 0); }).find("budget must be positive"), -1);
  EXPECT_NE(message_of<InvalidArgumentError>([] { largest_batch(hold, 1, {.at_most = 0}); }).find("at_most"), -1);
  EXPECT_NE(message_of<InvalidArgumentError>([] { largest_batch(nullptr, 1); }).find("function is empty"), -1);
}

}  // namespace
}  // namespace vellum
