// Which bytes the graph holds, and when it lets go of them.

#include "vellum/tensor/op_def.h"
#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

constexpr int64_t kFloats = 1024, kBlock = 4096;  // a tensor of kFloats float32, and what it occupies
constexpr int64_t kSmall = 64;                    // the block of a number

Tensor big_leaf() { return ones({kFloats}).requires_grad_(); }

TEST(SavedBytes, AProductKeepsOnlyWhatTheTrainedOperandNeeds) {
  Tensor trained = big_leaf();
  const int64_t before = live_bytes();
  Tensor input = ones({kFloats}), weight = trained.clone();
  Tensor product = input * weight;
  EXPECT_EQ(live_bytes() - before, 3 * kBlock);
  weight.reset();  // the gradient of the input is not wanted
  EXPECT_EQ(live_bytes() - before, 2 * kBlock);
  input.reset();  // that of the weight reads the input
  EXPECT_EQ(live_bytes() - before, 2 * kBlock);
  product.reset();
  EXPECT_EQ(live_bytes(), before);
}

TEST(SavedBytes, APairOfPlanesIsNotKept) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  Tensor real = x.clone(), imag = x.clone();
  Tensor z = complex(real, imag);
  real.reset();
  imag.reset();
  EXPECT_EQ(live_bytes() - before, 2 * kBlock);  // z alone, of 8 bytes an element
}

TEST(SavedBytes, DropoutKeepsSixteenBytes) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  Tensor h = x.clone();
  Tensor y = dropout(h, 0.5);
  h.reset();
  EXPECT_EQ(live_bytes() - before, kBlock + kSmall);  // y, and the state of the generator
}

TEST(SavedBytes, SumsAndViewsKeepNothing) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  Tensor y = (x + x.clone()).view({32, 32}).t().sum();
  EXPECT_EQ(live_bytes() - before, kSmall);
}

TEST(SavedBytes, AnOutputThatIsSavedIsNoCycle) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  x.exp();
  x.exp().relu().log_softmax(0);
  EXPECT_EQ(live_bytes(), before);
}

TEST(SavedBytes, AWriteThatReadsItsOwnTargetIsNoCycle) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  {
    Tensor h = x * 1;
    h.add_(h * h);
    h.mul_(h);
    h.slice(0, 0, 10).exp_();
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(Release, HappensNodeByNodeAsThePassProceeds) {
  constexpr int kLength = 64;
  Tensor x = zeros({kFloats}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < kLength; ++i) y = (y * 0).exp();  // each keeps its output
  Tensor loss = y.sum();
  y.reset();
  const int64_t built = live_bytes();
  reset_peak_memory_stats();
  loss.backward();
  EXPECT_LE(max_memory_allocated() - built, 3 * kBlock);  // gradients in flight, however long the chain
  EXPECT_LE(live_bytes(), built - (kLength - 1) * kBlock);
}

TEST(Accumulation, TheFirstGradientIsTheVeryBuffer) {
  Tensor x = big_leaf();
  Tensor factor = ones({kFloats});
  Tensor loss = (x * factor).sum();
  const int64_t before = live_bytes();
  reset_peak_memory_stats();
  loss.backward();
  EXPECT_EQ(live_bytes() - before, kBlock);
  EXPECT_EQ(max_memory_allocated() - before, kBlock + kSmall);  // the product of the cotangent, which is one number
}

TEST(Accumulation, LaterGradientsAreAddedInPlace) {
  Tensor x = big_leaf();
  (x * 2).sum().backward();
  const float* buffer = x.grad().data<float>();
  const int64_t before = live_bytes();
  (x * 3).sum().backward();
  EXPECT_EQ(x.grad().data<float>(), buffer);
  EXPECT_EQ(buffer[0], 5);
  EXPECT_EQ(live_bytes(), before);
}

TEST(Accumulation, ABufferThatSomebodyHoldsIsNotTaken) {
  Tensor x = big_leaf();
  const Tensor cotangent = ones({kFloats});
  x.clone().backward(cotangent);
  EXPECT_FALSE(x.grad().shares_storage_with(cotangent));

  Tensor a = big_leaf(), b = big_leaf();
  (a + b).backward(ones({kFloats}));  // one cotangent for both
  EXPECT_FALSE(a.grad().shares_storage_with(b.grad()));
  (a * 5).sum().backward();
  EXPECT_EQ(b.grad().data<float>()[0], 1);
}

// --- Exceptions.

bool vjp_throws = true;

constexpr OpDef kFailing{
    .name = "failing", .kernel = "neg", .dtypes = dtype_rules::promote, .saves = {saves_input(0)}, .vjp = [](Vjp& v) {
      if (vjp_throws) throw std::runtime_error("the vjp fails");
      v.grad() = neg(v.cotangent());
    }};
OpSlot failing_slot{kFailing, "test"};

TEST(Exceptions, InTheMiddleOfAPassLoseNoBytesAndLeaveTheRestRunnable) {
  Tensor x = big_leaf();
  x.set_grad(zeros({kFloats}));
  const int64_t before = live_bytes();
  {
    Tensor h = x.exp();
    Tensor loss = (call(failing_slot, {&h}) * x).sum();
    vjp_throws = true;
    EXPECT_THROW(loss.backward({.retain_graph = true}), std::runtime_error);
    EXPECT_TRUE(is_grad_enabled());
    vjp_throws = false;
    x.set_grad(zeros({kFloats}));
    loss.backward();
    EXPECT_NEAR(x.grad().data<float>()[0], -2 * std::exp(1.0), 1e-5);
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(Exceptions, LeaveAGraphThatCanBeDropped) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  {
    Tensor h = x.exp();
    Tensor loss = (call(failing_slot, {&h}) * h).sum();
    vjp_throws = true;
    EXPECT_THROW(loss.backward(), std::runtime_error);
  }
  x.set_grad({});
  EXPECT_EQ(live_bytes(), before);
}

struct UncopyableAttrs {
  int number = 0;
};

constexpr OpDef kUnrecordable{.name = "unrecordable",
                              .kernel = "neg",
                              .dtypes = dtype_rules::promote,
                              .attrs = {.size = sizeof(UncopyableAttrs),
                                        .copy = [](void*, const void*) { throw std::runtime_error("no copy"); },
                                        .destroy = [](void*) { FAIL() << "what was not made is destroyed"; }},
                              .saves = {saves_input(0)},
                              .vjp = [](Vjp&) {}};
OpSlot unrecordable_slot{kUnrecordable, "test"};

TEST(Exceptions, WhileRecordingLoseNoBytes) {
  Tensor x = big_leaf();
  const int64_t before = live_bytes();
  const UncopyableAttrs attrs;
  Tensor h = x.clone();
  EXPECT_THROW(call(unrecordable_slot, {&h}, &attrs), std::runtime_error);
  h.reset();
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace vellum
