// Whole training loops. Goldens are from goldens/losses.py.

#include "vellum/nn/activation.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/nn/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

nn::Sequential patterned_model() {
  nn::Sequential model(nn::Linear(3, 5, {.dtype = kFloat64}), nn::ReLU(), nn::Linear(5, 4, {.dtype = kFloat64}));
  const NoGradGuard no_grad;
  for (Tensor& p : model.parameters()) p.copy_(pattern(p.shape()));
  return model;
}

std::vector<double> losses_of(nn::Module& model, optim::Optimizer& optimizer) {
  const Tensor x = pattern({6, 3}), y = tensor<int64_t>({0, 1, 2, 3, 0, 1});
  std::vector<double> losses;
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item());
  }
  return losses;
}

TEST(Training, FollowsPyTorchWithSGD) {
  nn::Sequential model = patterned_model();
  optim::SGD optimizer(model.parameters(), {.lr = 0.3, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  EXPECT_THAT(losses_of(model, optimizer),
              Pointwise(DoubleNear(1e-12),
                        {1.325644923834747, 1.2242586729634783, 1.1317520766266342, 1.0403792086832253,
                         0.94031481000223849, 0.83653917646662534, 0.73910809331368243, 0.68351434530619137}));
}

TEST(Training, FollowsPyTorchWithAdamW) {
  nn::Sequential model = patterned_model();
  optim::AdamW optimizer(model.parameters(), {.lr = 0.05, .weight_decay = 0.1});
  EXPECT_THAT(losses_of(model, optimizer),
              Pointwise(DoubleNear(1e-12),
                        {1.325644923834747, 1.2195884848542653, 1.1315671986171321, 1.0503803321854119,
                         0.97395421941582871, 0.90441497813255312, 0.84251665885501137, 0.79221719826118253}));
}

TEST(Training, HoldsTheSameBytesAfterEveryStep) {
  const int64_t before = live_bytes();
  {
    nn::Sequential model(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 1));
    optim::SGD optimizer(model.parameters(), {.lr = 0.05});
    const Tensor x = randn({64, 4}), y = randn({64, 1});
    std::vector<int64_t> held;
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      const Tensor loss = nn::functional::mse_loss(model(x), y);
      loss.backward();
      optimizer.step();
      held.push_back(live_bytes());
    }
    EXPECT_THAT(held, ::testing::Each(held[0]));
  }
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace vellum
