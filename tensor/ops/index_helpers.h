#ifndef VELLUM_TENSOR_OPS_INDEX_HELPERS_H_
#define VELLUM_TENSOR_OPS_INDEX_HELPERS_H_

#include "vellum/tensor/ops/helpers.h"

// What the operators share that write by an index: self, index, source.

namespace vellum::internal {

void check_index_dtype(const OpCall& call, int i);
// That of self, which the source must have too.
DTypes self_dtypes(const OpCall& call);

template <typename Attrs>
Tensor indexed_write(OpSlot& slot, const Tensor& self, const Tensor& index, const Tensor& source, const Attrs& attrs) {
  return call(slot, {&self, &index, &source}, &attrs);
}

template <typename Attrs>
Tensor& indexed_write_(OpSlot& slot, Tensor& self, const Tensor& index, const Tensor& source, const Attrs& attrs) {
  return write_self(slot, self, {&self, &index, &source}, &attrs);
}

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_OPS_INDEX_HELPERS_H_
