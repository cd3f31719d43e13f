// What all optimizers have in common, and SGD and AdamW against goldens/optimizers.py.

#include <cmath>
#include <limits>

#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/tests/nn/testing.h"

namespace vellum::optim {
namespace {

using namespace vellum::testing;

Tensor gradient(int step) {
  std::vector<double> g(4);
  for (int i = 0; i < 4; ++i) g[i] = ((7 * step + 3 * i) % 11 - 5) / 4.0;
  return tensor(g, kFloat64);
}

// Five steps, as the goldens were made: the rate is halved before the fourth.
template <typename O, typename Options>
Tensor after_steps(const Options& options) {
  Tensor parameter = leaf({1, -2, 0.5, 3});
  O optimizer({parameter}, options);
  for (int step = 0; step < 5; ++step) {
    if (step == 3) optimizer.set_learning_rate(optimizer.learning_rate() / 2);
    parameter.set_grad(gradient(step));
    optimizer.step();
  }
  return parameter;
}

TEST(SGD, AgreesWithPyTorchForAllOptions) {
  struct Case {
    SGDOptions options;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {{.lr = 0.1, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = false},
       {1.05, -2.1124999999999998, 0.49999999999999994, 2.9750000000000001}},
      {{.lr = 0.1, .momentum = 0, .dampening = 0, .weight_decay = 0.1, .nesterov = false},
       {1.0077182177875001, -2.032678078575, 0.48055890242499999, 2.8590184521749999}},
      {{.lr = 0.1, .momentum = 0, .dampening = 0.3, .weight_decay = 0, .nesterov = false},
       {1.05, -2.1124999999999998, 0.49999999999999994, 2.9750000000000001}},
      {{.lr = 0.1, .momentum = 0, .dampening = 0.3, .weight_decay = 0.1, .nesterov = false},
       {1.0077182177875001, -2.032678078575, 0.48055890242499999, 2.8590184521749999}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0, .weight_decay = 0, .nesterov = false},
       {1.25334375, -2.1886849999999995, 0.4796487499999999, 2.7864949999999999}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0, .weight_decay = 0, .nesterov = true},
       {1.2780093750000001, -2.2823164999999999, 0.48168387499999993, 2.7828455000000001}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0, .weight_decay = 0.1, .nesterov = false},
       {1.1503641846624999, -2.0034207998249998, 0.43424419367499995, 2.518997630925}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0, .weight_decay = 0.1, .nesterov = true},
       {1.1350732083344719, -2.0371129028338264, 0.42289915546030071, 2.4387810432113031}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0, .nesterov = false},
       {1.3049362499999999, -2.0810412499999997, 0.46023500000000006, 2.7484699999999997}},
      {{.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1, .nesterov = false},
       {1.2220897592149038, -1.9319744698566075, 0.42368446849149249, 2.5305120328464676}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    expect_near(after_steps<SGD>(c.options), c.expected);
  }
}

TEST(SGD, WithoutMomentumWritesEachParameterOnceAndKeepsNothing) {
  Tensor p = leaf({1, 2});
  SGD optimizer({p}, {.lr = 0.5});
  p.set_grad(constant({2, -4}));
  const uint32_t version = p.version();
  const int64_t bytes = live_bytes();
  optimizer.step();
  EXPECT_EQ(p.version(), version + 1);
  EXPECT_EQ(live_bytes(), bytes);
  EXPECT_EQ(optimizer.state_bytes(), 0);
  EXPECT_THAT(values(p), ElementsAre(0, 4));
}

TEST(SGD, TakesNoMemoryBeyondItsBuffers) {
  Tensor p = zeros({1000}).requires_grad_();
  SGD optimizer({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  p.set_grad(ones({1000}));
  optimizer.step();
  EXPECT_EQ(optimizer.state_bytes(), 4000);
  const int64_t before = live_bytes();
  reset_peak_memory_stats();
  optimizer.step();
  EXPECT_LT(max_memory_allocated() - before, 1000);  // numbers as operands, no tensor of the parameter's size
}

TEST(SGD, DoesNotKeepTheGradient) {
  Tensor p = leaf({1});
  SGD optimizer({p}, {.lr = 1, .momentum = 0.5});
  Tensor grad = constant({1});
  p.set_grad(grad);
  optimizer.step();
  grad.fill_(0);
  optimizer.step();
  EXPECT_THAT(values(p), ElementsAre(-0.5));
}

TEST(SGD, MovesComplexParametersAgainstTheGradient) {
  Tensor z = complex_leaf({{3, 4}});
  SGD optimizer({z}, {.lr = 0.25, .momentum = 0.9});
  (z * z.conj()).real().sum().backward();
  optimizer.step();
  EXPECT_EQ(complex_values(z)[0], complex128(1.5, 2));
}

TEST(SGD, RejectsBadOptions) {
  const auto message = [](const SGDOptions& options) {
    return message_of<InvalidArgumentError>([&] { SGD({leaf({1})}, options); });
  };
  EXPECT_THAT(message({.lr = -1}), HasSubstr("lr must lie in [0, inf), it is -1"));
  EXPECT_THAT(message({.lr = std::nan("")}), HasSubstr("lr"));
  EXPECT_THAT(message({.lr = std::numeric_limits<double>::infinity()}), HasSubstr("lr"));
  EXPECT_THAT(message({.momentum = -0.1}), HasSubstr("momentum"));
  EXPECT_THAT(message({.dampening = -0.1}), HasSubstr("dampening"));
  EXPECT_THAT(message({.weight_decay = -0.1}), HasSubstr("weight_decay"));
  EXPECT_THAT(message({.nesterov = true}), HasSubstr("Nesterov momentum requires a momentum"));
  EXPECT_THAT(message({.momentum = 0.9, .dampening = 0.1, .nesterov = true}), HasSubstr("zero dampening"));
}

TEST(AdamW, AgreesWithPyTorchForAllOptions) {
  struct Case {
    AdamWOptions options;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {{}, {1.0016605539491237, -2.0000014638038874, 0.49919800877292519, 2.9981449812428762}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-08, .weight_decay = 0},
       {1.1700594741552917, -2.0081446040779674, 0.42179851590414325, 2.8264936299915222}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-08, .weight_decay = 0.01},
       {1.1656519212284291, -2.0003219700725845, 0.42003438539057653, 2.814942643110939}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-08, .weight_decay = 0.5},
       {0.96532307182411781, -1.6458567132856732, 0.34031285729681587, 2.2921583097383902}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 0.1, .weight_decay = 0},
       {1.1554636796324225, -2.0135037354393166, 0.44633293308790128, 2.8446738831615912}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 0.1, .weight_decay = 0.01},
       {1.1510897700467928, -2.0056447694784763, 0.44449427155277532, 2.8330794084627535}},
      {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 0.1, .weight_decay = 0.5},
       {0.95233876045647714, -1.6495130029474088, 0.36132212245566331, 2.3082594658210263}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 1e-08, .weight_decay = 0},
       {1.1007108296184145, -2.0343719192789322, 0.4347634985601026, 2.8920921447755177}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 1e-08, .weight_decay = 0.01},
       {1.0963709181159285, -2.0265007818521372, 0.43298100183129429, 2.8804645055893658}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 1e-08, .weight_decay = 0.5},
       {0.89927597539624193, -1.6697350911133233, 0.35241164821436455, 2.3540025175632753}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 0.1, .weight_decay = 0},
       {1.0926844679041798, -2.037429910664271, 0.45729601677945619, 2.903118224347693}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 0.1, .weight_decay = 0.01},
       {1.0883720740993179, -2.0295267266944803, 0.45544210864565193, 2.8914552887136926}},
      {{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.8, .eps = 0.1, .weight_decay = 0.5},
       {0.89256222933880303, -1.671297768150722, 0.37156759352117719, 2.3633507596384655}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    expect_near(after_steps<AdamW>(c.options), c.expected);
  }
}

TEST(AdamW, TreatsComplexParametersAsPairsAsPyTorchDoes) {
  Tensor z = complex_leaf({{1, -2}, {0.5, 3}});
  AdamW optimizer({z}, {.lr = 0.1});
  for (int step = 0; step < 5; ++step) {
    z.set_grad(gradient(step).view({2, 2}).view_as_complex().clone());
    optimizer.step();
  }
  expect_near(z.detach().view_as_real(),
              {1.1526797497392698, -2.0169817519518327, 0.4184488655089459, 2.797040369820914});
}

TEST(AdamW, KeepsTwoTensorsForEachParameterAndMakesOneMore) {
  Tensor p = zeros({1000}).requires_grad_();
  AdamW optimizer({p});
  EXPECT_EQ(optimizer.state_bytes(), 0);
  p.set_grad(ones({1000}));
  optimizer.step();
  EXPECT_EQ(optimizer.state_bytes(), 8000);
  const int64_t before = live_bytes();
  reset_peak_memory_stats();
  optimizer.step();
  EXPECT_LT(max_memory_allocated() - before, 2 * 4000);
}

TEST(AdamW, RejectsBadOptions) {
  const auto message = [](const AdamWOptions& options) {
    return message_of<InvalidArgumentError>([&] { AdamW({leaf({1})}, options); });
  };
  EXPECT_THAT(message({.lr = -1}), HasSubstr("lr"));
  EXPECT_THAT(message({.beta1 = 1}), HasSubstr("beta1 must lie in [0, 1), it is 1"));
  EXPECT_THAT(message({.beta2 = -0.5}), HasSubstr("beta2"));
  EXPECT_THAT(message({.eps = -1}), HasSubstr("eps"));
  EXPECT_THAT(message({.weight_decay = -1}), HasSubstr("weight_decay"));
}

TEST(Optimizer, SkipsParametersWithoutAGradient) {
  Tensor used = leaf({1}), unused = leaf({1});
  AdamW optimizer({used, unused});
  used.set_grad(constant({1}));
  optimizer.step();
  EXPECT_LT(used.item(), 1);
  EXPECT_EQ(unused.item(), 1);
  EXPECT_EQ(unused.version(), 0);
  EXPECT_EQ(optimizer.state_bytes(), 16);
}

TEST(Optimizer, DropsOrZeroesGradients) {
  Tensor p = leaf({1});
  SGD optimizer({p});
  p.set_grad(constant({3}));
  optimizer.zero_grad(/*set_to_none=*/false);
  EXPECT_THAT(values(p.grad()), ElementsAre(0));
  optimizer.zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Optimizer, LeavesNoHistory) {
  Tensor p = leaf({2}), w = leaf({3});
  SGD optimizer({p}, {.lr = 0.1, .momentum = 0.9});
  (p * p * w).sum().backward({.create_graph = true});  // p.grad has a history of its own
  optimizer.step();
  EXPECT_TRUE(p.is_leaf());
  EXPECT_TRUE(is_grad_enabled());
  p.set_grad({});
  w.set_grad({});
}

TEST(Optimizer, FollowsAModuleThatIsConverted) {
  nn::Linear linear(2, 1, {.bias = false});
  SGD optimizer(linear.parameters(), {.lr = 1});
  linear.to(kFloat64);
  const std::vector<double> before = values(linear.weight());
  linear(ones({1, 2}, kFloat64)).sum().backward();
  optimizer.step();
  EXPECT_THAT(values(linear.weight()), ElementsAre(DoubleEq(before[0] - 1), DoubleEq(before[1] - 1)));
}

TEST(Optimizer, StepsOnADevice) {
  const Device sim("sim");
  Tensor p = constant({1, 2}).to(sim).requires_grad_();
  AdamW optimizer({p}, {.lr = 0.5, .weight_decay = 0});
  p.set_grad(constant({1, -1}).to(sim));
  optimizer.step();
  expect_near(p, {0.5, 2.5}, 1e-7);
  EXPECT_EQ(p.device(), sim);
}

TEST(Optimizer, RejectsParametersThatItCannotChange) {
  const auto message = [](std::vector<Tensor> parameters) {
    return message_of<InvalidArgumentError>([&] { SGD(std::move(parameters), {}); });
  };
  const Tensor p = leaf({1});
  EXPECT_THAT(message({}), HasSubstr("empty parameter list"));
  EXPECT_THAT(message({p, Tensor()}), HasSubstr("parameter 1 is undefined"));
  EXPECT_THAT(message({p * 2}), HasSubstr("can't optimize a non-leaf Tensor"));
  EXPECT_THAT(message({p, p}), HasSubstr("listed twice"));
}

TEST(Optimizer, RejectsABadLearningRateAndKeepsTheOldOne) {
  SGD optimizer({leaf({1})}, {.lr = 0.5});
  EXPECT_THROW(optimizer.set_learning_rate(-1), InvalidArgumentError);
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
}

}  // namespace
}  // namespace vellum::optim
