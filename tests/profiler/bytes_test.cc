// The bytes of a call are what the allocator counts while it runs.

#include <optional>
#include <thread>

#include "vellum/device/thread_state.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/profiler/testing.h"

namespace vellum::testing {
namespace {

using Kind = Annotation::Kind;

// exp(x * x) by way of a second tensor, which is freed again.
constexpr OpDef kDetour{.name = "test_detour",
                        .kind = OpKind::kComposite,
                        .domain = kFloatingDTypes,
                        .composite = [](const OpCall& call, std::span<Tensor> outputs) {
                          outputs[0] = exp(mul(call.input(0), call.input(0)));
                        }};
OpSlot detour_slot{kDetour, "test"};

TEST(Bytes, OfACallAreWhatItsResultOccupies) {
  for (const int64_t elements : {0, 1, 1000, 300'000, 5'000'000}) {
    const Tensor x = zeros({elements});
    const int64_t before = memory_allocated();
    Profiler profiler;
    const Tensor y = mul(x, x);
    profiler.stop();
    EXPECT_EQ(of(profiler, "mul").bytes, memory_allocated() - before) << elements;
    EXPECT_EQ(of(profiler, "mul").self_bytes, memory_allocated() - before) << elements;
  }
}

TEST(Bytes, OfAViewAreNone) {
  const Tensor x = zeros({4, 5});
  Profiler profiler;
  const Tensor y = x.transpose(0, 1);
  profiler.stop();
  ASSERT_EQ(profiler.operators().size(), 1u);
  EXPECT_EQ(profiler.operators()[0].calls, 1);
  EXPECT_EQ(profiler.operators()[0].bytes, 0);
}

TEST(Bytes, CountWhatIsFreedAgainAndBelongToTheInnermostCall) {
  const Tensor x = zeros({1000});
  const int64_t before = memory_allocated();
  Profiler profiler;
  const Tensor y = call(detour_slot, {&x});
  profiler.stop();
  const int64_t one = memory_allocated() - before;
  EXPECT_GE(one, 4000);
  EXPECT_EQ(of(profiler, "test_detour").bytes, 2 * one);
  EXPECT_EQ(of(profiler, "test_detour").self_bytes, 0);
  EXPECT_EQ(of(profiler, "mul").self_bytes, one);
  EXPECT_EQ(of(profiler, "exp").self_bytes, one);
}

TEST(Bytes, OfAModuleExcludeThoseOfModulesBelow) {
  nn::Sequential model{nn::Sequential{nn::Linear(8, 300)}, nn::Linear(300, 200)};
  const Tensor x = zeros({10, 8});
  Profiler profiler;
  model(x);
  profiler.stop();
  EXPECT_EQ(of_module(profiler, "0").bytes, of_module(profiler, "0.0").bytes);
  EXPECT_EQ(of_module(profiler, "0").self_bytes, 0);
  EXPECT_GE(of_module(profiler, "0.0").self_bytes, 10 * 300 * 4);
  EXPECT_GE(of_module(profiler, "1").self_bytes, 10 * 200 * 4);
}

TEST(Bytes, AreThoseOfTheThread) {
  const AnnotationScope before(Kind::kUser, "before");
  Profiler profiler;
  {
    const AnnotationScope waiting(Kind::kUser, "waiting");
    std::thread([] { zeros({1000}); }).join();
  }
  std::thread([&] {
    const ProfilerThreadGuard guard(profiler);
    const AnnotationScope working(Kind::kUser, "working");
    zeros({16});
  }).join();
  profiler.stop();
  EXPECT_EQ(of(profiler, "waiting").bytes, 0);
  EXPECT_EQ(of(profiler, "working").bytes, 64);
}

TEST(Bytes, AreSummedOverDevices) {
  const Tensor x = zeros({16}), y = zeros({16}, Device("sim"));
  Profiler profiler;
  std::optional<AnnotationScope> label(std::in_place, Kind::kUser, "both");
  const int64_t before = memory_allocated() + memory_allocated(Device("sim"));
  const Tensor a = x.clone(), b = y.reshape({4, 4}).clone();
  const int64_t after = memory_allocated() + memory_allocated(Device("sim"));
  label.reset();
  profiler.stop();
  EXPECT_GE(of(profiler, "both").bytes, after - before);
  EXPECT_GE(after - before, 128);
}

}  // namespace
}  // namespace vellum::testing
