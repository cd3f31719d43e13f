#ifndef VELLUM_NN_DATA_TENSOR_DATASET_H_
#define VELLUM_NN_DATA_TENSOR_DATASET_H_

#include <concepts>
#include <span>
#include <vector>

#include "vellum/tensor/tensor.h"

namespace vellum::data {

// Some samples of a dataset, copied: `data` holds the rows of its first tensor, `target` those of the second (undefined
// when there is none), `more` those of the rest.
struct Batch {
  Tensor data;
  Tensor target;
  std::vector<Tensor> more;
};

// Tensors whose first dimensions are the samples: row i of each belongs together. Shares the tensors.
class TensorDataset {
 public:
  // Throws InvalidArgumentError without tensors or for an undefined one, ShapeError for a tensor of rank 0 or when the
  // first dimensions differ.
  explicit TensorDataset(std::vector<Tensor> tensors);
  template <std::same_as<Tensor>... More>
  explicit TensorDataset(Tensor data, More... more) : TensorDataset(std::vector<Tensor>{data, more...}) {}

  int64_t size() const { return tensors_[0].size(0); }  // samples
  Device device() const { return tensors_[0].device(); }
  std::span<const Tensor> tensors() const { return tensors_; }
  // The rows that `indices` [n], int64, names, in its order.
  Batch select(const Tensor& indices) const;

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace vellum::data

#endif  // VELLUM_NN_DATA_TENSOR_DATASET_H_
