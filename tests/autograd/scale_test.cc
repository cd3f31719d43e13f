// A graph of a million nodes is built, run and dropped on a small stack.

#include <pthread.h>

#include <functional>

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

constexpr int kNodes = 1'000'000;
constexpr size_t kStackBytes = 256 << 10;

void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  const auto enter = [](void* body) -> void* {
    (*static_cast<std::function<void()>*>(body))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, enter, &body), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

Tensor chain(const Tensor& x, int nodes) {
  Tensor y = x;
  for (int i = 0; i < nodes; ++i) y = y + x;
  return y;
}

TEST(Scale, AMillionNodesRunBackward) {
  const int64_t before = live_bytes();
  on_small_stack([] {
    Tensor x = leaf({1});
    Tensor y = chain(x, kNodes);
    y.backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(kNodes + 1));
  });
  EXPECT_EQ(live_bytes(), before);
}

TEST(Scale, AMillionNodesAreDroppedWithoutAPass) {
  const int64_t before = live_bytes();
  on_small_stack([] {
    Tensor x = leaf({1});
    Tensor y = chain(x, kNodes);
    y.reset();
  });
  EXPECT_EQ(live_bytes(), before);
}

TEST(Scale, AMillionNodesHangFromAView) {
  const int64_t before = live_bytes();
  on_small_stack([] {
    Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < kNodes / 2; ++i) y = (y + x).view({1});
    Tensor v = y[0];
    y.reset();
    EXPECT_TRUE(v.requires_grad());
    v.reset();
  });
  EXPECT_EQ(live_bytes(), before);
}

TEST(Scale, AHundredThousandWritesThroughViewsRunBackward) {
  const int64_t before = live_bytes();
  on_small_stack([] {
    constexpr int kWrites = 100'000;
    Tensor x = leaf({1, 2});
    Tensor base = x * 1;
    for (int i = 0; i < kWrites; ++i) base[0].add_(x[1]);
    base.sum().backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(1, 1 + kWrites));
  });
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace vellum
