// What does not fit is refused by an error that names it, and changes nothing.

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::HasSubstr;

template <typename E>
std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another error: ") + e.what();
  }
  return "did not throw";
}

// Fused gradients are public operators: their attributes come from the caller.
TEST(BackwardOperators, CompareAttributesWithOperands) {
  const Tensor index = zeros({2, 2}, kInt64), target = zeros({3}, kInt64);
  const struct {
    const char* what;
    std::function<void()> call;
    const char* says;
  } cases[] = {
      {"log_softmax_backward: a gradient larger than the output",
       [] {
         log_softmax_backward(ones({4, 4}), ones({1}), 0);
       },
       "shapes [4, 4] and [1] differ"},
      {"nll_loss_backward: a scalar gradient without reduction",
       [&] {
         nll_loss_backward(scalar_tensor(1.), target, {{Reduction::kNone, -100}, {3, 5}});
       },
       "the gradient has shape [], the operator's output [3]"},
      {"nll_loss_backward: a row of gradients with reduction",
       [&] {
         nll_loss_backward(ones({3}), target, {{Reduction::kMean, -100}, {3, 5}});
       },
       "the operator's output []"},
      {"nll_loss_backward: log-probabilities of rank 0",
       [&] {
         nll_loss_backward(scalar_tensor(1.), target, {{}, {}});
       },
       "must be [C], [N, C] or [N, C, d1, ...], they are []"},
      {"nll_loss_backward: log-probabilities of another rank than the target's",
       [&] {
         nll_loss_backward(scalar_tensor(1.), target, {{}, {3}});
       },
       "target [3] does not fit scores [3]; it must be []"},
      {"gather_backward: an output smaller than the index",
       [&] {
         gather_backward(ones({2, 2}), index, 0, {1, 1});
       },
       "index [2, 2] does not fit [1, 1]"},
      {"gather_backward: an output of another rank",
       [&] {
         gather_backward(ones({2, 2}), index, 0, {4});
       },
       "index [2, 2] does not fit [4]"},
      {"gather_backward: a gradient smaller than the index",
       [&] {
         gather_backward(ones({1, 1}), index, 0, {2, 2});
       },
       "the gradient has shape [1, 1]"},
      {"as_strided_backward: an offset beyond the output",
       [] {
         as_strided_backward(ones({2}), {{2}, {2}, {1}, int64_t{1} << 32});
       },
       "do not lie in 2 elements"},
      {"as_strided_backward: strides that overflow",
       [] {
         as_strided_backward(ones({4}), {{2}, {4}, {int64_t{1} << 62}, 0});
       },
       "do not lie in 2 elements"},
      {"as_strided_backward: a negative stride",
       [] {
         as_strided_backward(ones({2}), {{2}, {2}, {-1}, 1});
       },
       "do not lie in 2 elements"},
      {"as_strided_backward: a gradient of another shape",
       [] {
         as_strided_backward(ones({3}), {{2}, {2}, {1}, 0});
       },
       "the gradient has shape [3]"},
      {"dropout_backward: no random state", [] { dropout_backward(ones({2}), zeros({0}, kInt64), .5); },
       "must be int64[2], it is int64[0]"},
      {"dropout_backward: a random state of another dtype",
       [] { dropout_backward(ones({2}), zeros({2}, kFloat32), .5); }, "must be int64[2]"},
      {"dropout_backward: an impossible probability", [] { dropout_backward(ones({2}), zeros({2}, kInt64), 1.5); },
       "p must lie in [0, 1]"},
  };
  for (const auto& c : cases) EXPECT_THAT(message<Error>(c.call), HasSubstr(c.says)) << c.what;
}

TEST(AsStrided, RefusesStridesThatOverflow) {
  EXPECT_THROW(zeros({2}).as_strided({4, 4}, {int64_t{1} << 62, 1}), ShapeError);
  EXPECT_THROW(zeros({2}).as_strided({2}, {1}, std::numeric_limits<int64_t>::max()), ShapeError);
}

TEST(Narrow, WantsAWindowWithinTheDimension) {
  const Tensor x = arange(5);
  EXPECT_EQ(x.narrow(0, -2, 2).to_vector<int>(), std::vector<int>({3, 4}));
  EXPECT_EQ(x.narrow(0, 5, 0).numel(), 0);
  const struct {
    int64_t start, length;
  } outside[] = {{0, 6}, {3, 3}, {-6, 1}, {6, 0}, {0, -1}, {1, std::numeric_limits<int64_t>::max()}};
  for (const auto& [start, length] : outside)
    EXPECT_THAT(message<IndexError>([&, start = start, length = length] { x.narrow(0, start, length); }),
                HasSubstr("do not lie in dimension 0 of shape [5]"))
        << start << ", " << length;
}

TEST(Slice, TakesAStepOfAnySize) {
  EXPECT_EQ(arange(5).slice(0, 1, {}, std::numeric_limits<int64_t>::max()).to_vector<int>(), std::vector<int>({1}));
}

// --- out=

TEST(Out, MayBeAnOperandThatIsResized) {
  Tensor a = zeros({2, 0});
  matmul_out(a, a, zeros({0, 3}));
  EXPECT_EQ(a.shape(), Dims({2, 3}));
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>(6, 0));
}

TEST(Out, IsLeftAloneWhenTheCallThrows) {
  Tensor out = zeros({0}, kInt64);
  EXPECT_THROW(add_out(out, ones({2}), ones({2})), DTypeError);
  EXPECT_EQ(out.shape(), Dims({0}));
}

// --- Numbers that do not fit

TEST(Alpha, MustBeOfTheOperandsCategory) {
  Tensor n = arange(3), x = ones({3});
  EXPECT_THAT(message<DTypeError>([&] { add(n, n, 0.5); }),
              HasSubstr("add: alpha is real, but the operands are int64"));
  EXPECT_THAT(message<DTypeError>([&] { x.sub_(x, complex64(0, 1)); }),
              HasSubstr("sub: alpha is complex, but the operands are float32"));
  EXPECT_THROW(add_out(n, n, n, 0.5), DTypeError);
  EXPECT_EQ(n.to_vector<int>(), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(add(n, n, 2).to_vector<int>(), std::vector<int>({0, 3, 6}));
  EXPECT_EQ(add(n, x, 0.5).to_vector<float>(), std::vector<float>({0.5, 1.5, 2.5}));
}

TEST(Value, MustFitTheDtypeThatHoldsIt) {
  EXPECT_THAT(message<DTypeError>([] { full({2}, 1e30, kInt64); }), HasSubstr("1e+30 does not fit a tensor of int64"));
  EXPECT_THROW(full({2}, 300, kUInt8), DTypeError);
  EXPECT_THROW(full({2}, 128, kInt8), DTypeError);
  EXPECT_THROW(full({2}, std::numeric_limits<double>::quiet_NaN(), kInt32), DTypeError);
  EXPECT_THROW(full({2}, 0x1p63, kInt64), DTypeError);
  EXPECT_THROW(scalar_tensor(complex64(1, 2), kFloat32), DTypeError);
  Tensor x = ones({2}, kInt32);
  EXPECT_THROW(x.fill_(1e10), DTypeError);
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({1, 1}));
  EXPECT_EQ(full({1}, -1, kUInt8).item<int>(), 255);
  EXPECT_EQ(full({1}, std::numeric_limits<int64_t>::max(), kInt64).item<int64_t>(),
            std::numeric_limits<int64_t>::max());
}

TEST(Item, HoldsARealToTheRangeOfAnInteger) {
  EXPECT_EQ(scalar_tensor(1e30).item<int>(), std::numeric_limits<int>::max());
  EXPECT_EQ(scalar_tensor(-1e30).item<int64_t>(), std::numeric_limits<int64_t>::lowest());
  EXPECT_EQ(scalar_tensor(std::numeric_limits<double>::quiet_NaN()).item<int>(), 0);
}

// --- Factories

TEST(Factories, RefuseWhatNoMemoryHolds) {
  EXPECT_THROW(arange(int64_t{1} << 62), ShapeError);
  EXPECT_THROW(empty({int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
  EXPECT_THROW(empty({0, int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
  EXPECT_THAT(message<InvalidArgumentError>([] { stack(std::span<const Tensor>(), 0); }), HasSubstr("stack: the list"));
}

TEST(FromBlob, LeavesTheMemoryToTheCallerWhenItThrows) {
  static int deleted = 0;
  const auto count = [](void*) { ++deleted; };
  float memory[4];
  TensorOptions wants_grad(kInt32);
  wants_grad.requires_grad = true;
  EXPECT_THROW(from_blob(memory, {4}, wants_grad, count), AutogradError);
  EXPECT_THROW(from_blob(memory, {int64_t{1} << 61, 2}, kFloat64, count), ShapeError);
  EXPECT_THROW(from_blob(nullptr, {4}, kFloat32, count), InvalidArgumentError);
  EXPECT_EQ(deleted, 0);
}

}  // namespace
}  // namespace vellum
