// Whatever allocation fails in a training step, no byte is lost and the next step is that of an undisturbed run.

#include "vellum/tests/autograd/testing.h"
#include "vellum/tests/fakes/cpu_faults.h"

namespace vellum {
namespace {

using namespace vellum::testing;
using fakes::cpu_faults;

// Products, views, writes in place through a view, a broadcast, a saved output and a reduction.
void step(Tensor& w, Tensor& b) {
  Tensor h = (w.exp() + b) * w;
  h.slice(0, 0, 2).mul_(b.slice(0, 0, 2) * 3);
  Tensor y = h.view({2, 2}).t().log_softmax(0);
  h.reset();
  (y * y).sum().backward();
}

TEST(OutOfMemory, AnyAllocationOfAStepMayFail) {
  cpu_faults();
  Tensor w = leaf({0.1, 0.2, 0.3, 0.4}), b = leaf({1, 2, 3, 4});
  step(w, b);
  const std::vector<double> expected_w = values(w.grad()), expected_b = values(b.grad());
  w.set_grad({});
  b.set_grad({});
  const int64_t before = live_bytes();

  int failures = 0;
  for (bool failed = true; failed; ++failures) {
    SCOPED_TRACE(failures);
    cpu_faults().inject({.at = failures});
    failed = false;
    try {
      step(w, b);
    } catch (const OutOfMemoryError&) {
      failed = true;
    }
    cpu_faults().inject({});
    EXPECT_TRUE(is_grad_enabled());
    EXPECT_EQ(w.grad().defined(), !failed);
    EXPECT_EQ(b.grad().defined(), !failed);
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
