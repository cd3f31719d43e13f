#ifndef VELLUM_TENSOR_OPS_REDUCE_HELPERS_H_
#define VELLUM_TENSOR_OPS_REDUCE_HELPERS_H_

#include <algorithm>
#include <complex>
#include <vector>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/reference_helpers.h"

// What the definitions of reductions share. Attribute structs begin with their ReduceAttrs or DimAttrs.

namespace vellum::internal {

inline bool is_reduced(const ReduceAttrs& a, int dim) { return a.dims >> dim & 1; }
Dims reduced_shape(const Dims& shape, const ReduceAttrs& a, bool keepdim);
int64_t reduced_count(const Dims& shape, const ReduceAttrs& a);  // elements that one output is made of

// Fields of a reduction's OpDef.
void infer_reduction(Inference& call);
void infer_reduction_of_some(Inference& call);  // throws ShapeError when an output would be made of no elements
uint32_t reduced_dims(const OpCall& call);
DTypes widened_dtypes(const OpCall& call);  // what `dtype` says; else integers become int64
DTypes real_dtypes(const OpCall& call);     // the output is real

// A reduced tensor with sizes of 1 where dimensions went, so that it broadcasts against the input.
Tensor with_kept_dims(const Tensor& reduced, const Dims& shape, const ReduceAttrs& a);
// Sums, and means, over the reduced dimensions, which stay. A scalar is its own.
Tensor sum_kept(const Tensor& x, const ReduceAttrs& a);
Tensor mean_kept(const Tensor& x, const ReduceAttrs& a);

// `dims` as a bit mask; an empty list means all. Throws IndexError naming `op`.
ReduceAttrs reduce_attrs(const char* op, const Tensor& x, const Dims& dims, bool keepdim,
                         DType dtype = DType::kUndefined);
// Calls a slot whose attributes are these.
template <typename Attrs>
Tensor& call_into(OpSlot& slot, Tensor& out, const Tensor& x, const Attrs& attrs) {
  const Tensor* inputs[] = {&x};
  call_out(slot, out, inputs, &attrs);
  return out;
}
template <typename Attrs>
std::pair<Tensor, Tensor> call_pair(OpSlot& slot, const Tensor& x, const Attrs& attrs) {
  const Tensor* inputs[] = {&x};
  std::vector<Tensor> outputs = call_all(slot, inputs, &attrs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}
template <typename Attrs>
std::pair<Tensor&, Tensor&> call_pair_into(OpSlot& slot, Tensor& first, Tensor& second, const Tensor& x,
                                           const Attrs& attrs) {
  Tensor* const outs[] = {&first, &second};
  const Tensor* inputs[] = {&x};
  call_out_all(slot, outs, inputs, &attrs);
  return {first, second};
}

// --- References.

// The elements of each output position, in row-major order.
std::vector<std::vector<reference::Complex>> reduced_groups(const RefCall& call);
// One output with the value f(elements) at each position.
template <typename F>
std::vector<RefTensor> reduce_reference(const RefCall& call, F f) {
  const auto& a = call.attributes<ReduceAttrs>();
  RefTensor out = reference::zeros(reduced_shape(call.inputs[0].shape, a, a.keepdim), call.inputs[0].dtype);
  const auto groups = reduced_groups(call);
  for (size_t i = 0; i < groups.size(); ++i) out.values[i] = f(groups[i]);
  return {out};
}

// Calls f(at, line) for each line along a dimension of `shape`: at(k) is the position of its element k.
template <typename F>
void for_lines(const Dims& shape, int dim, F f) {
  const reference::Split3 s(shape, dim);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i)
      f([&s, o, i](int64_t k) { return static_cast<size_t>((o * s.n + k) * s.inner + i); },
        static_cast<size_t>(o * s.inner + i));
}

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_OPS_REDUCE_HELPERS_H_
