#ifndef VELLUM_NN_DATA_DATA_LOADER_H_
#define VELLUM_NN_DATA_DATA_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "vellum/nn/data/tensor_dataset.h"

namespace vellum::data {

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;       // of the loader's own random sequence; the default generator is not touched
};

// Cuts a dataset into batches, an epoch for each loop:
//
//   for (const data::Batch& batch : loader) loss = cross_entropy(model(batch.data), batch.target);
//
// With shuffle, each epoch has its own order, a function of seed, epoch and the number of samples alone. One batch is
// alive at a time unless the loop keeps it. Not thread-safe.
class DataLoader {
 public:
  class Iterator;

  // Throws InvalidArgumentError when batch_size is not positive.
  explicit DataLoader(TensorDataset dataset, const DataLoaderOptions& options = {});

  int64_t size() const;  // batches in an epoch
  const TensorDataset& dataset() const { return dataset_; }
  // Epochs begun so far.
  uint64_t epoch() const { return epoch_; }

  // Begins the next epoch. The loader must outlive the iterator.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  Tensor order_of(uint64_t epoch) const;

  TensorDataset dataset_;
  DataLoaderOptions options_;
  uint64_t epoch_ = 0;
};

class DataLoader::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  const Batch& operator*() const { return batch_; }
  const Batch* operator->() const { return &batch_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.position_ == it.loader_->size(); }

 private:
  friend class DataLoader;
  Iterator(const DataLoader* loader, Tensor order);
  void load();

  const DataLoader* loader_;
  Tensor order_;  // int64 [samples]
  int64_t position_ = 0;
  Batch batch_;
};

}  // namespace vellum::data

#endif  // VELLUM_NN_DATA_DATA_LOADER_H_
