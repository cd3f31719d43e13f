// Writes in place: where they are refused, what they do to the graph, and how a stale saved tensor is found.

#include <functional>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

TEST(InPlace, RewritesTheHistoryOfItsTensor) {
  Tensor x = leaf({1, 2});
  Tensor h = x * 1;
  h.mul_(3);
  EXPECT_EQ(h.grad_fn().name(), "MulBackward");
  h.add_(x).sub_(1).div_(2);
  (h * h).sum().backward();  // ((4x - 1) / 2)^2
  EXPECT_THAT(values(x.grad()), ElementsAre(6, 14));
}

TEST(InPlace, ATensorWithoutHistoryGetsOneFromItsOperand) {
  Tensor x = leaf({1, 2});
  Tensor sum = zeros({2}, kFloat64);
  sum += x * 3;
  EXPECT_TRUE(sum.requires_grad());
  sum.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 3));
}

TEST(InPlace, ALeafThatRequiresGradMayNotBeWritten) {
  Tensor x = leaf({1, 2});
  EXPECT_AUTOGRAD_ERROR(x.add_(1), "a leaf Variable that requires grad is being used in an in-place operation");
  EXPECT_AUTOGRAD_ERROR(x.zero_(), "a leaf Variable that requires grad");
  EXPECT_AUTOGRAD_ERROR(x[0].add_(1), "a view of a leaf Variable that requires grad");
  EXPECT_THAT(values(x), ElementsAre(1, 2));
  EXPECT_EQ(x.version(), 0u);
}

TEST(InPlace, AViewThatIsALeafMayNotBeWritten) {
  Tensor base = constant({1, 2});
  Tensor v = base[0].requires_grad_();
  EXPECT_AUTOGRAD_ERROR(v.add_(1), "a leaf Variable that requires grad");
}

TEST(InPlace, UnderNoGradALeafIsUpdated) {  // what an optimizer does
  Tensor x = leaf({1, 2});
  {
    NoGradGuard no_grad;
    x.sub_(constant({1, 1}));
    x[0].fill_(7);
  }
  EXPECT_TRUE(x.is_leaf());
  EXPECT_THAT(values(x), ElementsAre(7, 1));
}

TEST(InPlace, AViewMadeInNoGradModeMayNotBeWrittenWithGradMode) {
  Tensor h = leaf({1, 2}) * 1;
  Tensor v;
  {
    NoGradGuard no_grad;
    v = h[0];
    v.mul_(2);  // inside, it may
  }
  EXPECT_FALSE(v.requires_grad());
  EXPECT_AUTOGRAD_ERROR(v.mul_(2), "a view was created in no_grad mode");
  EXPECT_AUTOGRAD_ERROR(v.view({1}).mul_(2), "a view was created in no_grad mode");
}

TEST(InPlace, OneOfSeveralViewsOfOneOperatorMayNotBeWritten) {
  Tensor h = leaf({1, 2, 3, 4}) * 1;
  std::vector<Tensor> parts = h.split(2);
  EXPECT_AUTOGRAD_ERROR(parts[0].mul_(2), "returns multiple views");
  EXPECT_AUTOGRAD_ERROR(parts[1][0].mul_(2), "returns multiple views");
  EXPECT_THAT(values(h), ElementsAre(1, 2, 3, 4));

  Tensor free = constant({1, 2, 3, 4});
  free.split(2)[1].mul_(2);  // nothing is recorded
  EXPECT_THAT(values(free), ElementsAre(1, 2, 6, 8));
}

TEST(InPlace, ANodeOfTheBaseStandsForAWriteToItsView) {
  Tensor h = leaf({1, 2, 3}) * 1;
  Tensor v = h.slice(0, 0, 2);
  EXPECT_EQ(v.grad_fn().name(), "SliceBackward");
  v.mul_(2);
  EXPECT_EQ(h.grad_fn().name(), "CopySlices");
  EXPECT_EQ(v.grad_fn().name(), "AsStridedBackward");
  EXPECT_EQ(v.grad_fn().next_functions()[0].name(), "CopySlices");
}

TEST(InPlace, ZeroingStopsTheGradientOfWhatWasThere) {
  Tensor x = leaf({1, 2, 3});
  Tensor h = x * x;
  h[1].zero_();
  h.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 0, 6));
}

TEST(InPlace, AnOperandThatIsItsTarget) {
  Tensor x = leaf({2, 3});
  Tensor squared = x * 1;
  squared.mul_(squared);
  squared.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(4, 6));

  x.set_grad({});
  Tensor doubled = x * 1;
  doubled.add_(doubled);
  doubled.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2));
}

TEST(InPlace, AnOverwrittenOperandThatTheGradientReadsIsReported) {
  Tensor x = leaf({2, 3});
  Tensor quotient = x * 1;
  quotient.div_(quotient);
  EXPECT_AUTOGRAD_ERROR(quotient.sum().backward(), "modified by an inplace operation");

  Tensor product = x * 1;
  product.mul_(product.view({2}));
  EXPECT_AUTOGRAD_ERROR(product.sum().backward(), "modified by an inplace operation");
}

TEST(InPlace, OutArgumentsAreNotRecorded) {
  Tensor x = leaf({1, 2});
  Tensor out = empty({2}, kFloat64);
  EXPECT_AUTOGRAD_ERROR(add_out(out, x, x), "don't support automatic differentiation");
  NoGradGuard no_grad;
  add_out(out, x, x);
  EXPECT_THAT(values(out), ElementsAre(2, 4));
}

// --- Saved tensors know the version that they were saved at.

struct SavingProgram {
  const char* name;
  std::function<Tensor(const Tensor&)> forward;
  bool reads_output;  // or its operand
};

const SavingProgram kPrograms[] = {
    {"mul", [](const Tensor& h) { return h * h; }, false},
    {"div", [](const Tensor& h) { return 1.0 / h; }, false},
    {"div", [](const Tensor& h) { return 1.0 / h; }, true},
    {"pow", [](const Tensor& h) { return h.pow(3); }, false},
    {"log", [](const Tensor& h) { return h.log(); }, false},
    {"exp", [](const Tensor& h) { return h.exp(); }, true},
    {"sqrt", [](const Tensor& h) { return h.sqrt(); }, true},
    {"relu", [](const Tensor& h) { return h.relu(); }, true},
    {"log_softmax", [](const Tensor& h) { return h.log_softmax(0); }, true},
    {"matmul", [](const Tensor& h) { return h.matmul(h); }, false},
};

struct Writer {
  const char* name;
  std::function<void(Tensor&)> write;
};

const Writer kWriters[] = {
    {"in place", [](Tensor& t) { t.mul_(2); }},
    {"through a detached alias", [](Tensor& t) { t.detach().zero_(); }},
    {"through the pointer", [](Tensor& t) { t.mutable_data<double>()[0] = 5; }},
    {"as an optimizer",
     [](Tensor& t) {
       NoGradGuard no_grad;
       t.sub_(1);
     }},
    {"through a view",
     [](Tensor& t) {
       NoGradGuard no_grad;
       t.view({-1})[0].fill_(1);
     }},
    {"by copying",
     [](Tensor& t) {
       NoGradGuard no_grad;
       t.copy_(ones_like(t));
     }},
    {"with random numbers",
     [](Tensor& t) {
       NoGradGuard no_grad;
       t.uniform_();
     }},
    {"as out",
     [](Tensor& t) {
       NoGradGuard no_grad;
       const Tensor one = ones_like(t);
       add_out(t, one, one);
     }},
};

TEST(Version, EveryWriteToASavedTensorIsReported) {
  for (const SavingProgram& program : kPrograms)
    for (const Writer& writer : kWriters) {
      SCOPED_TRACE(std::string(program.name) + ", written " + writer.name);
      Tensor h = leaf({1, 2}) * 1;
      Tensor y = program.forward(h);
      writer.write(program.reads_output ? y : h);
      EXPECT_AUTOGRAD_ERROR(y.sum().backward(), "has been modified by an inplace operation");
    }
}

TEST(Version, TheErrorNamesTheTensorAsItsUserDid) {
  Tensor h = leaf({1, 2}) * 1;
  h.set_name("hidden");
  Tensor y = h * h;
  h.add_(1);
  EXPECT_AUTOGRAD_ERROR(y.sum().backward(), "[float64 [2]], which is 'hidden', output 0 of MulBackward");
}

TEST(InPlace, CopyIntoIntegersRecordsNothing) {
  Tensor n = zeros({2}, kInt64);
  n.copy_(leaf({1, 2}));
  EXPECT_FALSE(n.requires_grad());
  EXPECT_FALSE(n.grad_fn());
  EXPECT_THAT(values(n), ElementsAre(1, 2));
}

TEST(Version, WhatNoGradientReadsMayBeWritten) {
  Tensor x = leaf({1, 2});
  Tensor h = x * 1;
  Tensor y = h.exp() + h;  // exp reads its output, add nothing
  h.mul_(100);
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(DoubleEq(std::exp(1) + 1), DoubleEq(std::exp(2) + 1)));
}

TEST(Version, TheErrorNamesTheTensorItsProducerTheVersionsAndTheWriter) {
  Tensor h = leaf({1, 2, 3}).view({1, 3}).exp();
  Tensor y = h * h;
  h.div_(3);
  const std::string message = message_of<AutogradError>([&] { y.sum().backward(); });
  EXPECT_THAT(message, HasSubstr("[float64 [1, 3]]"));
  EXPECT_THAT(message, HasSubstr("output 0 of ExpBackward"));
  EXPECT_THAT(message, HasSubstr("saved by MulBackward"));
  EXPECT_THAT(message, HasSubstr("is at version 1; expected version 0 instead"));
  EXPECT_THAT(message, HasSubstr("div() wrote to it last"));
}

TEST(Version, IsSharedByViewsAndDetachedAliases) {
  Tensor x = constant({1, 2});
  Tensor v = x[0], d = x.detach();
  v.mul_(2);
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(d.version(), 1u);
  d.mutable_data<double>();
  EXPECT_EQ(v.version(), 2u);
  EXPECT_EQ(x.clone().version(), 0u);
}

}  // namespace
}  // namespace vellum
