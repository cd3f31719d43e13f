#include <numeric>
#include <optional>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tensor/view_geometry.h"

// t.index({...}): numbers, slices, None and ellipses are views; tensors of integers or of bool pick elements. The
// indexed dimensions are merged into one and the index tensors into one of positions along it, so that index_select,
// index_copy and index_add do the work, and its gradient.

namespace vellum {
namespace {

// --- flatten_index: positions in the row-major product of the indexed dimensions

void infer_flatten_index(Inference& call) {
  const Dims& sizes = call.attributes<ShapeAttrs>().shape;
  if (static_cast<int>(call.inputs.size()) != sizes.size())
    throw_error<ShapeError>("flatten_index: ", call.inputs.size(), " indices for the ", sizes.size(), " sizes ", sizes);
  shape_rules::equal(call);
}

DTypes index_dtypes(const OpCall& call) {
  for (const Tensor* t : call.inputs)
    if (t->dtype() != kInt64) throw_error<DTypeError>("flatten_index: indices must be int64, one is ", t->dtype());
  return {kInt64, kInt64};
}

constexpr OpDef kFlattenIndex{.name = "flatten_index",
                              .kind = OpKind::kGeneral,
                              .inputs = kVariadic,
                              .dtypes = index_dtypes,
                              .domain = kInt64,
                              .infer = infer_flatten_index,
                              .attrs = attrs_type<ShapeAttrs>,
                              .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                                const Dims& sizes = call.attributes<ShapeAttrs>().shape;
                                RefTensor out = reference::zeros(call.inputs[0].shape, kInt64);
                                for (size_t i = 0; i < out.values.size(); ++i)
                                  for (int d = 0; d < sizes.size(); ++d) {
                                    const double n = static_cast<double>(sizes[d]);
                                    const double at = call.inputs[static_cast<size_t>(d)].values[i].real();
                                    out.values[i] = out.values[i] * n + (at < 0 ? at + n : at);
                                  }
                                return {out};
                              }}};
OpSlot flatten_index_slot{kFlattenIndex, "indexing"};

// --- nonzero in two phases: the caller counts, then the operator fills

void infer_nonzero(Inference& call) {
  if (call.input(0).dtype() != kBool)
    throw_error<DTypeError>("nonzero: the operator takes bool, it is ", call.input(0).dtype(), "; use nonzero()");
  call.add_output({call.attributes<NonzeroAttrs>().count, call.input(0).dim()}, kInt64);
}

constexpr OpDef kNonzero{.name = "nonzero",
                         .kind = OpKind::kGeneral,
                         .dtypes = [](const OpCall&) -> DTypes {
                           return {kBool, kInt64};
                         },
                         .domain = kBool,
                         .infer = infer_nonzero,
                         .attrs = attrs_type<NonzeroAttrs>,
                         .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                           const RefTensor& x = call.inputs[0];
                           const Dims strides = contiguous_strides(x.shape);
                           const int64_t rank = x.shape.size();
                           RefTensor out = reference::zeros({call.attributes<NonzeroAttrs>().count, rank}, kInt64);
                           size_t at = 0;
                           for (size_t i = 0; i < x.values.size(); ++i)
                             for (int d = 0; x.values[i] != 0.0 && d < rank; ++d)
                               out.values[at++] =
                                   static_cast<double>(static_cast<int64_t>(i) / strides[d] % x.shape[d]);
                           return {out};
                         }}};
OpSlot nonzero_slot{kNonzero, "indexing"};

// --- The parts of an index

// What an index picks of a tensor: the views are made, the index tensors stand at the dimensions that they index.
struct Picked {
  Tensor view;
  std::vector<std::optional<Tensor>> indices;  // one entry a dimension of `view`
  bool any = false;
};

int dimensions_taken(const TensorIndex& i) {
  switch (i.kind) {
    case TensorIndex::Kind::kNumber:
    case TensorIndex::Kind::kSlice:
      return 1;
    case TensorIndex::Kind::kTensor:
      return i.tensor.dtype() == kBool ? i.tensor.dim() : 1;
    default:
      return 0;
  }
}

void check_mask(const Tensor& view, int d, const Tensor& mask) {
  for (int k = 0; k < mask.dim(); ++k)
    if (mask.size(k) != view.size(d + k))
      throw_error<IndexError>("index: the shape of the mask ", mask.shape(), " at index ", k,
                              " does not match the shape of the indexed tensor ", view.shape(), " at index ", d + k);
}

// Appends what one index tensor says of the dimensions from `d` on; a mask speaks of as many as it has.
void add_tensor_index(Picked& picked, int d, const Tensor& index) {
  picked.any = true;
  if (index.dtype() == kBool) {
    check_mask(picked.view, d, index);
    internal::check_shape_source("index", index);
    const Tensor where = nonzero(index);
    if (index.dim() == 0) {  // true: a new dimension of size 1, false: one of size 0
      picked.view = picked.view.unsqueeze(d);
      picked.indices.emplace_back(zeros({where.size(0)}, {kInt64, index.device()}));
      return;
    }
    for (int k = 0; k < index.dim(); ++k) picked.indices.emplace_back(where.select(1, k));
    return;
  }
  if (!is_integral(index.dtype()))
    throw_error<DTypeError>("index: tensors used as indices must be integers or bool, one is ", index.dtype());
  picked.indices.emplace_back(index.to(kInt64));
}

Picked pick(const Tensor& x, std::span<const TensorIndex> indices) {
  int taken = 0, ellipses = 0;
  for (const TensorIndex& i : indices) {
    taken += dimensions_taken(i);
    ellipses += i.kind == TensorIndex::Kind::kEllipsis;
  }
  if (ellipses > 1) throw_error<IndexError>("index: an index can only have a single ellipsis, there are ", ellipses);
  if (taken > x.dim())
    throw_error<IndexError>("index: too many indices, ", taken, " for shape ", x.shape(), " of rank ", x.dim());
  Picked picked{x, {}};
  const auto dimension = [&] { return static_cast<int>(picked.indices.size()); };
  for (const TensorIndex& i : indices) {
    switch (i.kind) {
      case TensorIndex::Kind::kNumber:
        picked.view = picked.view.select(dimension(), i.number);
        break;
      case TensorIndex::Kind::kSlice:
        picked.view = picked.view.slice(dimension(), i.slice.start, i.slice.stop, i.slice.step);
        picked.indices.emplace_back();
        break;
      case TensorIndex::Kind::kNone:
        picked.view = picked.view.unsqueeze(dimension());
        picked.indices.emplace_back();
        break;
      case TensorIndex::Kind::kEllipsis:
        picked.indices.resize(picked.indices.size() + static_cast<size_t>(x.dim() - taken));
        break;
      case TensorIndex::Kind::kTensor:
        add_tensor_index(picked, dimension(), i.tensor);
        break;
    }
  }
  picked.indices.resize(static_cast<size_t>(picked.view.dim()));
  return picked;
}

// --- Index tensors as positions along one merged dimension

// What an advanced index comes to: `view` has the indexed dimensions merged at `dim`; the positions along it have shape
// `batch`, which stands in their place in the result.
struct Merged {
  Tensor view;
  Tensor arranged;  // `view` before the merging: a view of what is indexed, its indexed dimensions side by side
  int dim = 0;
  Tensor positions;  // int64 [P]
  Dims batch;

  Dims result_shape() const {
    Dims shape = view.shape();
    shape.erase(dim);
    for (int i = 0; i < batch.size(); ++i) shape.insert(dim + i, batch[i]);
    return shape;
  }
};

Tensor flatten_indices(const std::vector<Tensor>& indices, const Dims& sizes, const Dims& batch) {
  std::vector<Tensor> expanded;
  std::vector<const Tensor*> inputs;
  for (const Tensor& t : indices) expanded.push_back(t.expand(batch));
  for (const Tensor& t : expanded) inputs.push_back(&t);
  const ShapeAttrs attrs{sizes};
  return call(flatten_index_slot, inputs, &attrs).reshape({-1});
}

// The batch stands where the indexed dimensions stood if they lie together, else in front, as in NumPy.
Merged merge(const Picked& picked) {
  Merged merged{picked.view, {}, 0, {}, {}};
  std::vector<Tensor> indices;
  Dims dims, sizes;
  for (int d = 0; d < picked.view.dim(); ++d) {
    const std::optional<Tensor>& index = picked.indices[static_cast<size_t>(d)];
    if (!index) continue;
    merged.batch = indices.empty() ? index->shape() : broadcast_shapes("index", merged.batch, index->shape());
    indices.push_back(index->device() == picked.view.device() ? *index : index->to(picked.view.device()));
    dims.push_back(d);
    sizes.push_back(picked.view.size(d));
  }
  merged.positions = flatten_indices(indices, sizes, merged.batch);
  merged.dim = static_cast<int>(dims[0]);
  if (dims.back() - dims[0] + 1 != dims.size()) {
    Dims order = dims;
    for (int d = 0; d < picked.view.dim(); ++d)
      if (!picked.indices[static_cast<size_t>(d)]) order.push_back(d);
    merged.view = picked.view.permute(order);
    merged.dim = 0;
  }
  merged.arranged = merged.view;
  if (dims.size() > 1) {
    Dims shape = merged.view.shape();
    shape[merged.dim] = numel_of(sizes);
    for (int i = 1; i < dims.size(); ++i) shape.erase(merged.dim + 1);
    merged.view = merged.view.reshape(shape);
  }
  return merged;
}

// The source of a write, one slice for each position.
Tensor source_for(const Merged& merged, const Tensor& values) {
  if (!is_broadcastable_to(values.shape(), merged.result_shape()))
    throw_error<ShapeError>("index_put_: values of shape ", values.shape(), " do not broadcast to the indexed shape ",
                            merged.result_shape());
  Dims shape = merged.view.shape();
  shape[merged.dim] = merged.positions.numel();
  return values.expand(merged.result_shape()).reshape(shape);
}

void put(Tensor target, const Merged& merged, const Tensor& source, bool accumulate) {
  if (accumulate)
    target.index_add_(merged.dim, merged.positions, source);
  else
    target.index_copy_(merged.dim, merged.positions, source);
}

void index_put(Tensor self, std::span<const TensorIndex> indices, const Tensor& values, bool accumulate) {
  const Picked picked = pick(self, indices);
  Tensor view = picked.view;
  const Tensor here = values.to(self.device(), self.dtype());
  if (!picked.any) {
    if (accumulate)
      view.add_(here);
    else
      view.copy_(here);
    return;
  }
  const Merged merged = merge(picked);
  const Tensor source = source_for(merged, here);
  if (merged.view.shares_storage_with(self)) {
    put(merged.view, merged, source, accumulate);
    return;
  }
  // The merged dimensions do not lie together: write into the copy that merging made, and copy it back.
  put(merged.view, merged, source, accumulate);
  Tensor arranged = merged.arranged;
  arranged.copy_(merged.view.reshape(arranged.shape()));
}

std::span<const TensorIndex> as_span(std::initializer_list<TensorIndex> list) { return {list.begin(), list.size()}; }

}  // namespace

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return index(as_span(indices)); }
Tensor Tensor::index(std::span<const TensorIndex> indices) const {
  const Picked picked = pick(*this, indices);
  if (!picked.any) return picked.view;
  const Merged merged = merge(picked);
  return index_select(merged.view, merged.dim, merged.positions).reshape(merged.result_shape());
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values, bool accumulate) {
  return index_put_(as_span(indices), values, accumulate);
}
Tensor& Tensor::index_put_(std::span<const TensorIndex> indices, const Tensor& values, bool accumulate) {
  vellum::index_put(*this, indices, values, accumulate);
  return *this;
}

Tensor nonzero(const Tensor& x) {
  internal::check_shape_source("nonzero", x);
  const Tensor mask = x.dtype() == kBool ? x : x != Scalar(0);
  const NonzeroAttrs attrs{mask.to(kInt64).sum().item<int64_t>()};
  return call(nonzero_slot, {&mask}, &attrs);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != kBool)
    throw_error<DTypeError>("masked_select: the mask must be bool, it is ", mask.dtype(), "; compare it first");
  internal::check_shape_source("masked_select", mask);
  const Dims shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  const Tensor positions = nonzero(mask.expand(shape).reshape({-1})).reshape({-1});
  return index_select(x.expand(shape).reshape({-1}), 0, positions);
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  if (!dim) return gather(x.reshape({-1}), 0, index.reshape({-1}));
  if (x.dim() != index.dim())
    throw_error<ShapeError>("take_along_dim: x ", x.shape(), " and index ", index.shape(), " must have one rank");
  const int d = wrap_dim("take_along_dim", *dim, x.dim());
  Dims from = x.shape(), at = index.shape();
  if (x.dim() == 0) return gather(x, 0, index);
  from[d] = at[d] = 1;
  const Dims shape = broadcast_shapes("take_along_dim", from, at);
  from = at = shape;
  from[d] = x.size(d);
  at[d] = index.size(d);
  return gather(x.expand(from), d, index.expand(at));
}

Tensor& take_along_dim_out(Tensor& out, const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  return internal::write_composed("take_along_dim", out, {&x}, [&] { return take_along_dim(x, index, dim); });
}

Tensor& masked_select_out(Tensor& out, const Tensor& x, const Tensor& mask) {
  return internal::write_composed("masked_select", out, {&x}, [&] { return masked_select(x, mask); });
}

Tensor& nonzero_out(Tensor& out, const Tensor& x) {
  return internal::write_composed("nonzero", out, {&x}, [&] { return nonzero(x); });
}

}  // namespace vellum
