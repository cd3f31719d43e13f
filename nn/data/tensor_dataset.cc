#include "vellum/nn/data/tensor_dataset.h"

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::data {

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) throw_error<InvalidArgumentError>("TensorDataset: at least one tensor is needed");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& t = tensors_[i];
    if (!t.defined()) throw_error<InvalidArgumentError>("TensorDataset: tensor ", i, " is undefined");
    if (t.dim() == 0)
      throw_error<ShapeError>("TensorDataset: tensor ", i, " has rank 0; the first dimension must be the samples");
    if (t.size(0) != size())
      throw_error<ShapeError>("TensorDataset: the numbers of samples differ: tensor 0 is ", tensors_[0].shape(),
                              ", tensor ", i, " is ", t.shape(), " (", size(), " != ", t.size(0), ")");
  }
}

Batch TensorDataset::select(const Tensor& indices) const {
  Batch batch;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor rows = index_select(tensors_[i], 0, indices.to(tensors_[i].device()));
    if (i == 0)
      batch.data = std::move(rows);
    else if (i == 1)
      batch.target = std::move(rows);
    else
      batch.more.push_back(std::move(rows));
  }
  return batch;
}

}  // namespace vellum::data
