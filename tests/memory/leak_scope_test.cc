// What outlives a scope is found and named; what a clean loop keeps is not.

#include <pthread.h>

#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/memory/testing.h"

namespace vellum::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Runs on a stack of 256 KiB.
void on_a_small_stack(void (*run)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  const auto start = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, reinterpret_cast<void*>(run)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(LeakScope, NamesWhatOutlivesItByTheHandleThatHoldsIt) {
  Found found;
  Tensor kept;
  {
    const LeakScope scope("step", found.listener());
    const Tensor w = ones({1000}).requires_grad_();
    kept = (w * w).sum();
    kept.set_name("kept");
  }
  ASSERT_THAT(found.report.leaks, SizeIs(1));
  EXPECT_EQ(found.report.leaks[0].holder, "kept");
  EXPECT_THAT(found.report.leaks[0].path, MatchesRegex("kept -> sum#[0-9]+ -> mul#[0-9]+\\.self"));
  EXPECT_GE(found.report.bytes, 4000);
  EXPECT_THAT(found.report.text(),
              MatchesRegex("LeakScope 'step': .* in . blocks outlive it\n"
                           "  kept -> sum#[0-9]+ -> mul#[0-9]+\\.self, .* in . blocks, 2 nodes\n"));
  EXPECT_THAT(found.report.cycles, IsEmpty());
}

// horovod/horovod#641: a running total of losses that were not detached keeps the graph of every step.
TEST(LeakScope, NamesTheTotalThatSumsLiveLosses) {
  const Tensor w = ones({100}).requires_grad_();
  Tensor total = zeros({});
  total.set_name("total");
  Found found;
  {
    const LeakScope scope("epoch", found.listener());
    for (int step = 0; step < 1000; ++step) {
      const Tensor loss = (w * w).sum();
      total = total + loss;
    }
    total.set_name("total");
  }
  ASSERT_THAT(found.report.leaks, SizeIs(1));
  EXPECT_EQ(found.report.leaks[0].holder, "total");
  EXPECT_GE(found.report.leaks[0].nodes, 3000);
  // (w * w) saves w alone, which is older than the scope. This saves what is not:
  Found with_square;
  {
    const LeakScope scope("epoch", with_square.listener());
    for (int step = 0; step < 1000; ++step) {
      const Tensor loss = (w * 2).square().sum();
      total = total + loss;
    }
    total.set_name("total");
  }
  ASSERT_THAT(with_square.report.leaks, SizeIs(1));
  EXPECT_EQ(with_square.report.leaks[0].holder, "total");
  EXPECT_GE(with_square.report.leaks[0].blocks, 1000);
  EXPECT_THAT(with_square.report.leaks[0].path, MatchesRegex("total -> add#.* -> square#[0-9]+\\.self"));
}

TEST(LeakScope, NamesUnlabelledHoldersByOperatorNumberAndModule) {
  nn::Sequential model{nn::Linear(8, 300)};
  Found found;
  std::vector<Tensor> outputs;
  {
    const LeakScope scope("step", found.listener());
    outputs.push_back(model(ones({4, 8})));
  }
  ASSERT_THAT(found.report.leaks, SizeIs(1));
  EXPECT_THAT(found.report.leaks[0].holder, MatchesRegex("linear#[0-9]+ \\(0\\)"));
}

// pytorch/pytorch#7343: the gradient's history leads back to the parameter that owns the gradient.
TEST(LeakScope, PrintsTheCycleOfAGradientWithAHistory) {
  Found found;
  internal::TensorImpl* lost = nullptr;
  {
    const LeakScope scope("step", found.listener());
    Tensor w = ones({1000}).requires_grad_();
    w.set_name("w");
    w.tanh().sum().backward({.create_graph = true});
    lost = &w.impl();
  }
  Tensor::share(lost).set_grad({});  // as nobody else could
  ASSERT_THAT(found.report.cycles, SizeIs(1));
  EXPECT_THAT(found.report.cycles[0], MatchesRegex("w -> w\\.grad -> .*#[0-9]+ -> .*w"));
  EXPECT_GE(found.report.bytes, 4000);
  EXPECT_THAT(found.report.text(), HasSubstr("cycle: w -> w.grad -> "));
}

TEST(LeakScope, FindsNoCycleWhereGradIsUsedInstead) {
  Found found;
  {
    const LeakScope scope("step", found.listener());
    Tensor w = ones({1000}).requires_grad_();
    const Tensor g = grad({w.tanh().sum()}, {w}, {}, {.create_graph = true})[0];
  }
  EXPECT_FALSE(found.any) << found.report.text();
}

// pytorch/pytorch#25340: an output that its own node saves does not keep itself alive.
TEST(LeakScope, FindsNothingWhereANodeSavesItsOwnOutput) {
  Found found;
  {
    const LeakScope scope("step", found.listener());
    Tensor x = ones({1000}).requires_grad_();
    const Tensor y = x.exp(), z = x.sigmoid().tanh();
    Tensor w = y * 2;
    w.mul_(y);
    w.exp_();
  }
  EXPECT_FALSE(found.any) << found.report.text();
}

TEST(LeakScope, IsSilentAboutWhatATrainingLoopKeeps) {
  Found found;
  nn::Sequential model{nn::Linear(16, 32), nn::Linear(32, 10)};
  optim::AdamW adamw(model.parameters());
  const Tensor x = randn({8, 16}), target = arange(8);
  Tensor mean = zeros({});
  double sum = 0;
  {
    const LeakScope scope("epoch", found.listener());
    for (int step = 0; step < 20; ++step) {
      adamw.zero_grad();
      const Tensor loss = nn::functional::cross_entropy(model(x), target);
      loss.backward();
      adamw.step();
      mean = mean * 0.9 + loss.detach() * 0.1;  // replaced at each step
      sum += loss.item();
    }
  }
  EXPECT_FALSE(found.any) << found.report.text();
  EXPECT_GT(sum, 0);
}

TEST(LeakScope, IsSilentAboutABatchInPinnedMemoryThatIsReplaced) {
  Found found;
  Tensor batch = ones({1000}).pin_memory(Device(kCPU));
  {
    const LeakScope scope("epoch", found.listener());
    for (int step = 0; step < 3; ++step) batch = ones({1000}).pin_memory(Device(kCPU));
  }
  EXPECT_FALSE(found.any) << found.report.text();
}

TEST(LeakScope, ReportsPinnedMemoryThatGrows) {
  Found found;
  std::vector<Tensor> batches{ones({1000}).pin_memory(Device(kCPU))};
  Tensor other = ones({100'000});  // makes no room there
  {
    const LeakScope scope("epoch", found.listener());
    batches.push_back(ones({1000}).pin_memory(Device(kCPU)));
    other.reset();
  }
  EXPECT_GE(found.report.bytes, 4000);
}

TEST(LeakScope, ReportsDataThatGrows) {
  Found found;
  std::vector<Tensor> history{zeros({1000})};
  {
    const LeakScope scope("epoch", found.listener());
    for (int i = 0; i < 10; ++i) history.push_back(ones({1000}));
  }
  EXPECT_GE(found.report.bytes, 40'000);
}

TEST(LeakScope, LooksAtItsOwnTimeOnly) {
  const LedgerScope ledger;
  const Tensor before = ones({1000});
  Found inner, outer;
  Tensor kept;
  {
    const LeakScope first("outer", outer.listener());
    kept = ones({2000});
    { const LeakScope second("inner", inner.listener()); }
  }
  EXPECT_FALSE(inner.any);
  ASSERT_TRUE(outer.any);
  EXPECT_LT(outer.report.bytes, 12'000);
  EXPECT_GE(outer.report.bytes, 8000);
}

TEST(LeakScope, FollowsAGraphOfAMillionNodesOnASmallStack) {
  on_a_small_stack([] {
    Found found;
    Tensor y;
    {
      const LeakScope scope("chain", found.listener());
      y = ones({1}).requires_grad_();
      for (int i = 0; i < 1'000'000; ++i) y = y.add(1);
      y = y.square();
      y.set_name("y");
    }
    ASSERT_FALSE(found.report.leaks.empty());
    EXPECT_EQ(found.report.leaks[0].holder, "y");
  });
}

}  // namespace
}  // namespace vellum::testing
