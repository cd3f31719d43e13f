// Training steps whose blocks lie where a plan puts them: the same results bit for bit, in hardly more memory than what
// is alive at once. That bound is taken from a trace of all allocations, and what is reserved is counted by the
// upstream.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "vellum/allocator/adaptors/trace.h"
#include "vellum/allocator/arena_plan.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/allocator/fake_upstream.h"
#include "vellum/tests/nn/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

constexpr int kSteps = 8, kMeasuredFrom = 5;

FakeUpstream::Counts upstream;
const std::shared_ptr<TraceLog>& trace() {
  static const auto log = std::make_shared<TraceLog>(size_t{1} << 20);
  return log;
}

// A trace of an arena over memory that is handed out exactly as asked for.
class Replay : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto arena = std::make_unique<ArenaAllocator>(std::make_unique<FakeUpstream>(&upstream));
    set_allocator(Device(kCPU), std::make_unique<TraceAdaptor>(std::move(arena), trace()));
  }
};

// The most bytes that were alive at once after the first `skipped` events.
int64_t max_live(size_t skipped) {
  int64_t live = 0, most = 0;
  const std::vector<TraceEvent> events = trace()->events();
  EXPECT_EQ(trace()->overwritten(), 0);
  for (size_t k = 0; k < events.size(); ++k) {
    const auto bytes = static_cast<int64_t>(events[k].bytes);
    live += events[k].action == TraceEvent::Action::kAlloc ? bytes : -bytes;
    if (k >= skipped) most = std::max(most, live);
  }
  return most;
}

struct Setting {
  const char* name;
  std::function<nn::Sequential()> model;
  std::function<std::unique_ptr<optim::Optimizer>(const nn::Module&)> optimizer;
  int64_t batch, features;
};

struct Outcome {
  std::vector<double> losses;
  std::vector<std::vector<double>> parameters;
  int64_t reserved = 0, bound = 0;  // of the last steps, in bytes
};

Outcome train(const Setting& setting, ArenaPlan* plan) {
  trace()->clear();
  manual_seed(7);
  nn::Sequential model = setting.model();
  const std::unique_ptr<optim::Optimizer> optimizer = setting.optimizer(model);
  const Tensor x = randn({setting.batch, setting.features}), y = arange(0, setting.batch).remainder(10);
  Outcome outcome;
  size_t skipped = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (step == kMeasuredFrom) {
      upstream.peak_bytes = upstream.live_bytes;
      skipped = trace()->events().size();
    }
    std::optional<ReplayScope> scope;
    if (plan) scope.emplace(*plan);
    optimizer->zero_grad();
    const Tensor loss = nn::functional::cross_entropy(model(x), y);
    loss.backward();
    optimizer->step();
    outcome.losses.push_back(loss.item());
  }
  outcome.reserved = upstream.peak_bytes;
  outcome.bound = max_live(skipped);
  for (const Tensor& p : model.parameters()) outcome.parameters.push_back(values(p));
  return outcome;
}

void expect_planned(const Setting& setting) {
  const Outcome plain = train(setting, nullptr);
  ArenaPlan plan;
  const Outcome planned = train(setting, &plan);
  EXPECT_EQ(planned.losses, plain.losses);
  EXPECT_EQ(planned.parameters, plain.parameters);
  EXPECT_EQ(planned.bound, plain.bound);

  const ArenaPlanReport& report = plan.report();
  EXPECT_LE(report.recorded_steps, 3);
  EXPECT_EQ(report.recorded_steps + report.replayed_steps, kSteps) << report.first_difference;
  EXPECT_EQ(report.fallbacks, 0);
  EXPECT_LE(static_cast<double>(report.region_bytes), 1.05 * static_cast<double>(report.max_live_bytes));
  EXPECT_LE(static_cast<double>(planned.reserved), 1.05 * static_cast<double>(planned.bound));
  std::printf("%s: reserved %lld bytes, %.4f of the most that is alive; the step's region %zu bytes, %.4f\n",
              setting.name, static_cast<long long>(planned.reserved),
              static_cast<double>(planned.reserved) / static_cast<double>(planned.bound), report.region_bytes,
              static_cast<double>(report.region_bytes) / static_cast<double>(report.max_live_bytes));
}

nn::Sequential mlp() {
  return nn::Sequential(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(), nn::Linear(512, 10));
}

// That of examples/train_digits.cc.
nn::Sequential digits_model() {
  return nn::Sequential(nn::Linear(64, 128), nn::ReLU(), nn::Dropout(0.2), nn::Linear(128, 64), nn::ReLU(),
                        nn::Dropout(0.2), nn::Linear(64, 10));
}

std::unique_ptr<optim::Optimizer> sgd(const nn::Module& model) {
  return std::make_unique<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = 0.05});
}
std::unique_ptr<optim::Optimizer> sgd_with_momentum(const nn::Module& model) {
  return std::make_unique<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
}
std::unique_ptr<optim::Optimizer> adamw(const nn::Module& model) {
  return std::make_unique<optim::AdamW>(model.parameters(), optim::AdamWOptions{.lr = 5e-3});
}

TEST_F(Replay, OfAPerceptronWithSGD) { expect_planned({"784-512-512-10, SGD", mlp, sgd, 64, 784}); }
TEST_F(Replay, OfAPerceptronWithMomentum) {
  expect_planned({"784-512-512-10, SGD with momentum", mlp, sgd_with_momentum, 64, 784});
}
TEST_F(Replay, OfAPerceptronWithAdamW) { expect_planned({"784-512-512-10, AdamW", mlp, adamw, 64, 784}); }
TEST_F(Replay, OfTheDigitsExample) { expect_planned({"the digits example, AdamW", digits_model, adamw, 32, 64}); }

TEST_F(Replay, ALastSmallerBatchFallsBackWithTheSameResult) {
  const auto losses = [](ArenaPlan* plan) {
    manual_seed(7);
    nn::Sequential model = digits_model();
    const auto optimizer = adamw(model);
    std::vector<double> losses;
    for (const int64_t batch : {32, 32, 32, 32, 5, 32, 5, 32}) {
      std::optional<ReplayScope> scope;
      if (plan) scope.emplace(*plan);
      const Tensor x = randn({batch, 64}), y = arange(0, batch).remainder(10);
      optimizer->zero_grad();
      const Tensor loss = nn::functional::cross_entropy(model(x), y);
      loss.backward();
      optimizer->step();
      losses.push_back(loss.item());
    }
    return losses;
  };
  const std::vector<double> plain = losses(nullptr);
  ArenaPlan plan;
  EXPECT_EQ(losses(&plan), plain);
  EXPECT_EQ(plan.report().differing_steps, 2);
  EXPECT_EQ(plan.report().replayed_steps, 3);
}

}  // namespace
}  // namespace vellum
