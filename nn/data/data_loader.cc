#include "vellum/nn/data/data_loader.h"

#include <algorithm>
#include <numeric>

#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::data {

DataLoader::DataLoader(TensorDataset dataset, const DataLoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  if (options_.batch_size <= 0)
    throw_error<InvalidArgumentError>("DataLoader: batch_size must be positive, it is ", options_.batch_size);
}

int64_t DataLoader::size() const {
  const int64_t samples = dataset_.size(), batch = options_.batch_size;
  return samples / batch + (!options_.drop_last && samples % batch != 0);
}

Tensor DataLoader::order_of(uint64_t epoch) const {
  std::vector<int64_t> order(static_cast<size_t>(dataset_.size()));
  std::iota(order.begin(), order.end(), 0);
  if (options_.shuffle) {
    // Fisher-Yates. Each epoch has a range of counters to itself; of 64-bit draws a remainder is as good as even.
    Generator draws(options_.seed);
    draws.set_state({options_.seed, epoch << 40});
    for (size_t i = order.size(); i > 1; --i) {
      const RandomState at = draws.reserve(4);
      const auto lanes = philox(at.seed, at.offset / 4);
      std::swap(order[i - 1], order[(uint64_t{lanes[0]} << 32 | lanes[1]) % i]);
    }
  }
  return tensor(order, TensorOptions(kInt64, dataset_.tensors()[0].device()));
}

DataLoader::Iterator DataLoader::begin() { return Iterator(this, order_of(epoch_++)); }

DataLoader::Iterator::Iterator(const DataLoader* loader, Tensor order) : loader_(loader), order_(std::move(order)) {
  load();
}

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  ++position_;
  batch_ = {};  // before the next one is made
  load();
  return *this;
}

void DataLoader::Iterator::load() {
  if (*this == std::default_sentinel) return;
  const int64_t first = position_ * loader_->options_.batch_size;
  const int64_t last = std::min(first + loader_->options_.batch_size, loader_->dataset_.size());
  batch_ = loader_->dataset_.select(order_.slice(0, first, last));
}

}  // namespace vellum::data
