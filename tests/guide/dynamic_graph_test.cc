// What a user of dynamic graphs learns first. Read from top to bottom.

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

TEST(DynamicGraph, EveryOperatorOnATensorThatRequiresGradExtendsTheGraph) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * 2;
  Tensor loss = y.sum();

  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(x.grad_fn());
  EXPECT_FALSE(loss.is_leaf());
  EXPECT_TRUE(loss.requires_grad());

  // The graph is walked from the result to the leaves.
  const GradFn sum = loss.grad_fn();
  EXPECT_EQ(sum.name(), "SumBackward");
  ASSERT_EQ(sum.next_functions().size(), 1u);
  const GradFn mul = sum.next_functions()[0];
  EXPECT_EQ(mul.name(), "MulBackward");
  ASSERT_EQ(mul.next_functions().size(), 2u);
  EXPECT_EQ(mul.next_functions()[0].name(), "AccumulateGrad");
  EXPECT_FALSE(mul.next_functions()[1]);  // no gradient flows to the number 2

  loss.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2, 2));
  EXPECT_FALSE(y.grad().defined());  // only leaves keep theirs
}

TEST(DynamicGraph, NoGradRecordsNothingAndKeepsNoBytes) {
  Tensor x = ones({1000}).requires_grad_();
  const int64_t before = live_bytes();
  {
    NoGradGuard no_grad;
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = (y * y).exp();
    EXPECT_FALSE(y.requires_grad());
    EXPECT_FALSE(y.grad_fn());
    EXPECT_EQ(live_bytes() - before, 4096);  // y alone: 4,000 bytes in the block size above them
  }
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = (y * y).exp();
  EXPECT_GE(live_bytes() - before, 10 * 4000);  // a recorded chain keeps what the backward pass reads
}

TEST(DynamicGraph, SetGradEnabledSwitchesTheModeUntilItIsSwitchedBack) {
  Tensor x = leaf({1});
  set_grad_enabled(false);
  EXPECT_FALSE(is_grad_enabled());
  EXPECT_FALSE((x * 2).requires_grad());
  set_grad_enabled(true);
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(DynamicGraph, GuardsNestAndRestoreTheModeThatTheyFound) {
  Tensor x = leaf({1});
  const bool training = false;
  {
    SetGradEnabled guard(training);
    EXPECT_FALSE((x * 2).requires_grad());
    {
      EnableGradGuard enable;
      EXPECT_TRUE((x * 2).requires_grad());
      {
        NoGradGuard no_grad;
        EXPECT_FALSE((x * 2).requires_grad());
      }
      EXPECT_TRUE((x * 2).requires_grad());
    }
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(DynamicGraph, DetachSharesTheValuesAndStopsTheGradient) {
  Tensor x = leaf({3});
  Tensor constant_part = (x * x).detach();
  EXPECT_FALSE(constant_part.requires_grad());
  (x * constant_part).sum().backward();  // d(x * 9)/dx, not d(x^3)/dx
  EXPECT_THAT(values(x.grad()), ElementsAre(9));

  Tensor alias = x.detach();
  EXPECT_TRUE(alias.shares_storage_with(x));
}

TEST(DynamicGraph, ASecondBackwardNeedsTheGraphToBeRetained) {
  Tensor x = leaf({3});
  Tensor y = (x * x).sum();
  y.backward();
  EXPECT_AUTOGRAD_ERROR(y.backward(), "a second time");

  x.set_grad({});
  Tensor z = (x * x).sum();
  z.backward({.retain_graph = true});
  z.backward({.retain_graph = true});
  z.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(18));
}

TEST(DynamicGraph, ARetainedGraphHoldsItsBytesUntilTheLastPass) {
  Tensor x = ones({1024}).requires_grad_();
  x.set_grad(zeros({1024}));
  const int64_t before = live_bytes();
  Tensor y = x.exp().sum();
  const int64_t scalar = 64;
  EXPECT_EQ(live_bytes() - before, 4096 + scalar);  // exp keeps its output for its gradient

  y.backward({.retain_graph = true});
  EXPECT_EQ(live_bytes() - before, 4096 + scalar);  // still there
  y.backward();
  EXPECT_EQ(live_bytes() - before, scalar);  // the last pass let go of it, though y is alive
}

TEST(DynamicGraph, AThousandRoundsLeaveMemoryExactlyWhereItWas) {
  Tensor w = ones({32, 32}).requires_grad_();
  w.set_grad(zeros({32, 32}));
  const int64_t before = live_bytes();
  for (int round = 0; round < 1000; ++round) {
    Tensor hidden = (w * 0.5 + 1).relu();
    (hidden * hidden).mean().backward();
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(DynamicGraph, GradientsAddUpUntilTheyAreCleared) {
  Tensor x = leaf({1, 2});
  (x * 3).sum().backward();
  (x * 4).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(7, 7));
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
  (x * 5).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(5, 5));
}

TEST(DynamicGraph, AveragedGradientsOfMiniBatchesAreThoseOfTheFullBatch) {
  const Tensor inputs = arange(8, kFloat64).reshape({8, 1});
  const Tensor targets = inputs * 3 + 1;
  Tensor w = leaf({2});
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    const Tensor error = x * w - y;
    return (error * error).mean();
  };

  loss(inputs, targets).backward();
  const std::vector<double> full = values(w.grad());
  w.set_grad({});
  for (int batch = 0; batch < 4; ++batch)
    (loss(inputs.slice(0, 2 * batch, 2 * batch + 2), targets.slice(0, 2 * batch, 2 * batch + 2)) / 4).backward();
  EXPECT_THAT(values(w.grad()), ElementsAre(full[0]));
}

TEST(DynamicGraph, EmptyCacheGivesBackWhatIsNotInUse) {
  empty_cache();
  const int64_t allocated = memory_allocated(), reserved = memory_reserved();
  { Tensor big = empty({16 << 20}); }
  EXPECT_EQ(memory_allocated(), allocated);
  EXPECT_GE(memory_reserved(), reserved + (64 << 20));  // cached for the next tensor
  empty_cache();
  EXPECT_LE(memory_reserved(), reserved);
}

}  // namespace
}  // namespace vellum
