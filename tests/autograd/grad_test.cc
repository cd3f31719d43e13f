// grad(): gradients of chosen inputs, and gradients of gradients.

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

TEST(Grad, ReturnsGradientsAndLeavesGradAlone) {
  Tensor x = leaf({2}), w = leaf({5});
  const std::vector<Tensor> g = grad({(x * w).sum()}, {x, w});
  EXPECT_THAT(values(g[0]), ElementsAre(5));
  EXPECT_THAT(values(g[1]), ElementsAre(2));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
}

TEST(Grad, InputsMayLieInsideTheGraph) {
  Tensor x = leaf({2});
  Tensor h = x * x;
  Tensor y = (h * h).sum();
  const std::vector<Tensor> g = grad({y}, {h, x});
  EXPECT_THAT(values(g[0]), ElementsAre(8));
  EXPECT_THAT(values(g[1]), ElementsAre(32));
}

TEST(Grad, RunsOnlyThePartBetweenOutputsAndInputs) {
  Tensor x = leaf({2});
  Tensor h = x * x;
  Tensor y = (h * h).sum();
  grad({y}, {h});
  // What lies below h has not run, so that its saved tensors are there.
  h.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(4));
  EXPECT_AUTOGRAD_ERROR(y.backward(), "a second time");
}

TEST(Grad, WantsInputs) {
  Tensor x = leaf({2});
  EXPECT_THAT(message_of<InvalidArgumentError>([&] { grad({(x * x).sum()}, {}); }),
              HasSubstr("list of inputs is empty"));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, AnOutputMayBeItsOwnInput) {
  Tensor x = leaf({2});
  Tensor y = (x * x).sum();
  EXPECT_THAT(values(grad({y}, {y})[0]), ElementsAre(1));
}

TEST(Grad, AnInputThatIsNotUsedIsAnErrorUnlessAllowed) {
  Tensor x = leaf({2}), stranger = leaf({3});
  Tensor y = (x * x).sum();
  EXPECT_AUTOGRAD_ERROR(grad({y}, {stranger}), "appears to not have been used in the graph");
  const std::vector<Tensor> g = grad({(x * x).sum()}, {x, stranger}, {}, {.allow_unused = true});
  EXPECT_THAT(values(g[0]), ElementsAre(4));
  EXPECT_FALSE(g[1].defined());
}

TEST(Grad, AnInputMustRequireGrad) {
  Tensor x = leaf({2});
  EXPECT_AUTOGRAD_ERROR(grad({(x * x).sum()}, {constant({1})}), "does not require grad");
}

TEST(Grad, WeighsItsOutputs) {
  Tensor x = leaf({1, 2});
  const Tensor g = grad({x * x, x * 3}, {x}, {constant({1, 10}), constant({2, 0})})[0];
  EXPECT_THAT(values(g), ElementsAre(2 + 6, 40));
}

TEST(Grad, TheSecondDerivativeOfACubeIsSixX) {
  Tensor x = leaf({2, 3});
  const Tensor first = grad({(x * x * x).sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values(first), ElementsAre(12, 27));
  const Tensor second = grad({first.sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values(second), ElementsAre(12, 18));
  const Tensor third = grad({second.sum()}, {x})[0];
  EXPECT_THAT(values(third), ElementsAre(6, 6));
}

TEST(Grad, ASavedOutputIsDifferentiatedThrough) {
  Tensor x = leaf({0.5});
  const Tensor first = grad({x.exp().sum()}, {x}, {}, {.create_graph = true})[0];
  const Tensor second = grad({first.sum()}, {x})[0];
  EXPECT_THAT(values(second), ElementsAre(DoubleEq(std::exp(0.5))));
}

TEST(Grad, OfAGradientPenaltyReachesTheWeights) {
  Tensor x = leaf({2}), w = leaf({3});
  const Tensor slope = grad({(w * x * x).sum()}, {x}, {}, {.create_graph = true})[0];  // 2 w x
  (slope * slope).sum().backward();                                                    // 4 w^2 x^2
  EXPECT_THAT(values(w.grad()), ElementsAre(8 * 3 * 4));
  EXPECT_THAT(values(x.grad()), ElementsAre(8 * 9 * 2));
}

TEST(Grad, WithoutCreateGraphIsAConstant) {
  Tensor x = leaf({2});
  EXPECT_FALSE(grad({(x * x).sum()}, {x})[0].requires_grad());
}

TEST(Grad, CreateGraphRetainsTheGraphUnlessToldOtherwise) {
  Tensor x = leaf({2});
  Tensor y = (x * x).sum();
  grad({y}, {x}, {}, {.create_graph = true});
  grad({y}, {x}, {}, {.retain_graph = false, .create_graph = true});
  EXPECT_AUTOGRAD_ERROR(grad({y}, {x}), "a second time");
}

TEST(Grad, BackwardWithCreateGraphAddsOutOfPlace) {
  Tensor x = leaf({2});
  (x * x * x).sum().backward({.create_graph = true});
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  x.sum().backward({.create_graph = true});
  EXPECT_THAT(values(first), ElementsAre(12));
  EXPECT_THAT(values(x.grad()), ElementsAre(13));
  x.set_grad({});  // x -> grad -> graph -> x is a cycle that only the user can cut
}

TEST(Grad, AnExpandedGradientBecomesABufferOfItsOwn) {
  Tensor x = leaf({1, 2});
  x.sum().backward({.create_graph = true});  // the gradient is one number, expanded
  (x * 3).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(4, 4));
  EXPECT_TRUE(x.grad().is_contiguous());
}

}  // namespace
}  // namespace vellum
