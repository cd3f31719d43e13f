#ifndef VELLUM_EXAMPLES_DIGITS_TRAINING_H_
#define VELLUM_EXAMPLES_DIGITS_TRAINING_H_

#include <cstdint>
#include <functional>

#include "vellum/examples/digits_data.h"
#include "vellum/nn/data/data_loader.h"
#include "vellum/nn/module.h"
#include "vellum/nn/optim/optimizer.h"
#include "vellum/nn/sequential.h"

// How the example trains. Nothing here reads a value, so all of it can be predicted.

namespace vellum::digits {

struct TrainingOptions {
  int epochs = 30;
  int batch_size = 32;
  double lr = 5e-3;  // at first; it falls to 0 along a cosine
  uint64_t seed = 0;
};

// Takes images [n, kPixels], float32.
nn::Sequential make_model();

// One step of training. Returns the mean loss of the batch.
Tensor train_step(nn::Module& model, optim::Optimizer& optimizer, const data::Batch& batch);

// The share of a dataset's images that the model knows.
Tensor accuracy(nn::Module& model, const data::TensorDataset& dataset);

// What is told while training. Reading the tensors is up to the listener.
struct Listener {
  std::function<void(const Tensor& loss, int64_t images)> step = [](const Tensor&, int64_t) {};
  std::function<void(int epoch)> trained = [](int) {};                                       // before the evaluation
  std::function<void(int epoch, const Tensor& accuracy)> epoch = [](int, const Tensor&) {};  // on held-out images
};

// Makes a model and trains it.
void train(const Digits& digits, const TrainingOptions& options, const Listener& listener = {});

}  // namespace vellum::digits

#endif  // VELLUM_EXAMPLES_DIGITS_TRAINING_H_
