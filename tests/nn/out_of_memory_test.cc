// Whatever allocation fails, an optimizer's step and a module's conversion happen as a whole or not at all, and a
// training step leaves everything so that the next one is that of an undisturbed run.

#include <functional>
#include <memory>

#include "vellum/nn/activation.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/fakes/cpu_faults.h"
#include "vellum/tests/nn/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;
using fakes::cpu_faults;

class OutOfMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu_faults(); }
};

// Lets each allocation of `action` fail in turn, and calls `expect_unchanged` after each failure, until it passes.
void fail_each_allocation(const std::function<void()>& action, const std::function<void()>& expect_unchanged) {
  for (int failures = 0;; ++failures) {
    SCOPED_TRACE(failures);
    cpu_faults().inject({.at = failures});
    try {
      action();
      cpu_faults().inject({});
      EXPECT_GT(failures, 1);
      return;
    } catch (const OutOfMemoryError&) {
      cpu_faults().inject({});
      EXPECT_TRUE(is_grad_enabled());
      expect_unchanged();
    }
  }
}

// Two parameters, three steps each; in the second optimizer every allocation fails once.
template <typename O, typename Options>
void expect_steps_as_a_whole(const Options& options) {
  Tensor expected[] = {leaf({1, 2, 3}), leaf({4, 5})}, p[] = {leaf({1, 2, 3}), leaf({4, 5})};
  O undisturbed({expected[0], expected[1]}, options), disturbed({p[0], p[1]}, options);
  for (Tensor* parameters : {expected, p}) {
    parameters[0].set_grad(constant({1, -1, 2}));
    parameters[1].set_grad(constant({0.5, 3}));
  }
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    const std::vector<double> before[] = {values(p[0]), values(p[1])};
    const int64_t bytes = live_bytes();
    fail_each_allocation([&] { disturbed.step(); },
                         [&] {
                           EXPECT_EQ(values(p[0]), before[0]);
                           EXPECT_EQ(values(p[1]), before[1]);
                           EXPECT_EQ(live_bytes(), bytes);
                         });
    undisturbed.step();
    EXPECT_EQ(values(p[0]), values(expected[0]));
    EXPECT_EQ(values(p[1]), values(expected[1]));
  }
}

TEST_F(OutOfMemory, SGDStepsAsAWhole) {
  expect_steps_as_a_whole<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1});
}

TEST_F(OutOfMemory, AdamWStepsAsAWhole) {
  expect_steps_as_a_whole<optim::AdamW>(optim::AdamWOptions{.lr = 0.1, .weight_decay = 0.1});
}

TEST_F(OutOfMemory, AModuleIsConvertedAsAWhole) {
  nn::Linear linear(2, 3);
  linear(ones({1, 2})).sum().backward();
  const std::vector<double> weight = values(linear.weight());
  fail_each_allocation([&] { linear.to(kFloat64); },
                       [&] {
                         for (const Tensor& p : linear.parameters()) {
                           EXPECT_EQ(p.dtype(), kFloat32);
                           EXPECT_EQ(p.grad().dtype(), kFloat32);
                         }
                         EXPECT_EQ(values(linear.weight()), weight);
                       });
  EXPECT_EQ(linear.bias().dtype(), kFloat64);
  EXPECT_EQ(linear.bias().grad().dtype(), kFloat64);
}

// A network of two layers with what a step of it changes.
template <typename O, typename Options>
struct Training {
  nn::Sequential model{nn::Linear(5, 7, {.dtype = kFloat64}), nn::ReLU(), nn::Linear(7, 4, {.dtype = kFloat64})};
  O optimizer;
  Tensor x = pattern({6, 5}), y = tensor<int64_t>({0, 1, 2, 3, 0, 1});

  explicit Training(const Options& options) : optimizer(model.parameters(), options) {
    const NoGradGuard no_grad;
    for (Tensor& p : model.parameters()) p.copy_(pattern(p.shape()));
  }

  void step() {
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
  }
  std::vector<std::vector<double>> parameters() const {
    std::vector<std::vector<double>> numbers;
    for (const Tensor& p : model.parameters()) numbers.push_back(values(p));
    return numbers;
  }
  // How many parameters have a gradient.
  int gradients() const {
    int count = 0;
    for (const Tensor& p : model.parameters()) count += p.grad().defined();
    return count;
  }
};

// For each allocation of the second step, trains for one step, lets that allocation fail, and trains on.
template <typename O, typename Options>
void expect_recovery(const Options& options, int steps_before) {
  Training<O, Options> undisturbed(options);
  for (int step = 0; step < steps_before; ++step) undisturbed.step();
  const auto before = undisturbed.parameters();
  undisturbed.step();
  const auto after_one = undisturbed.parameters();
  undisturbed.step();
  const auto after_two = undisturbed.parameters();

  bool failed_forward = false, failed_later = false;
  for (int failing = 0;; ++failing) {
    SCOPED_TRACE(failing);
    Training<O, Options> disturbed(options);
    for (int step = 0; step < steps_before; ++step) disturbed.step();
    disturbed.optimizer.zero_grad();
    const int64_t bytes = live_bytes(), state = disturbed.optimizer.state_bytes();
    bool failed = false;
    cpu_faults().inject({.at = failing});
    try {
      disturbed.step();
    } catch (const OutOfMemoryError&) {
      failed = true;
    }
    cpu_faults().inject({});
    if (!failed) {
      EXPECT_EQ(disturbed.parameters(), after_one);
      EXPECT_GT(failing, 15);
      break;
    }
    EXPECT_TRUE(is_grad_enabled());
    EXPECT_EQ(disturbed.parameters(), before);
    EXPECT_EQ(disturbed.optimizer.state_bytes(), state);
    const int gradients = disturbed.gradients();
    EXPECT_TRUE(gradients == 0 || gradients == 4) << gradients << " of 4 gradients";
    failed_forward |= gradients == 0;
    failed_later |= gradients == 4;
    disturbed.optimizer.zero_grad();
    EXPECT_EQ(live_bytes(), bytes);

    disturbed.step();
    EXPECT_EQ(disturbed.parameters(), after_one);
    disturbed.step();
    EXPECT_EQ(disturbed.parameters(), after_two);
  }
  EXPECT_TRUE(failed_forward);
  EXPECT_TRUE(failed_later);
}

constexpr optim::SGDOptions kSGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1};
constexpr optim::AdamWOptions kAdamW{.lr = 0.1, .weight_decay = 0.1};

TEST_F(OutOfMemory, AFirstTrainingStepWithSGDCanFailAnywhere) { expect_recovery<optim::SGD>(kSGD, 0); }
TEST_F(OutOfMemory, ALaterTrainingStepWithSGDCanFailAnywhere) { expect_recovery<optim::SGD>(kSGD, 2); }
TEST_F(OutOfMemory, AFirstTrainingStepWithAdamWCanFailAnywhere) { expect_recovery<optim::AdamW>(kAdamW, 0); }
TEST_F(OutOfMemory, ALaterTrainingStepWithAdamWCanFailAnywhere) { expect_recovery<optim::AdamW>(kAdamW, 2); }

}  // namespace
}  // namespace vellum
