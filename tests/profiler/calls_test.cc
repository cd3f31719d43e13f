// What is counted as a call, how calls nest, and where their time goes. The clock stands still unless the test moves
// it.

#include <memory>

#include "vellum/device/thread_state.h"
#include "vellum/nn/module.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/profiler/testing.h"

namespace vellum::testing {
namespace {

using ::testing::UnorderedElementsAre;
using Kind = Annotation::Kind;

constexpr OpDef kFails{.name = "test_fails",
                       .kind = OpKind::kComposite,
                       .domain = kFloatingDTypes,
                       .composite = [](const OpCall&, std::span<Tensor>) {
                         FakeClock::pass(microseconds(1));
                         throw_error<InvalidArgumentError>("test_fails: as asked");
                       }};
OpSlot fails_slot{kFails, "test"};

// Calls itself until its operand has no elements; 1 us passes in each call.
Tensor shrink(const Tensor& x);
constexpr OpDef kShrink{.name = "test_shrink",
                        .kind = OpKind::kComposite,
                        .domain = kFloatingDTypes,
                        .composite = [](const OpCall& call, std::span<Tensor> outputs) {
                          FakeClock::pass(microseconds(1));
                          const Tensor& x = call.input(0);
                          outputs[0] = x.numel() ? shrink(empty({x.numel() - 1}, x.dtype())) : x;
                        }};
OpSlot shrink_slot{kShrink, "test"};
Tensor shrink(const Tensor& x) { return call(shrink_slot, {&x}); }

TEST(Calls, OfAnOperatorAreCountedInEveryForm) {
  Tensor x = ones({4}), out = empty({4});
  Profiler profiler(with_fake_clock());
  mul(x, x);
  x.mul_(x);
  const Tensor* inputs[] = {&x, &x};
  call_out(*find_operator("mul"), out, inputs);
  profiler.stop();
  EXPECT_EQ(of(profiler, "mul").calls, 3);
  EXPECT_EQ(profiler.operators().size(), 1u);
}

TEST(Calls, ThatAnOperatorMakesAreItsOwnButNotItsSelfTime) {
  const Tensor x = ones({4});
  Profiler profiler(with_fake_clock());
  {
    const AnnotationScope step(Kind::kUser, "step");
    FakeClock::pass(microseconds(10));
    timed(timed(x));
  }
  profiler.stop();
  EXPECT_THAT(names(profiler), UnorderedElementsAre("step", "test_timed", "mul"));
  EXPECT_EQ(of(profiler, "step").total, microseconds(16));
  EXPECT_EQ(of(profiler, "step").self, microseconds(10));
  EXPECT_EQ(of(profiler, "test_timed").calls, 2);
  EXPECT_EQ(of(profiler, "test_timed").total, microseconds(6));
  EXPECT_EQ(of(profiler, "mul").calls, 2);
}

TEST(Calls, ReadTheClockOnceAtEachEnd) {
  const Tensor x = ones({4});
  FakeClock::tick = 1000;
  Profiler profiler(with_fake_clock());
  timed(x);
  profiler.stop();
  FakeClock::tick = 0;
  EXPECT_EQ(of(profiler, "mul").self, microseconds(1));
  EXPECT_EQ(of(profiler, "test_timed").total, microseconds(3 + 3));
  EXPECT_EQ(of(profiler, "test_timed").self, microseconds(3 + 2));
}

TEST(Calls, NestedInTheirLikeCountOnceTowardsTheTotal) {
  const Tensor x = ones({3});
  Profiler profiler(with_fake_clock());
  shrink(x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "test_shrink").calls, 4);
  EXPECT_EQ(of(profiler, "test_shrink").total, microseconds(4));
  EXPECT_EQ(of(profiler, "test_shrink").self, microseconds(4));
}

TEST(Calls, ThatThrowAreEnded) {
  const Tensor x = ones({4});
  Profiler profiler(with_fake_clock());
  EXPECT_THROW(call(fails_slot, {&x}), InvalidArgumentError);
  FakeClock::pass(microseconds(100));
  timed(x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "test_fails").calls, 1);
  EXPECT_EQ(of(profiler, "test_fails").total, microseconds(1));
  EXPECT_EQ(of(profiler, "test_timed").total, microseconds(3));
}

TEST(Calls, StillOpenEndWithTheRecording) {
  const AnnotationScope before(Kind::kUser, "before");
  Profiler profiler(with_fake_clock());
  const AnnotationScope open(Kind::kUser, "open");
  FakeClock::pass(microseconds(2));
  profiler.stop();
  FakeClock::pass(microseconds(7));
  EXPECT_THAT(names(profiler), UnorderedElementsAre("open"));
  EXPECT_EQ(of(profiler, "open").total, microseconds(2));
}

TEST(Calls, WhoseBeginningWasNotRecordedAreLeftOut) {
  std::unique_ptr<Profiler> profiler;
  {
    const AnnotationScope before(Kind::kUser, "before");
    profiler = std::make_unique<Profiler>(with_fake_clock());
  }
  timed(ones({4}));
  profiler->stop();
  EXPECT_THAT(names(*profiler), UnorderedElementsAre("test_timed", "mul"));
}

TEST(Calls, OfTheBackwardPassHaveTheNamesOfItsSteps) {
  const Tensor x = leaf({1, 2});
  const Tensor loss = timed(x).sum();
  Profiler profiler(with_fake_clock());
  loss.backward();
  profiler.stop();
  EXPECT_EQ(of(profiler, "SumBackward").calls, 1);
  EXPECT_EQ(of(profiler, "AccumulateGrad").calls, 1);
  EXPECT_EQ(of(profiler, "TestTimedBackward").total, microseconds(5));
  EXPECT_EQ(of(profiler, "mul").calls, 1);
  EXPECT_EQ(of(profiler, "test_timed").calls, 0);
}

TEST(Calls, OnADeviceWithoutKernelsShowTheHostFallback) {
  const Tensor x = ones({4}, Device("bare"));
  Profiler profiler(with_fake_clock());
  mul(x, x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "host_fallback").calls, 1);
}

// 1 us before and 2 us after what it contains.
class Block : public nn::Module {
 public:
  Block() = default;
  explicit Block(std::unique_ptr<nn::Module> inner) : inner_(std::move(inner)) { register_module("inner", *inner_); }
  Tensor forward(const Tensor& x) override {
    FakeClock::pass(microseconds(1));
    const Tensor y = inner_ ? (*inner_)(x) : timed(x);
    FakeClock::pass(microseconds(2));
    return y;
  }

 private:
  std::unique_ptr<nn::Module> inner_;
};

TEST(Modules, AreTimedByTheirPathWithAndWithoutWhatIsBelow) {
  nn::Sequential model;
  model.push_back("encoder", std::make_unique<Block>(std::make_unique<Block>()));
  const Tensor x = ones({4});
  Profiler profiler(with_fake_clock());
  model(model(x));
  profiler.stop();
  ASSERT_EQ(profiler.modules().size(), 2u);
  EXPECT_EQ(profiler.modules()[0].path, "encoder");
  EXPECT_EQ(profiler.modules()[0].calls, 2);
  EXPECT_EQ(profiler.modules()[0].total, microseconds(2 * (3 + 6)));
  EXPECT_EQ(profiler.modules()[0].self, microseconds(2 * 3));
  EXPECT_EQ(profiler.modules()[1].path, "encoder.inner");
  EXPECT_EQ(profiler.modules()[1].total, microseconds(2 * 6));
  EXPECT_EQ(profiler.modules()[1].self, microseconds(2 * 6));
}

TEST(Modules, HaveTheBackwardTimeOfTheOperatorsThatTheyCalled) {
  nn::Sequential model;
  model.push_back("encoder", std::make_unique<Block>(std::make_unique<Block>()));
  const Tensor x = leaf({1, 2});
  Profiler profiler(with_fake_clock());
  timed(model(x)).sum().backward();
  profiler.stop();
  EXPECT_EQ(of(profiler, "TestTimedBackward").total, microseconds(2 * 5));
  EXPECT_EQ(of_module(profiler, "encoder.inner").backward, microseconds(5));
  EXPECT_EQ(of_module(profiler, "encoder").backward, microseconds(0));
}

TEST(Modules, AreKnownToALaterProfilerOfTheBackwardPass) {
  nn::Sequential model;
  model.push_back("later", std::make_unique<Block>());
  Tensor loss;
  {
    Profiler first(with_fake_clock());
    loss = model(leaf({1, 2})).sum();
  }
  Profiler second(with_fake_clock());
  loss.backward();
  second.stop();
  EXPECT_EQ(of_module(second, "later").backward, microseconds(5));
  EXPECT_EQ(of_module(second, "later").calls, 0);
}

TEST(Modules, ThatWereEnteredBeforeTheProfilerGiveTheirPath) {
  nn::Sequential model;
  model.push_back("inner", std::make_unique<Block>());
  const nn::ModuleScope outer("outer");
  Profiler profiler(with_fake_clock());
  model(ones({4}));
  profiler.stop();
  EXPECT_EQ(of_module(profiler, "outer.inner").calls, 1);
}

}  // namespace
}  // namespace vellum::testing
