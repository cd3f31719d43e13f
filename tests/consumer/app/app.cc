// Trains a small network through Vellum's public API, in a workspace that has an "nn/module.h" of its own.

#include <cstdio>

#include "nn/module.h"
#include "vellum/nn/module.h"
#include "vellum/vellum.h"

int main() {
  const consumer::Module config;
  vellum::manual_seed(0);
  const vellum::Tensor x = vellum::randn({64, 4});
  const vellum::Tensor y = vellum::matmul(x, vellum::randn({4, 1}));

  vellum::nn::Sequential model(vellum::nn::Linear(4, config.hidden), vellum::nn::ReLU(),
                               vellum::nn::Linear(config.hidden, 1));
  vellum::optim::SGD optimizer(model.parameters(), {.lr = 0.05});

  float first = 0;
  float last = 0;
  for (int step = 0; step < config.steps; ++step) {
    optimizer.zero_grad();
    const vellum::Tensor loss = vellum::mean(vellum::pow(model.forward(x) - y, 2));
    loss.backward();
    optimizer.step();
    last = loss.item<float>();
    if (step == 0) first = last;
  }
  std::printf("loss: %g at first, %g after %d steps\n", first, last, config.steps);
  return last < first / 10 ? 0 : 1;
}
