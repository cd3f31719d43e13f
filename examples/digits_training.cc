#include "vellum/examples/digits_training.h"

#include <cmath>
#include <numbers>

#include "vellum/autograd/grad_mode.h"
#include "vellum/device/thread_state.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/tensor/generator.h"

namespace vellum::digits {

nn::Sequential make_model() {
  return nn::Sequential(nn::Linear(kPixels, 128), nn::ReLU(), nn::Dropout(0.2),  //
                        nn::Linear(128, 64), nn::ReLU(), nn::Dropout(0.2),       //
                        nn::Linear(64, kClasses));
}

Tensor train_step(nn::Module& model, optim::Optimizer& optimizer, const data::Batch& batch) {
  optimizer.zero_grad();
  const Tensor loss = nn::functional::cross_entropy(model(batch.data), batch.target);
  loss.backward();
  const AnnotationScope label(Annotation::Kind::kUser, "optimizer");
  optimizer.step();
  return loss;
}

Tensor accuracy(nn::Module& model, const data::TensorDataset& dataset) {
  const NoGradGuard no_grad;
  model.eval();
  const Tensor predicted = model(dataset.tensors()[0]).argmax(1);
  return mean(predicted.eq(dataset.tensors()[1]).to(kFloat32));
}

void train(const Digits& digits, const TrainingOptions& options, const Listener& listener) {
  manual_seed(options.seed);
  nn::Sequential model = make_model();
  optim::AdamW optimizer(model.parameters(), {.lr = options.lr});
  data::DataLoader loader(digits.train, {.batch_size = options.batch_size, .shuffle = true, .seed = options.seed});
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    optimizer.set_learning_rate(options.lr * (1 + std::cos(std::numbers::pi * epoch / options.epochs)) / 2);
    model.train();
    for (const data::Batch& batch : loader) listener.step(train_step(model, optimizer, batch), batch.target.numel());
    listener.trained(epoch);
    listener.epoch(epoch, accuracy(model, digits.held_out));
  }
}

}  // namespace vellum::digits
