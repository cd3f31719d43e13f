// What hangs on a tensor: requires_grad, .grad, retain_grad, detach, the mode of the thread.

#include <barrier>
#include <thread>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

TEST(RequiresGrad, IsForFloatingPointAndComplex) {
  EXPECT_AUTOGRAD_ERROR(arange(3).requires_grad_(), "only Tensors of floating point and complex dtype");
  EXPECT_AUTOGRAD_ERROR(zeros({2}, kBool).requires_grad_(), "only Tensors of floating point and complex dtype");
  EXPECT_TRUE(zeros({2}, kComplex64).requires_grad_().requires_grad());
  EXPECT_TRUE(zeros({2}, kBFloat16).requires_grad_().requires_grad());
}

TEST(RequiresGrad, CanBeTakenBackFromALeafOnly) {
  Tensor x = leaf({1});
  Tensor y = x * 2;
  EXPECT_AUTOGRAD_ERROR(y.requires_grad_(false), "you can only change requires_grad flags of leaf variables");
  x.requires_grad_(false);
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(RequiresGrad, TakenBackBeforeBackwardLeavesGradAlone) {
  Tensor x = leaf({3}), w = leaf({5});
  Tensor y = (x * w).sum();
  x.requires_grad_(false);
  y.backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THAT(values(w.grad()), ElementsAre(3));
}

// set_data() between forward and backward: the gradient fits the leaf as it is now, or says that it cannot.
TEST(SetData, OfAnotherDtypeConvertsTheGradient) {
  Tensor x = leaf({1, 2});
  Tensor y = (x * 2).sum();
  x.set_data(constant({1, 2}).to(kFloat32));
  y.backward();
  EXPECT_EQ(x.grad().dtype(), kFloat32);
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2));
}

TEST(SetData, OfAnotherShapeRefusesTheGradient) {
  Tensor x = leaf({1, 2});
  Tensor y = (x * 2).sum();
  x.set_data(constant({1, 2, 3}));
  EXPECT_AUTOGRAD_ERROR(y.backward(), "a gradient of shape [2] reached a leaf of shape [3]");
  EXPECT_FALSE(x.grad().defined());
}

TEST(RequiresGrad, DoesNotSpreadToIntegersAndComparisons) {
  Tensor x = leaf({1, 2});
  EXPECT_FALSE((x > 1).requires_grad());
  EXPECT_FALSE(x.to(kInt64).requires_grad());
  EXPECT_FALSE(x.argmax(0).requires_grad());
}

TEST(Detach, InPlaceForgetsRetainGrad) {
  Tensor x = leaf({1});
  Tensor y = x * 2;
  y.retain_grad();
  y.detach_();
  EXPECT_FALSE(y.retains_grad());
}

TEST(Detach, InPlaceCutsTheHistory) {
  Tensor x = leaf({1});
  Tensor y = x * 2;
  y.detach_();
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
  Tensor z = x * 2;
  EXPECT_AUTOGRAD_ERROR(z[0].detach_(), "can't detach views in-place");
}

TEST(SetGrad, ChecksWhatItIsGiven) {
  Tensor x = leaf({1, 2});
  EXPECT_THROW(x.set_grad(constant({1})), ShapeError);
  EXPECT_THROW(x.set_grad(tensor<float>({1, 2})), Error);
  EXPECT_THROW(x.set_grad(x), InvalidArgumentError);
  EXPECT_FALSE(x.grad().defined());
  x.set_grad(constant({5, 6}));
  (x * 2).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(7, 8));
}

TEST(RetainGrad, KeepsTheGradientOfATensorInsideTheGraph) {
  Tensor x = leaf({2});
  Tensor h = x * x;
  EXPECT_FALSE(h.retains_grad());
  h.retain_grad();
  h.retain_grad();  // twice is once
  EXPECT_TRUE(h.retains_grad());
  (h * 3).sum().backward();
  EXPECT_THAT(values(h.grad()), ElementsAre(3));
  EXPECT_THAT(values(x.grad()), ElementsAre(12));
}

TEST(RetainGrad, FollowsAWriteInPlace) {
  Tensor x = leaf({2});
  Tensor h = x * x;
  h.retain_grad();
  h.mul_(5);
  (h * 3).sum().backward();
  EXPECT_THAT(values(h.grad()), ElementsAre(3));  // of the newest value
  EXPECT_THAT(values(x.grad()), ElementsAre(60));
}

TEST(RetainGrad, DoesNothingOnALeaf) {
  Tensor x = leaf({2});
  x.retain_grad();
  EXPECT_FALSE(x.retains_grad());
  (x * 3).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(3));
}

TEST(RetainGrad, NeedsATensorThatRequiresGrad) {
  EXPECT_AUTOGRAD_ERROR(constant({1}).retain_grad(), "can't retain_grad on a Tensor that has requires_grad = false");
}

TEST(RetainGrad, OfATensorThatIsGoneIsForgotten) {
  Tensor x = leaf({2});
  Tensor y;
  {
    Tensor h = x * x;
    h.retain_grad();
    y = (h * 3).sum();
  }
  y.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(12));
}

TEST(GradMode, BelongsToTheThread) {
  NoGradGuard no_grad;
  Tensor x = leaf({1});
  bool recorded = false;
  std::thread([&] {
    recorded = (x * 2).requires_grad();
    set_grad_enabled(false);
  }).join();
  EXPECT_TRUE(recorded);
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(SharedLeaf, SixThreadsAddTheExactSum) {
  constexpr int kThreads = 6, kRounds = 300;
  Tensor x = leaf({1, 2, 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&x, t] {
      for (int round = 0; round < kRounds; ++round) ((x + 1) * (t + 1)).sum().backward();
    });
  for (std::thread& thread : threads) thread.join();
  const double sum = kRounds * (1 + 2 + 3 + 4 + 5 + 6);
  EXPECT_THAT(values(x.grad()), ElementsAre(sum, sum, sum));
}

// Each thread finds the view's history out of date and wants it renewed.
TEST(SharedView, ThreadsMayReadItAfterItsBaseWasWritten) {
  constexpr int kThreads = 4, kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    Tensor x = leaf({1, 2});
    Tensor base = x * 1;
    const Tensor view = base.slice(0, 0, 1);
    base.mul_(3);
    std::barrier start(kThreads);
    std::vector<Tensor> read(kThreads);
    std::vector<std::thread> threads;
    for (Tensor& y : read)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        y = view * 2;
      });
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& y : read)
      ASSERT_THAT(values(grad({y.sum()}, {x}, {}, {.retain_graph = true})[0]), ElementsAre(6, 0));
  }
}

TEST(SharedGraph, ThreadsMayRunOneRetainedGraphAtTheSameTime) {
  constexpr int kThreads = 6, kRounds = 300;
  Tensor x = leaf({1, 2, 3});
  const Tensor shared = (x * x).exp().log();  // x^2, in several nodes
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&shared] {
      const Tensor ones = ones_like(shared);
      for (int round = 0; round < kRounds; ++round) shared.backward(ones, {.retain_graph = true});
    });
  for (std::thread& thread : threads) thread.join();
  const double rounds = kThreads * kRounds;
  EXPECT_THAT(values(x.grad()),
              ElementsAre(DoubleNear(2 * rounds, 1e-6), DoubleNear(4 * rounds, 1e-6), DoubleNear(6 * rounds, 1e-6)));
}

}  // namespace
}  // namespace vellum
