// Predictions of whole programs are exact: the same bytes as the run from an empty pool, under every strategy.

#include "vellum/examples/digits_training.h"
#include "vellum/tests/memory/predict_testing.h"

namespace vellum {
namespace {

using testing::expect_exact;

nn::Sequential make_mlp() {
  return nn::Sequential(nn::Linear(300, 500), nn::ReLU(), nn::Linear(500, 200), nn::ReLU(), nn::Linear(200, 10));
}

template <typename Optimizer, typename Options>
void train_mlp(const Options& options) {
  nn::Sequential model = make_mlp();
  Optimizer optimizer(model.parameters(), options);
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    mse_loss(model(randn({200, 300})), randn({200, 10})).backward();
    optimizer.step();
  }
}

TEST(PredictedProgram, DigitsExample) {
  const digits::Digits digits = digits::read_digits("examples/data/digits.csv.gz");
  expect_exact([&] { digits::train(digits, {.epochs = 2}); });
}

TEST(PredictedProgram, DigitsExampleWithOtherBatches) {
  const digits::Digits digits = digits::read_digits("examples/data/digits.csv.gz");
  for (const int batch_size : {1, 500, 2000}) {
    SCOPED_TRACE(batch_size);
    expect_exact([&] {
      nn::Sequential model = digits::make_model();
      optim::AdamW optimizer(model.parameters());
      data::DataLoader loader(digits.train, {.batch_size = batch_size, .shuffle = true});
      int steps = 0;
      for (const data::Batch& batch : loader) {
        digits::train_step(model, optimizer, batch);
        if (++steps == 4) break;
      }
    });
  }
}

TEST(PredictedProgram, SGD) {
  expect_exact([] { train_mlp<optim::SGD>(optim::SGDOptions{.lr = 1e-3}); });
  expect_exact([] {
    train_mlp<optim::SGD>(optim::SGDOptions{.lr = 1e-3, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  });
}

TEST(PredictedProgram, AdamW) {
  expect_exact([] { train_mlp<optim::AdamW>(optim::AdamWOptions{}); });
}

TEST(PredictedProgram, InferenceOnAModelFromOutside) {
  nn::Sequential model = make_mlp();
  expect_exact([&] {
    const NoGradGuard no_grad;
    model(randn({1000, 300})).softmax(1);
  });
}

TEST(PredictedProgram, HalfPrecision) {
  for (const DType dtype : {kBFloat16, kFloat16}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_exact([dtype] {
      nn::Sequential model = make_mlp();
      model.to(dtype);
      model(randn({64, 300}, dtype)).sum().backward();
    });
  }
}

TEST(PredictedProgram, Normalizations) {
  expect_exact([] {
    nn::Sequential model(nn::Linear(100, 400), nn::BatchNorm1d(400), nn::ReLU(), nn::Dropout(0.5), nn::Linear(400, 400),
                         nn::LayerNorm({400}), nn::Linear(400, 3));
    optim::AdamW optimizer(model.parameters());
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      model(randn({333, 100})).square().mean().backward();
      optimizer.step();
    }
    const NoGradGuard no_grad;
    model.eval();
    model(randn({1000, 100}));
  });
}

TEST(PredictedProgram, EmbeddingAndCrossEntropy) {
  expect_exact([] {
    const Tensor table = randn({1000, 64}).requires_grad_();
    const Tensor words = arange(512).remainder(Scalar(1000)).view({32, 16});
    const Tensor scores = embedding(table, words).matmul(table.t());
    cross_entropy(scores.flatten(0, 1), words.flatten()).backward();
  });
}

TEST(PredictedProgram, ComplexLayers) {
  expect_exact([] {
    nn::Linear first(64, 128, {.dtype = kComplex64}), second(128, 8, {.dtype = kComplex64});
    optim::AdamW optimizer([&] {
      std::vector<Tensor> all = first.parameters();
      for (const Tensor& p : second.parameters()) all.push_back(p);
      return all;
    }());
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      const Tensor hidden = first(randn({100, 64}, kComplex64));
      const Tensor gated = hidden * hidden.abs().sigmoid();
      second(gated).abs().square().sum().backward();
      optimizer.step();
    }
  });
}

TEST(PredictedProgram, ViewsAndWritesInPlace) {
  expect_exact([] {
    const Tensor x = randn({300, 400}).requires_grad_();
    Tensor y = x * 2;
    y.slice(1, 0, 100).mul_(x.slice(1, 100, 200));
    y.select(0, 3).fill_(1);
    y.add_(y.mean({0}));
    y += y.transpose(0, 1).contiguous().transpose(0, 1);
    Tensor z = y.t().reshape({-1}).exp_();
    for (const Tensor& part : z.split(1000)) z = z + part.sum();
    z.sum().backward();
  });
}

TEST(PredictedProgram, SecondDerivatives) {
  expect_exact([] {
    const Tensor x = randn({200, 200}).requires_grad_();
    const Tensor y = x.matmul(x).tanh().sum();
    const Tensor first = grad({y}, {x}, {}, {.create_graph = true})[0];
    first.square().sum().backward();
  });
}

TEST(PredictedProgram, SortingIndexingAndRandomNumbers) {
  expect_exact([] {
    const Tensor x = randn({500, 300});
    const auto [values, order] = x.sort(1);
    const Tensor best = x.topk(10).first;
    const Tensor picked = x.index({randperm(500), Slice{0, 100}});
    Tensor sums = zeros({500, 300});
    sums.scatter_add_(1, order, values);
    sums.index_put_({order.select(0, 0).remainder(Scalar(500))}, best.select(0, 0).sum());
    dropout(cat({picked, sums}, 1), 0.3).cumsum(1);
  });
}

TEST(PredictedProgram, MemoryGivenBackInBetween) {
  expect_exact([] {
    for (int round = 0; round < 3; ++round) {
      const Tensor large = empty({1000, 1000 * (round + 1)});
      for (int i = 0; i < 50; ++i) empty({1000 + 317 * i}).exp();
      empty_cache();
    }
  });
}

}  // namespace
}  // namespace vellum
