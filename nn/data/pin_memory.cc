#include "vellum/nn/data/pin_memory.h"

namespace vellum::data {

Tensor pin_memory(const Tensor& tensor, Device device) {
  return tensor.defined() ? tensor.pin_memory(device) : Tensor();
}

Batch pin_memory(const Batch& batch, Device device) {
  return {pin_memory(batch.data, device), pin_memory(batch.target, device), pin_memory(batch.more, device)};
}

}  // namespace vellum::data
