// Normalizations against PyTorch's values.

#include <cmath>

#include "vellum/allocator/memory.h"
#include "vellum/nn/batch_norm.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/layer_norm.h"
#include "vellum/tests/nn/goldens.h"

namespace vellum::nn {
namespace {

using namespace vellum::testing;
using ::testing::Each;

const Dims kShape{2, 3, 4};

// --- LayerNorm

TEST(LayerNorm, AgreesWithPyTorch) {
  for (const int rank : {1, 2})
    for (const bool affine : {false, true}) {
      const Dims normalized = rank == 1 ? Dims{4} : Dims{3, 4};
      Tensor x = testing::pattern(kShape).requires_grad_();
      LayerNorm norm(normalized, {.eps = 1e-3, .elementwise_affine = affine, .dtype = kFloat64});
      if (affine) {
        norm.weight().detach().copy_(testing::pattern(normalized) + 2);
        norm.bias().detach().copy_(testing::pattern(normalized));
      }
      const Tensor y = norm(x);
      (y * testing::pattern(kShape, 3, 5)).sum().backward();
      std::vector<Tensor> parts{y, x.grad()};
      if (affine) parts.insert(parts.end(), {norm.weight().grad(), norm.bias().grad()});
      expect_golden(str_cat("layer_norm/", rank, "/", int{affine}), parts);
    }
}

TEST(LayerNorm, StartsAsTheIdentityOfItsNormalization) {
  const LayerNorm norm({2, 3});
  EXPECT_EQ(norm.normalized_shape(), (Dims{2, 3}));
  EXPECT_EQ(norm.weight().shape(), (Dims{2, 3}));
  EXPECT_THAT(values(norm.weight()), Each(1));
  EXPECT_THAT(values(norm.bias()), Each(0));
  EXPECT_EQ(norm.parameters().size(), 2);
  EXPECT_TRUE(LayerNorm({3}, {.elementwise_affine = false}).parameters().empty());
}

TEST(LayerNorm, OfAConstantRowIsItsBias) {
  LayerNorm norm({5});
  norm.bias().detach().fill_(0.5);
  EXPECT_THAT(values(norm(full({2, 5}, 1e6))), Each(0.5));
}

TEST(LayerNorm, KeepsItsPrecisionFarFromZero) {
  const Tensor x = tensor({9999.f, 10000.f, 10001.f, 10002.f});
  const double unit = 1 / std::sqrt(1.25);
  expect_near(layer_norm(x, {4}, {}, {}, 0), {-1.5 * unit, -0.5 * unit, 0.5 * unit, 1.5 * unit}, 1e-6);
}

TEST(LayerNorm, OfHalvesComputesInFloat) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    LayerNorm norm({4}, {.eps = 1e-3, .elementwise_affine = false});
    const Tensor y = norm(testing::pattern(kShape).to(dtype));
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, golden("layer_norm/1/0", 0), dtype == kFloat16 ? 1e-3 : 8e-3);
  }
}

TEST(LayerNorm, TakesHalvesBesideParametersInFloat) {
  LayerNorm norm({4});
  Tensor x = testing::pattern(kShape).to(kBFloat16).requires_grad_();
  const Tensor y = norm(x);
  EXPECT_EQ(y.dtype(), kBFloat16);
  y.sum().backward();
  EXPECT_EQ(x.grad().dtype(), kBFloat16);
  EXPECT_EQ(norm.weight().grad().dtype(), kFloat32);
}

TEST(LayerNorm, KeepsTwoNumbersForEachRow) {
  const Tensor x = ones({8, 128}).requires_grad_();
  const int64_t before = memory_allocated();
  const Tensor y = layer_norm(x, {128});
  const int64_t kept = memory_allocated() - before - y.nbytes();
  EXPECT_GE(kept, 2 * 8 * 4);
  EXPECT_LE(kept, 2 * 512);  // each in a block of its own
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  LayerNorm norm({3});
  EXPECT_THAT(message_of<ShapeError>([&] {
                norm(ones({2, 4}));
              }),
              HasSubstr("normalized_shape [3] is not how the shape of x, [2, 4], ends"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                layer_norm(ones({2, 3}), {3}, ones({2}));
              }),
              HasSubstr("layer_norm: weight has shape [2]; it must be [3]"));
  EXPECT_THROW(layer_norm(ones({2, 3}), {}), ShapeError);
  EXPECT_THROW(layer_norm(ones({2, 3}, kInt64), {3}), DTypeError);
  EXPECT_THROW(LayerNorm(Dims{}), InvalidArgumentError);
  EXPECT_THROW(LayerNorm({0}), InvalidArgumentError);
}

// --- BatchNorm

// Two steps in training and one in evaluation.
template <typename Norm>
void expect_steps(const Dims& shape, std::optional<double> momentum) {
  Norm norm(3, {.eps = 1e-3, .momentum = momentum, .dtype = kFloat64});
  norm.weight().detach().copy_(tensor({1.5, -0.5, 2.}));
  norm.bias().detach().copy_(tensor({0.25, 1., -1.}));
  for (int step = 0; step < 3; ++step) {
    norm.train(step < 2);
    norm.zero_grad();
    Tensor x = (testing::pattern(shape) * (step + 1) + step).requires_grad_();
    const Tensor y = norm(x);
    (y * testing::pattern(shape, 3, 5)).sum().backward();
    expect_golden(str_cat("batch_norm/", shape.size(), "/", momentum ? "momentum" : "average", "/", step),
                  {y, x.grad(), norm.weight().grad(), norm.bias().grad(), norm.running_mean(), norm.running_var(),
                   norm.num_batches_tracked()});
  }
}

TEST(BatchNorm1d, AgreesWithPyTorch) {
  expect_steps<BatchNorm1d>({4, 3}, 0.25);
  expect_steps<BatchNorm1d>({2, 3, 5}, 0.25);
}

TEST(BatchNorm2d, AgreesWithPyTorch) { expect_steps<BatchNorm2d>({2, 3, 2, 2}, 0.25); }

TEST(BatchNorm, WithoutMomentumAveragesTheBatches) {
  expect_steps<BatchNorm1d>({4, 3}, std::nullopt);
  expect_steps<BatchNorm2d>({2, 3, 2, 2}, std::nullopt);
}

TEST(BatchNorm, StartsWithStandardStatistics) {
  const BatchNorm1d norm(2);
  EXPECT_THAT(values(norm.weight()), Each(1));
  EXPECT_THAT(values(norm.bias()), Each(0));
  EXPECT_THAT(values(norm.running_mean()), Each(0));
  EXPECT_THAT(values(norm.running_var()), Each(1));
  EXPECT_EQ(norm.num_batches_tracked().dtype(), kInt64);
  std::vector<std::string> names;
  for (const auto& [name, buffer] : norm.named_buffers()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("running_mean", "running_var", "num_batches_tracked"));
}

TEST(BatchNorm, WithoutTrackingUsesTheBatchInEvaluationToo) {
  BatchNorm1d norm(1, {.affine = false, .track_running_stats = false});
  norm.eval();
  expect_near(norm(tensor({1.f, 3.f}).view({2, 1})), {-1, 1}, 1e-5);
  EXPECT_TRUE(norm.buffers().empty());
}

TEST(BatchNorm, RefusesAnInputWithoutChangingItsStatistics) {
  BatchNorm1d norm(2);
  EXPECT_THAT(message_of<ShapeError>([&] {
                norm(ones({3, 4}));
              }),
              HasSubstr("BatchNorm1d: the input has shape [3, 4]"));
  EXPECT_THROW(norm(ones({2})), ShapeError);
  EXPECT_THROW(norm(ones({2, 2, 3, 3})), ShapeError);
  EXPECT_THAT(message_of<InvalidArgumentError>([&] { norm(ones({1, 2})); }), HasSubstr("train with a larger batch"));
  EXPECT_EQ(norm.num_batches_tracked().item<int64_t>(), 0);
  EXPECT_THAT(values(norm.running_mean()), Each(0));
  EXPECT_THROW(BatchNorm1d(0), InvalidArgumentError);
}

TEST(BatchNorm, InEvaluationNeedsRunningStatistics) {
  EXPECT_THAT(message_of<InvalidArgumentError>([] {
                batch_norm(ones({2, 3}), {}, {});
              }),
              HasSubstr("batch_norm: evaluation needs running_mean [3]"));
  EXPECT_THROW(batch_norm(ones({2, 3}), ones({2}), ones({3})), ShapeError);
}

// A frozen layer in a network that is trained below it.
TEST(BatchNorm, InEvaluationDoesNotKeepItsInputForTheInputsGradient) {
  BatchNorm1d norm(4);
  norm.eval();
  norm.requires_grad_(false);
  Tensor leaf = ones({64, 4}).requires_grad_();
  const int64_t before = memory_allocated();
  Tensor y;
  {
    const Tensor x = leaf * 2;
    y = norm(x);
  }
  EXPECT_LE(memory_allocated() - before, y.nbytes() + 512);  // the factor 2 has a block of its own
  y.sum().backward();
  expect_near(leaf.grad().select(0, 0), {2, 2, 2, 2}, 1e-4);
}

TEST(BatchNorm, InHalfPrecisionMovesItsStatisticsInHalf) {
  BatchNorm1d norm(1, {.momentum = 0.5});
  norm.to(kFloat16);
  const Tensor y = norm(tensor({1.f, 3.f}).view({2, 1}).to(kFloat16));
  EXPECT_EQ(y.dtype(), kFloat16);
  EXPECT_EQ(norm.running_mean().dtype(), kFloat16);
  EXPECT_THAT(values(norm.running_mean()), ElementsAre(1));
  EXPECT_THAT(values(norm.running_var()), ElementsAre(1.5));
  EXPECT_EQ(norm.num_batches_tracked().dtype(), kInt64);
}

TEST(BatchNorm, RunningStatisticsFollowWithoutAHistory) {
  BatchNorm1d norm(1);
  const Tensor x = tensor({1.f, 3.f}).view({2, 1}).detach().requires_grad_();
  norm(x);
  EXPECT_FALSE(norm.running_mean().requires_grad());
  expect_near(norm.running_mean(), {0.2}, 1e-6);
  expect_near(norm.running_var(), {0.9 + 0.1 * 2}, 1e-6);
}

}  // namespace
}  // namespace vellum::nn
