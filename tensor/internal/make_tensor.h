#ifndef VELLUM_TENSOR_INTERNAL_MAKE_TENSOR_H_
#define VELLUM_TENSOR_INTERNAL_MAKE_TENSOR_H_

#include "vellum/tensor/tensor.h"

namespace vellum::internal {

// A fresh row-major tensor with undetermined contents.
Tensor make_contiguous(std::span<const int64_t> shape, DType dtype, Device device);

// The same in the pinned host memory that `device` copies from and to; it is on the CPU.
Tensor make_pinned(std::span<const int64_t> shape, DType dtype, Device device);

// A 0-dimensional tensor on the CPU; the value is converted as Scalar::to does.
Tensor make_number(const Scalar& value, DType dtype);

// A tensor with this geometry over a storage, which gets one more reference. No base, no history.
Tensor make_alias(Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset,
                  DType dtype);

// A view of `source`: an alias that knows its base and how it was made.
Tensor make_view(const Tensor& source, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset,
                 DType dtype, bool multi_output);

// The same bytes and geometry without history, flags or name.
Tensor shallow_alias(const Tensor& source);
// The same for one that only a node of the graph will hold, where the ledger finds it.
Tensor untracked_alias(const Tensor& source);

// Makes `to` refer to the memory of `from`, with its geometry, dtype and device. A view is none after that.
void replace_memory(TensorImpl& to, const TensorImpl& from);

// Copies the elements of a row-major tensor into another of the same dtype and size on any device. The host waits for
// copies between itself and a device, unless `non_blocking` and its side is pinned memory of that device.
void copy_bytes(const Tensor& to, const Tensor& from, bool non_blocking = false);

// Fills in place without recording or version bump, for fresh tensors.
void fill_fresh(Tensor& t, const Scalar& value);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_MAKE_TENSOR_H_
