// When and on which threads something is recorded, and that it changes nothing else.

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/device/thread_state.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/profiler/testing.h"

namespace vellum::testing {
namespace {

using Kind = Annotation::Kind;

TEST(Profiler, SetsTheModeBitOfItsThreadWhileItRecords) {
  const uint32_t before = thread_state().mode;
  {
    Profiler profiler;
    EXPECT_EQ(thread_state().mode, before | kModeProfiler);
    std::thread([&] { EXPECT_EQ(thread_state().mode, before); }).join();
    profiler.stop();
    EXPECT_EQ(thread_state().mode, before);
    Profiler other;
    EXPECT_EQ(thread_state().mode, before | kModeProfiler);
  }
  EXPECT_EQ(thread_state().mode, before);
}

TEST(Profiler, RecordsNothingOnceItHasStopped) {
  const Tensor x = ones({4});
  Profiler profiler;
  mul(x, x);
  profiler.stop();
  mul(x, x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "mul").calls, 1);
}

TEST(Profiler, SurvivesAGuardThatBringsItsModeBitBack) {
  const Tensor x = ones({4});
  std::optional<Profiler> profiler(std::in_place);
  {
    const ModeGuard guard(0, kModeGrad);
    profiler.reset();
  }
  mul(x, x);
  EXPECT_EQ(thread_state().mode & kModeProfiler, 0u);
}

std::vector<std::vector<double>> losses_and_gradients() {
  manual_seed(7);
  nn::Sequential model(nn::Linear(6, 16), nn::ReLU(), nn::Dropout(0.3), nn::Linear(16, 3));
  const Tensor x = randn({5, 6}), target = tensor<int64_t>({0, 1, 2, 1, 0});
  const Tensor loss = nn::functional::cross_entropy(model(x), target);
  loss.backward();
  std::vector<std::vector<double>> results{values(loss)};
  for (const Tensor& p : model.parameters()) results.push_back(values(p.grad()));
  return results;
}

TEST(Profiler, LeavesValuesGradientsAndMemoryAsTheyAre) {
  const auto expected = losses_and_gradients();
  const int64_t before = memory_allocated();
  Profiler profiler({.shapes = true});
  const auto recorded = losses_and_gradients();
  profiler.stop();
  EXPECT_EQ(recorded, expected);
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_GT(profiler.operators().size(), 10u);
}

TEST(Profiler, IsOneAtATime) {
  Profiler profiler;
  EXPECT_THAT(message_of<InvalidArgumentError>([] { Profiler inner; }), HasSubstr("another profiler is recording"));
  std::thread([] { EXPECT_THROW(Profiler(), InvalidArgumentError); }).join();
  profiler.stop();
  EXPECT_NO_THROW(Profiler());
}

TEST(Profiler, RefusesWhatItCannotDo) {
  EXPECT_THROW(Profiler({.max_events = -1}), InvalidArgumentError);
  Profiler profiler;
  EXPECT_THAT(message_of<InvalidArgumentError>([&] { profiler.table(); }), HasSubstr("call stop() first"));
  EXPECT_THROW(profiler.operators(), InvalidArgumentError);
  EXPECT_THROW(profiler.write_trace("unused"), InvalidArgumentError);
  std::thread([&] { EXPECT_THROW(profiler.stop(), InvalidArgumentError); }).join();
  profiler.stop();
  EXPECT_THROW(profiler.table({.rows = 0}), InvalidArgumentError);
}

TEST(Profiler, MayBeDestroyedElsewhereAndLeavesItsThreadInPeace) {
  const Tensor x = ones({4});
  auto profiler = std::make_unique<Profiler>();
  mul(x, x);
  std::thread([&] { profiler.reset(); }).join();
  mul(x, x);
  EXPECT_EQ(thread_state().mode & kModeProfiler, 0u);
  Profiler next;
  mul(x, x);
  next.stop();
  EXPECT_EQ(of(next, "mul").calls, 1);
}

TEST(Threads, AreRecordedWhileTheyHoldAGuard) {
  const Tensor x = ones({4});
  Profiler profiler;
  std::thread([&] { exp(x); }).join();
  std::thread([&] {
    {
      const ProfilerThreadGuard guard(profiler);
      const ProfilerThreadGuard again(profiler);
      mul(x, x);
    }
    exp(x);
  }).join();
  const ProfilerThreadGuard useless(profiler);
  mul(x, x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "mul").calls, 2);
  EXPECT_EQ(of(profiler, "exp").calls, 0);
  EXPECT_THAT(profiler.table(), HasSubstr("on 2 threads"));
}

TEST(Threads, ThatHaveNotFinishedAreLeftOutAndCounted) {
  const Tensor x = ones({4});
  Profiler profiler;
  std::promise<void> recorded, stopped;
  std::thread late([&] {
    const ProfilerThreadGuard guard(profiler);
    exp(x);
    recorded.set_value();
    stopped.get_future().wait();
    exp(x);
    EXPECT_EQ(thread_state().mode & kModeProfiler, 0u);
  });
  recorded.get_future().wait();
  profiler.stop();
  stopped.set_value();
  late.join();
  EXPECT_EQ(of(profiler, "exp").calls, 0);
  EXPECT_THAT(profiler.table(), HasSubstr("1 threads were still recording and are left out"));
}

TEST(Threads, OfTheLibraryRecordWhatTheyDoForTheProfilersThread) {
  const int threads = get_num_threads();
  set_num_threads(2);
  const Tensor x = ones({4});
  Profiler profiler;
  for (int repeat = 0; repeat < 3; ++repeat)
    parallel_for(0, 2, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) mul(x, x);
    });
  profiler.stop();
  set_num_threads(threads);
  EXPECT_EQ(of(profiler, "mul").calls, 6);
  EXPECT_THAT(profiler.table(), HasSubstr("on 2 threads"));
}

TEST(Limits, OfEventsLetTheTotalsGoOn) {
  const Tensor x = ones({4});
  Profiler profiler({.shapes = true, .max_events = 10});
  for (int i = 0; i < 5000; ++i) mul(x, x);
  profiler.stop();
  EXPECT_EQ(of(profiler, "mul").calls, 5000);
  EXPECT_EQ(profiler.dropped_events(), 4990);
  EXPECT_THAT(profiler.table(), HasSubstr("4990 calls are not in the trace: max_events is 10"));
}

TEST(Limits, OfNamesCountTheRestTogether) {
  constexpr int kLabels = 70'000;
  Profiler profiler({.max_events = 0});
  for (int i = 0; i < kLabels; ++i) const AnnotationScope label(Kind::kUser, "label " + std::to_string(i));
  profiler.stop();
  const std::vector<OperatorProfile> operators = profiler.operators();
  EXPECT_LE(operators.size(), size_t{1} << 16);
  int64_t calls = 0;
  for (const OperatorProfile& p : operators) calls += p.calls;
  EXPECT_EQ(calls, kLabels);
  EXPECT_EQ(of(profiler, "(other names)").calls, kLabels - static_cast<int64_t>(operators.size()) + 1);
}

}  // namespace
}  // namespace vellum::testing
