// Whatever allocation fails in a training step, no byte is lost and the next step is that of an undisturbed run.

#include <memory>
#include <string_view>

#include "vellum/tests/autograd/testing.h"
#include "vellum/tests/fakes/failing_allocator.h"

namespace vellum {
namespace {

using namespace vellum::testing;
using fakes::allocations_left;
using fakes::FailingAllocator;

// Products, views, writes in place through a view, a broadcast, a saved output and a reduction.
void step(Tensor& w, Tensor& b) {
  Tensor h = (w.exp() + b) * w;
  h.slice(0, 0, 2).mul_(b.slice(0, 0, 2) * 3);
  Tensor y = h.view({2, 2}).t().log_softmax(0);
  h.reset();
  (y * y).sum().backward();
}

TEST(OutOfMemory, AnyAllocationOfAStepMayFail) {
  set_allocator(Device(kCPU), std::make_unique<FailingAllocator>());
  Tensor w = leaf({0.1, 0.2, 0.3, 0.4}), b = leaf({1, 2, 3, 4});
  step(w, b);
  const std::vector<double> expected_w = values(w.grad()), expected_b = values(b.grad());
  w.set_grad({});
  b.set_grad({});
  const int64_t before = live_bytes();

  int failures = 0;
  for (bool failed = true; failed; ++failures) {
    SCOPED_TRACE(failures);
    allocations_left = failures;
    failed = false;
    try {
      step(w, b);
    } catch (const OutOfMemoryError&) {
      failed = true;
    }
    allocations_left = -1;
    EXPECT_TRUE(is_grad_enabled());
    w.set_grad({});
    b.set_grad({});
    EXPECT_EQ(live_bytes(), before);

    step(w, b);
    EXPECT_EQ(values(w.grad()), expected_w);
    EXPECT_EQ(values(b.grad()), expected_b);
    w.set_grad({});
    b.set_grad({});
    EXPECT_EQ(live_bytes(), before);
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace vellum
