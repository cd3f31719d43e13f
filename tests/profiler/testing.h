#ifndef VELLUM_TESTS_PROFILER_TESTING_H_
#define VELLUM_TESTS_PROFILER_TESTING_H_

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/profiler/profiler.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/autograd/testing.h"

namespace vellum::testing {

using std::chrono::microseconds;

// A clock that stands still, but for what the test lets pass and for `tick` at each reading.
struct FakeClock {
  inline static std::atomic<int64_t> now = 0;
  inline static std::atomic<int64_t> tick = 0;

  static int64_t read() { return now += tick; }
  static void pass(microseconds time) { now += std::chrono::nanoseconds(time).count(); }
};

inline ProfilerOptions with_fake_clock(ProfilerOptions options = {}) {
  options.clock = FakeClock::read;
  return options;
}

// 2x, for which 3 us pass, and 5 us in its gradient.
inline constexpr OpDef kTimed{.name = "test_timed",
                              .kind = OpKind::kComposite,
                              .domain = kFloatingDTypes,
                              .vjp =
                                  [](Vjp& v) {
                                    FakeClock::pass(microseconds(5));
                                    v.grad() = mul(v.cotangent(), 2);
                                  },
                              .composite =
                                  [](const OpCall& call, std::span<Tensor> outputs) {
                                    FakeClock::pass(microseconds(3));
                                    outputs[0] = mul(call.input(0), 2);
                                  }};
inline OpSlot timed_slot{kTimed, "test"};
inline Tensor timed(const Tensor& x) { return call(timed_slot, {&x}); }

// The profile with that name; one without calls when there is none.
inline OperatorProfile of(const Profiler& profiler, std::string_view name) {
  for (const OperatorProfile& p : profiler.operators())
    if (p.name == name) return p;
  return {};
}

inline ModuleProfile of_module(const Profiler& profiler, std::string_view path) {
  for (const ModuleProfile& p : profiler.modules())
    if (p.path == path) return p;
  return {};
}

inline std::vector<std::string> names(const Profiler& profiler) {
  std::vector<std::string> list;
  for (const OperatorProfile& p : profiler.operators()) list.push_back(p.name);
  return list;
}

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_PROFILER_TESTING_H_
