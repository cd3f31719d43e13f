// Whatever allocation fails, an optimizer's step and a module's conversion happen as a whole or not at all.

#include <functional>
#include <memory>
#include <string_view>

#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/tests/fakes/failing_allocator.h"
#include "vellum/tests/nn/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;
using fakes::allocations_left;
using fakes::FailingAllocator;

class OutOfMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { set_allocator(Device(kCPU), std::make_unique<FailingAllocator>()); }
};

// Lets each allocation of `action` fail in turn, and calls `expect_unchanged` after each failure, until it passes.
void fail_each_allocation(const std::function<void()>& action, const std::function<void()>& expect_unchanged) {
  for (int failures = 0;; ++failures) {
    SCOPED_TRACE(failures);
    allocations_left = failures;
    try {
      action();
      allocations_left = -1;
      EXPECT_GT(failures, 1);
      return;
    } catch (const OutOfMemoryError&) {
      allocations_left = -1;
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

}  // namespace
}  // namespace vellum
