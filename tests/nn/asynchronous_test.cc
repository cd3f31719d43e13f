// A training loop on a device that works later is the loop on one that works at once: nothing between the operators
// looks at values too early or enqueues where nobody waits.

#include "vellum/nn/activation.h"
#include "vellum/nn/batch_norm.h"
#include "vellum/nn/data/data_loader.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/sequential.h"
#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/fakes/sim.h"
#include "vellum/tests/nn/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

// The losses of two epochs of a net with state of all kinds, and a weight at the end.
std::vector<float> train(Device device) {
  manual_seed(5);
  const Tensor x = pattern({24, 3}).to(device, kFloat32), y = arange(24, device).remainder(4);
  nn::Sequential model(nn::Linear(3, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Dropout(0.25), nn::Linear(8, 4));
  model.to(device);
  optim::AdamW optimizer(model.parameters(), {.lr = 0.05, .weight_decay = 0.1});
  data::DataLoader loader(data::TensorDataset(x, y), {.batch_size = 8, .shuffle = true, .seed = 3});
  std::vector<float> results;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const data::Batch& batch : loader) {
      optimizer.zero_grad();
      const Tensor loss = nn::functional::cross_entropy(model(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      results.push_back(loss.item<float>());
    }
  results.push_back(model.parameters()[0][0][0].item<float>());
  return results;
}

class AsynchronousTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(AsynchronousTraining, GivesTheNumbersOfImmediateTraining) {
  const Device device(GetParam());
  std::vector<float> expected;
  {
    const sim::ModeScope immediate(sim::Mode::kImmediate);
    expected = train(device);
  }
  ASSERT_EQ(expected.size(), 7u);
  ASSERT_NE(expected[0], expected[5]);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const sim::ModeScope mode(seed == 0 ? sim::Mode::kManual : sim::Mode::kRandom, seed);
    const sim::Gate gate = sim::hold({device, 0});
    const StreamGuard stream(create_stream(device));
    EXPECT_EQ(train(device), expected) << "seed " << seed;
    sim::reset(device);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AsynchronousTraining, ::testing::Values("sim", "bare"),
                         [](const auto& info) { return std::string(info.param); });

TEST(AsynchronousFiles, HoldWhatWasQueuedWhenTheyWereWritten) {
  const Device device("sim");
  const sim::ModeScope mode(sim::Mode::kManual);
  const sim::Gate gate = sim::hold({device, 0});
  const StreamGuard stream(create_stream(device));
  const std::string path = ::testing::TempDir() + "/asynchronous.safetensors";
  const Tensor x = arange(6, TensorOptions(kFloat32, device)).reshape({2, 3});
  safetensors::save_file(path, {{"x", x + x}, {"y", (x * 3).t()}});
  const std::map<std::string, Tensor> loaded = safetensors::load_file(path, device);
  EXPECT_EQ(values(loaded.at("x")), values(x * 2));
  EXPECT_EQ(values(loaded.at("y")), values(x.t() * 3));
  sim::reset(device);
}

}  // namespace
}  // namespace vellum
