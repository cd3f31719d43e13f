#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tensor/view_geometry.h"

namespace vellum {
namespace {

// --- cat

bool is_skipped(const Dims& shape) { return shape.size() == 1 && shape[0] == 0; }  // PyTorch's empty placeholder

void infer_cat(Inference& call) {
  const int dim = call.attributes<DimAttrs>().dim;
  Dims shape{0};
  for (const Tensor* t : call.inputs) {
    const Dims s = t->shape();
    if (is_skipped(s)) continue;
    if (is_skipped(shape)) {
      shape = s;
      continue;
    }
    bool fits = s.size() == shape.size();
    for (int i = 0; fits && i < s.size(); ++i) fits = i == dim || s[i] == shape[i];
    if (!fits)
      throw_error<ShapeError>("cat: shapes ", shape, " and ", s, " differ beside dimension ", dim,
                              "; all other sizes must agree");
    shape[dim] += s[dim];
  }
  call.add_output(shape);
}

std::vector<RefTensor> cat_reference(const RefCall& call) {
  const int dim = call.attributes<DimAttrs>().dim;
  Dims shape{0};
  for (const RefTensor& t : call.inputs) {
    if (is_skipped(t.shape)) continue;
    if (is_skipped(shape))
      shape = t.shape;
    else
      shape[dim] += t.shape[dim];
  }
  RefTensor out = reference::zeros(shape, call.inputs[0].dtype);
  const reference::Split3 whole(shape, dim);
  int64_t start = 0;
  for (const RefTensor& t : call.inputs) {
    if (is_skipped(t.shape)) continue;
    const int64_t run = t.shape[dim] * whole.inner;
    for (int64_t o = 0; o < whole.outer; ++o)
      for (int64_t i = 0; i < run; ++i) out.values[(o * whole.n + start) * whole.inner + i] = t.values[o * run + i];
    start += t.shape[dim];
  }
  return {out};
}

constexpr OpDef kCat{.name = "cat",
                     .kind = OpKind::kGeneral,
                     .inputs = kVariadic,
                     .dtypes = dtype_rules::promote,
                     .infer = infer_cat,
                     .attrs = attrs_type<DimAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           const int dim = v.attributes<DimAttrs>().dim;
                           int64_t start = 0;
                           for (int i = 0; i < v.inputs(); ++i) {
                             if (is_skipped(v.input_shape(i))) continue;
                             const int64_t n = v.input_shape(i)[dim];
                             if (v.needs(i)) v.grad(i) = v.cotangent().slice(dim, start, start + n);
                             start += n;
                           }
                         },
                     .reference = {.tensors = cat_reference}};
OpSlot cat_slot{kCat, "indexing"};

// --- gather

void check_index(const OpCall& call, const Tensor& index) {
  if (index.dtype() != kInt64)
    throw_error<DTypeError>(call.op.name, ": the index must be int64, it is ", index.dtype());
}

// Whether an index can pick elements along `dim` from a tensor of `shape`.
void check_gathered(const OpCall& call, const Dims& shape, int dim) {
  check_index(call, call.input(1));
  const Dims index = call.input(1).shape();
  bool fits = shape.size() == index.size();
  for (int i = 0; fits && i < shape.size(); ++i) fits = i == dim || index[i] <= shape[i];
  if (!fits)
    throw_error<ShapeError>(call.op.name, ": index ", index, " does not fit ", shape,
                            "; it needs the same rank and, beside dimension ", dim, ", no larger sizes");
}

void infer_gather(Inference& call) {
  check_gathered(call, call.input(0).shape(), call.attributes<DimAttrs>().dim);
  call.add_output(call.input(1).shape());
}

// Calls f(position in the index, position in a tensor of `shape`) for each element of the index.
template <typename F>
void for_each_gathered(const RefTensor& index, const Dims& shape, int dim, F f) {
  const Dims strides = contiguous_strides(shape);
  Dims beside = strides;
  if (!shape.empty()) beside[dim] = 0;
  for (size_t i = 0; i < index.values.size(); ++i) {
    const int64_t along = static_cast<int64_t>(index.values[i].real());
    f(i, reference::strided_index(static_cast<int64_t>(i), index.shape, beside) +
             (shape.empty() ? 0 : along * strides[dim]));
  }
}

constexpr OpDef kGather{.name = "gather",
                        .kind = OpKind::kGeneral,
                        .inputs = 2,
                        .cast_inputs = 0b01,
                        .dtypes = dtype_rules::same,
                        .infer = infer_gather,
                        .attrs = attrs_type<DimAttrs>,
                        .saves = {saves_input(1)},
                        .vjp =
                            [](Vjp& v) {
                              v.grad(0) = gather_backward(v.cotangent(), v.input(1), v.attributes<DimAttrs>().dim,
                                                          v.input_shape(0));
                            },
                        .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                          const RefTensor& x = call.inputs[0];
                          RefTensor out = reference::zeros(call.inputs[1].shape, x.dtype);
                          for_each_gathered(call.inputs[1], x.shape, call.attributes<DimAttrs>().dim,
                                            [&](size_t i, int64_t at) { out.values[i] = x.values[at]; });
                          return {out};
                        }}};
OpSlot gather_slot{kGather, "indexing"};

constexpr OpDef kGatherBackward{
    .name = "gather_backward",
    .kind = OpKind::kGeneral,
    .inputs = 2,
    .cast_inputs = 0b01,
    .dtypes = dtype_rules::same,
    .domain = kDifferentiableDTypes,
    .infer =
        [](Inference& call) {
          const auto& a = call.attributes<GatherBackwardAttrs>();
          check_gathered(call, a.shape, a.dim);
          shape_rules::check_cotangent(call, call.input(1).shape());
          call.add_output(a.shape);
        },
    .attrs = attrs_type<GatherBackwardAttrs>,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = gather(v.cotangent(), v.attributes<GatherBackwardAttrs>().dim, v.input(1));
        },
    .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
      const auto& a = call.attributes<GatherBackwardAttrs>();
      RefTensor out = reference::zeros(a.shape, call.inputs[0].dtype);
      for_each_gathered(call.inputs[1], a.shape, a.dim,
                        [&](size_t i, int64_t at) { out.values[at] += call.inputs[0].values[i]; });
      return {out};
    }}};
OpSlot gather_backward_slot{kGatherBackward, "indexing"};

// --- the scatter behind the gradient of views

void infer_as_strided_backward(Inference& call) {
  const auto& a = call.attributes<AsStridedBackwardAttrs>();
  check_geometry(call.op.name, {a.size, a.stride, a.offset}, numel_of(a.shape));
  shape_rules::check_cotangent(call, a.size);
  call.add_output(a.shape);
}

constexpr OpDef kAsStridedBackward{
    .name = "as_strided_backward",
    .kind = OpKind::kGeneral,
    .dtypes = dtype_rules::same,
    .domain = kDifferentiableDTypes,
    .infer = infer_as_strided_backward,
    .attrs = attrs_type<AsStridedBackwardAttrs>,
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<AsStridedBackwardAttrs>();
          const Tensor g = v.cotangent().contiguous();
          v.grad() = g.as_strided(a.size, a.stride, g.storage_offset() + a.offset);
        },
    .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
      const auto& a = call.attributes<AsStridedBackwardAttrs>();
      RefTensor out = reference::zeros(a.shape, call.inputs[0].dtype);
      for (size_t i = 0; i < call.inputs[0].values.size(); ++i)
        out.values[a.offset + reference::strided_index(static_cast<int64_t>(i), a.size, a.stride)] +=
            call.inputs[0].values[i];
      return {out};
    }}};
OpSlot as_strided_backward_slot{kAsStridedBackward, "indexing"};

}  // namespace

namespace {

// The operands and the dimension of a call of cat, checked as far as its rank goes.
DimAttrs check_cat(std::span<const Tensor> tensors, int64_t dim, std::vector<const Tensor*>* inputs) {
  if (tensors.empty()) throw_error<InvalidArgumentError>("cat: the list of tensors is empty; give at least one");
  int rank = 1;
  for (const Tensor& t : tensors) {
    if (t.dim() == 0) throw_error<ShapeError>("cat: a tensor of rank 0 cannot be concatenated; use stack()");
    if (!is_skipped(t.shape())) rank = t.dim();
    inputs->push_back(&t);
  }
  return {wrap_dim("cat", dim, rank), false};
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int64_t dim) {
  std::vector<const Tensor*> inputs;
  const DimAttrs attrs = check_cat(tensors, dim, &inputs);
  return call(cat_slot, inputs, &attrs);
}
Tensor& cat_out(Tensor& out, std::span<const Tensor> tensors, int64_t dim) {
  std::vector<const Tensor*> inputs;
  const DimAttrs attrs = check_cat(tensors, dim, &inputs);
  call_out(cat_slot, out, inputs, &attrs);
  return out;
}
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim) {
  return cat(std::span<const Tensor>(tensors.begin(), tensors.size()), dim);
}

namespace {

// What stack joins, each with one more dimension.
std::vector<Tensor> raised(std::span<const Tensor> tensors, int64_t dim) {
  if (tensors.empty()) throw_error<InvalidArgumentError>("stack: the list of tensors is empty; give at least one");
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) {
    if (t.shape() != tensors[0].shape())
      throw_error<ShapeError>("stack: shapes ", tensors[0].shape(), " and ", t.shape(), " differ; all must agree");
    result.push_back(t.unsqueeze(dim));
  }
  return result;
}

int64_t dim_of_stack(std::span<const Tensor> tensors, int64_t dim) {
  return dim < 0 ? dim + tensors[0].dim() + 1 : dim;
}

}  // namespace

Tensor stack(std::span<const Tensor> tensors, int64_t dim) {
  return cat(raised(tensors, dim), dim_of_stack(tensors, dim));
}
Tensor& stack_out(Tensor& out, std::span<const Tensor> tensors, int64_t dim) {
  return cat_out(out, raised(tensors, dim), dim_of_stack(tensors, dim));
}
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim) {
  return stack(std::span<const Tensor>(tensors.begin(), tensors.size()), dim);
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  // A scalar and one element may stand for each other.
  if (x.dim() == 0 && index.dim() == 1) return gather(x.reshape({1}), dim, index);
  if (x.dim() == 1 && index.dim() == 0) return gather(x, dim, index.reshape({1})).reshape({});
  const DimAttrs attrs{wrap_dim("gather", dim, x.dim()), false};
  return call(gather_slot, {&x, &index}, &attrs);
}

Tensor& gather_out(Tensor& out, const Tensor& x, int64_t dim, const Tensor& index) {
  const DimAttrs attrs{wrap_dim("gather", dim, x.dim()), false};
  return internal::write_out(gather_slot, out, {&x, &index}, &attrs);
}

Tensor gather_backward(const Tensor& grad, const Tensor& index, int64_t dim, const Dims& shape) {
  const GatherBackwardAttrs attrs{wrap_dim("gather_backward", dim, shape.size()), shape};
  return call(gather_backward_slot, {&grad, &index}, &attrs);
}

Tensor as_strided_backward(const Tensor& grad, const AsStridedBackwardAttrs& geometry) {
  return call(as_strided_backward_slot, {&grad}, &geometry);
}

}  // namespace vellum
