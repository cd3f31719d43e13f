#ifndef VELLUM_NN_DATA_DATA_LOADER_H_
#define VELLUM_NN_DATA_DATA_LOADER_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "vellum/allocator/pinned.h"
#include "vellum/nn/data/pin_memory.h"
#include "vellum/nn/data/tensor_dataset.h"

namespace vellum::data {

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;       // of the loader's own random sequence; the default generator is not touched
  // Batches come in page-locked host memory, from which to(device, true) copies while the host goes on. The dataset is
  // then on the CPU.
  bool pin_memory = false;
  std::optional<Device> pin_memory_device = {};  // default: see default_pinning_device()
};

// What a loader cuts into batches: size() samples; select(indices) makes a batch, of any type, of those that an int64
// tensor [n] names. It is on the CPU, or on device() where the dataset has that.
template <typename T>
concept Dataset = requires(const T& dataset, const Tensor& indices) {
  { dataset.size() } -> std::convertible_to<int64_t>;
  dataset.select(indices);
};

namespace internal {
// Throws InvalidArgumentError when batch_size is not positive.
void check_options(const DataLoaderOptions& options);
// The samples of an epoch in their order: int64 [samples].
Tensor epoch_order(const DataLoaderOptions& options, int64_t samples, uint64_t epoch);
}  // namespace internal

// Cuts a dataset into batches, an epoch for each loop:
//
//   data::DataLoader loader(dataset, {.batch_size = 32, .shuffle = true});
//   for (const data::Batch& batch : loader) loss = cross_entropy(model(batch.data), batch.target);
//
// With shuffle, each epoch has its own order, a function of seed, epoch and the number of samples alone. One batch is
// alive at a time unless the loop keeps it. Not thread-safe.
template <Dataset D>
class BasicDataLoader {
 public:
  using Batch = decltype(std::declval<const D&>().select(std::declval<const Tensor&>()));
  static_assert(Pinnable<Batch>,
                "a batch type needs a function `Batch pin_memory(const Batch&, vellum::Device)` in its own namespace, "
                "which pins every tensor of the batch: see nn/data/pin_memory.h");
  class Iterator;

  // Throws InvalidArgumentError when batch_size is not positive.
  explicit BasicDataLoader(D dataset, const DataLoaderOptions& options = {})
      : dataset_(std::move(dataset)), options_(options) {
    internal::check_options(options);
  }

  int64_t size() const {  // batches in an epoch
    const int64_t samples = dataset_.size(), batch = options_.batch_size;
    return samples / batch + (!options_.drop_last && samples % batch != 0);
  }
  const D& dataset() const { return dataset_; }
  // Epochs begun so far.
  uint64_t epoch() const { return epoch_; }

  // Begins the next epoch. The loader must outlive the iterator.
  Iterator begin() {
    Tensor order = internal::epoch_order(options_, dataset_.size(), epoch_++);
    if constexpr (requires { dataset_.device(); }) order = order.to(dataset_.device());
    return Iterator(this, std::move(order));
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  Batch load(const Tensor& indices) const {
    if (!options_.pin_memory) return dataset_.select(indices);
    return pin_memory(dataset_.select(indices), options_.pin_memory_device.value_or(default_pinning_device()));
  }

  D dataset_;
  DataLoaderOptions options_;
  uint64_t epoch_ = 0;
};

template <Dataset D>
class BasicDataLoader<D>::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  const Batch& operator*() const { return *batch_; }
  const Batch* operator->() const { return &*batch_; }
  Iterator& operator++() {
    ++position_;
    batch_.reset();  // before the next one is made
    load();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.position_ == it.loader_->size(); }

 private:
  friend class BasicDataLoader;
  Iterator(const BasicDataLoader* loader, Tensor order) : loader_(loader), order_(std::move(order)) { load(); }

  void load() {
    if (*this == std::default_sentinel) return;
    const int64_t first = position_ * loader_->options_.batch_size;
    const int64_t last = std::min(first + loader_->options_.batch_size, order_.size(0));
    batch_ = loader_->load(order_.slice(0, first, last));
  }

  const BasicDataLoader* loader_;
  Tensor order_;
  int64_t position_ = 0;
  std::optional<Batch> batch_;
};

using DataLoader = BasicDataLoader<TensorDataset>;

}  // namespace vellum::data

#endif  // VELLUM_NN_DATA_DATA_LOADER_H_
