#include "vellum/tensor/ops/reduce_helpers.h"

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::internal {
namespace {

Dims listed(const ReduceAttrs& a, int rank) {
  Dims dims;
  for (int i = 0; i < rank; ++i)
    if (is_reduced(a, i)) dims.push_back(i);
  return dims;
}

}  // namespace

Dims reduced_shape(const Dims& shape, const ReduceAttrs& a, bool keepdim) {
  Dims out;
  for (int i = 0; i < shape.size(); ++i) {
    if (!is_reduced(a, i))
      out.push_back(shape[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

int64_t reduced_count(const Dims& shape, const ReduceAttrs& a) {
  int64_t count = 1;
  for (int i = 0; i < shape.size(); ++i)
    if (is_reduced(a, i)) count *= shape[i];
  return count;
}

void infer_reduction(Inference& call) {
  const auto& a = call.attributes<ReduceAttrs>();
  call.add_output(reduced_shape(call.input(0).shape(), a, a.keepdim));
}

void infer_reduction_of_some(Inference& call) {
  const auto& a = call.attributes<ReduceAttrs>();
  const Dims shape = call.input(0).shape();
  if (reduced_count(shape, a) == 0 && numel_of(reduced_shape(shape, a, true)) > 0)
    throw_error<ShapeError>(call.op.name, ": shape ", shape,
                            " has no elements along the reduced dimensions, and there is no identity to return");
  infer_reduction(call);
}

uint32_t reduced_dims(const OpCall& call) { return call.attributes<ReduceAttrs>().dims; }

DTypes widened_dtypes(const OpCall& call) {
  const DType asked = call.attributes<ReduceAttrs>().dtype;
  if (asked != DType::kUndefined) return {asked, asked};
  const DType t = call.input(0).dtype();
  return {t, is_integral(t) ? kInt64 : t};
}

DTypes real_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::same(call);
  return {types.compute, to_real(types.compute)};
}

Tensor with_kept_dims(const Tensor& reduced, const Dims& shape, const ReduceAttrs& a) {
  return a.keepdim || a.dims == 0 ? reduced : reduced.reshape(reduced_shape(shape, a, true));
}

Tensor sum_kept(const Tensor& x, const ReduceAttrs& a) {
  const Dims dims = listed(a, x.dim());
  return dims.empty() ? x : sum(x, dims, true);
}

Tensor mean_kept(const Tensor& x, const ReduceAttrs& a) {
  const Dims dims = listed(a, x.dim());
  return dims.empty() ? x : mean(x, dims, true);
}

ReduceAttrs reduce_attrs(const char* op, const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  ReduceAttrs attrs{0, keepdim, dtype};
  for (const int64_t d : dims) {
    const uint32_t bit = 1u << wrap_dim(op, d, x.dim());
    if (attrs.dims & bit) throw_error<IndexError>(op, ": dimension ", d, " is named twice in ", dims);
    attrs.dims |= bit;
  }
  const uint32_t all = (1u << x.dim()) - 1;
  attrs.dims = dims.empty() ? all : attrs.dims & all;
  return attrs;
}

std::vector<std::vector<reference::Complex>> reduced_groups(const RefCall& call) {
  const auto& a = call.attributes<ReduceAttrs>();
  const RefTensor& x = call.inputs[0];
  const Dims kept = reduced_shape(x.shape, a, true);
  Dims strides = contiguous_strides(kept);
  for (int i = 0; i < x.shape.size(); ++i)
    if (is_reduced(a, i)) strides[i] = 0;
  std::vector<std::vector<reference::Complex>> groups(static_cast<size_t>(numel_of(kept)));
  for (size_t i = 0; i < x.values.size(); ++i)
    groups[static_cast<size_t>(reference::strided_index(static_cast<int64_t>(i), x.shape, strides))].push_back(
        x.values[i]);
  return groups;
}

}  // namespace vellum::internal
