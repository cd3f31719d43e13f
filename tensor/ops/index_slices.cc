#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/index_helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// Whole slices picked and written by an index. What writes takes a tensor and gives a changed copy of it; the in-place
// forms change the tensor itself.

namespace vellum {

void internal::check_index_dtype(const OpCall& call, int i) {
  if (call.input(i).dtype() != kInt64)
    throw_error<DTypeError>(call.op.name, ": the index must be int64, it is ", call.input(i).dtype());
}

DTypes internal::self_dtypes(const OpCall& call) {
  const DTypes types = dtype_rules::same(call);
  const int source = static_cast<int>(call.inputs.size()) - 1;
  if (call.input(source).dtype() != types.compute)
    throw_error<DTypeError>(call.op.name, ": self is ", types.compute, ", the source ", call.input(source).dtype(),
                            "; convert one of them");
  return types;
}

namespace {

using internal::check_index_dtype;
using internal::indexed_write;
using internal::indexed_write_;
using internal::self_dtypes;
using reference::Split3;

// The shape of x with `count` slices along a dimension.
Dims with_slices(Dims x, int dim, int64_t count) {
  if (!x.empty()) x[dim] = count;
  return x;
}

void check_slice_index(const OpCall& call, int i) {
  check_index_dtype(call, i);
  if (call.input(i).dim() > 1)
    throw_error<ShapeError>(call.op.name, ": the index must have rank 1 (or 0), it is ", call.input(i).shape());
}

// --- index_select

void infer_index_select(Inference& call) {
  const auto& a = call.attributes<IndexSelectAttrs>();
  check_slice_index(call, 1);
  const Dims x = call.input(0).shape();
  if (a.dim >= std::max(x.size(), 1) || (x.empty() && call.input(1).numel() != 1))
    throw_error<ShapeError>("index_select: dimension ", a.dim, " and index ", call.input(1).shape(),
                            " do not fit a tensor of shape ", x);
  call.add_output(with_slices(x, a.dim, call.input(1).numel()));
}

std::vector<RefTensor> index_select_reference(const RefCall& call) {
  const int dim = call.attributes<IndexSelectAttrs>().dim;
  const RefTensor &x = call.inputs[0], &index = call.inputs[1];
  RefTensor out = reference::zeros(with_slices(x.shape, dim, static_cast<int64_t>(index.values.size())), x.dtype);
  const Split3 from(x.shape, dim), to(out.shape, dim);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t k = 0; k < to.n; ++k)
      for (int64_t i = 0; i < to.inner; ++i)
        out.values[(o * to.n + k) * to.inner + i] =
            x.values[(o * from.n + static_cast<int64_t>(index.values[k].real())) * from.inner + i];
  return {out};
}

constexpr OpDef kIndexSelect{
    .name = "index_select",
    .kind = OpKind::kGeneral,
    .inputs = 2,
    .cast_inputs = 0b01,
    .dtypes = dtype_rules::same,
    .infer = infer_index_select,
    .attrs = attrs_type<IndexSelectAttrs>,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<IndexSelectAttrs>();
          v.grad(0) = index_select_backward(v.cotangent(), v.input(1), {a.dim, v.input_shape(0), a.without_gradient});
        },
    .reference = {.tensors = index_select_reference}};
OpSlot index_select_slot{kIndexSelect, "indexing"};

void infer_index_select_backward(Inference& call) {
  const auto& a = call.attributes<IndexSelectBackwardAttrs>();
  check_slice_index(call, 1);
  if (a.dim >= std::max(a.shape.size(), 1) || (a.shape.empty() && call.input(1).numel() != 1))
    throw_error<ShapeError>("index_select_backward: dimension ", a.dim, " and index ", call.input(1).shape(),
                            " do not fit shape ", a.shape);
  shape_rules::check_cotangent(call, with_slices(a.shape, a.dim, call.input(1).numel()));
  call.add_output(a.shape);
}

std::vector<RefTensor> index_select_backward_reference(const RefCall& call) {
  const auto& a = call.attributes<IndexSelectBackwardAttrs>();
  const RefTensor &g = call.inputs[0], &index = call.inputs[1];
  RefTensor out = reference::zeros(a.shape, g.dtype);
  const Split3 to(a.shape, a.dim), from(g.shape, a.dim);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t k = 0; k < from.n; ++k) {
      const int64_t at = static_cast<int64_t>(index.values[k].real());
      if (at == a.without_gradient) continue;
      for (int64_t i = 0; i < from.inner; ++i)
        out.values[(o * to.n + at) * to.inner + i] += g.values[(o * from.n + k) * from.inner + i];
    }
  return {out};
}

// The double backward of a slice without gradient is zero: it is selected, then blanked.
void index_select_backward_vjp(Vjp& v) {
  if (!v.needs(0)) return;
  const auto& a = v.attributes<IndexSelectBackwardAttrs>();
  const Tensor picked = index_select(v.cotangent(), a.dim, v.input(1));
  if (a.without_gradient < 0) {
    v.grad(0) = picked;
    return;
  }
  Dims along = Dims::filled(std::max(picked.dim(), 1), 1);
  along[a.dim] = -1;
  const Tensor blank = (v.input(1) == Scalar(a.without_gradient)).reshape(picked.dim() ? along : Dims{});
  v.grad(0) = where(blank, wrap_number(0, picked), picked);
}

constexpr OpDef kIndexSelectBackward{.name = "index_select_backward",
                                     .kind = OpKind::kGeneral,
                                     .inputs = 2,
                                     .cast_inputs = 0b01,
                                     .dtypes = dtype_rules::same,
                                     .domain = kDifferentiableDTypes,
                                     .infer = infer_index_select_backward,
                                     .attrs = attrs_type<IndexSelectBackwardAttrs>,
                                     .saves = {saves_input(1)},
                                     .vjp = index_select_backward_vjp,
                                     .reference = {.tensors = index_select_backward_reference}};
OpSlot index_select_backward_slot{kIndexSelectBackward, "indexing"};

// --- index_add, index_copy: self, index, source

void infer_index_write(Inference& call) {
  const int dim = call.attributes<IndexWriteAttrs>().dim;
  check_slice_index(call, 1);
  const Dims self = call.input(0).shape();
  if (dim >= std::max(self.size(), 1) || call.input(2).shape() != with_slices(self, dim, call.input(1).numel()) ||
      (self.empty() && call.input(1).numel() != 1))
    throw_error<ShapeError>(call.op.name, ": source ", call.input(2).shape(), " and index ", call.input(1).shape(),
                            " do not fit self ", self, " along dimension ", dim,
                            "; the source has self's shape with one slice for each entry of the index");
  call.add_output(self);
}

DTypes index_add_dtypes(const OpCall& call) {
  const DTypes types = self_dtypes(call);
  internal::check_factor(call, "alpha", call.attributes<IndexWriteAttrs>().alpha, types.compute);
  return types;
}

template <bool kAdd>
std::vector<RefTensor> index_write_reference(const RefCall& call) {
  const auto& a = call.attributes<IndexWriteAttrs>();
  const RefTensor &index = call.inputs[1], &source = call.inputs[2];
  RefTensor out = call.inputs[0];
  const Split3 to(out.shape, a.dim), from(source.shape, a.dim);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t k = 0; k < from.n; ++k)
      for (int64_t i = 0; i < from.inner; ++i) {
        auto& value = out.values[(o * to.n + static_cast<int64_t>(index.values[k].real())) * to.inner + i];
        const auto& change = source.values[(o * from.n + k) * from.inner + i];
        if (kAdd)
          value += a.alpha.value() * change;
        else
          value = change;
      }
  return {out};
}

constexpr OpDef kIndexAdd{.name = "index_add",
                          .kind = OpKind::kGeneral,
                          .inputs = 3,
                          .cast_inputs = 0b101,
                          .dtypes = index_add_dtypes,
                          .infer = infer_index_write,
                          .attrs = attrs_type<IndexWriteAttrs>,
                          .saves = {saves_nothing(), saves_nothing(), saves_input(1)},
                          .vjp =
                              [](Vjp& v) {
                                const auto& a = v.attributes<IndexWriteAttrs>();
                                if (v.needs(0)) v.grad(0) = v.cotangent();
                                if (!v.needs(2)) return;
                                const Tensor g = index_select(v.cotangent(), a.dim, v.input(1));
                                v.grad(2) = internal::times_conjugate(g, a.alpha);
                              },
                          .may_update_self = true,
                          .reference = {.tensors = index_write_reference<true>}};

// Where an index repeats, the last slice stays; its gradient goes to all of them, as in PyTorch.
constexpr OpDef kIndexCopy{
    .name = "index_copy",
    .kind = OpKind::kGeneral,
    .inputs = 3,
    .cast_inputs = 0b101,
    .dtypes = self_dtypes,
    .infer = infer_index_write,
    .attrs = attrs_type<IndexWriteAttrs>,
    .saves = {saves_input(1), saves_nothing(), saves_input(1)},
    .vjp =
        [](Vjp& v) {
          const int dim = v.attributes<IndexWriteAttrs>().dim;
          const Tensor& g = v.cotangent();
          if (v.needs(0)) v.grad(0) = index_copy(g, dim, v.input(1), zeros(v.input_shape(2), {g.dtype(), g.device()}));
          if (v.needs(2)) v.grad(2) = index_select(g, dim, v.input(1));
        },
    .may_update_self = true,
    .reference = {.tensors = index_write_reference<false>}};
OpSlot index_add_slot{kIndexAdd, "indexing"}, index_copy_slot{kIndexCopy, "indexing"};

IndexWriteAttrs index_write(const char* op, const Tensor& self, int64_t dim, const Scalar& alpha = 1) {
  return {wrap_dim(op, dim, self.dim()), alpha};
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  const IndexSelectAttrs attrs{wrap_dim("index_select", dim, x.dim())};
  return call(index_select_slot, {&x, &index}, &attrs);
}
Tensor index_select_backward(const Tensor& grad, const Tensor& index, const IndexSelectBackwardAttrs& attrs) {
  return call(index_select_backward_slot, {&grad, &index}, &attrs);
}

Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  if (weight.dim() != 2)
    throw_error<ShapeError>("embedding: the weight must be [rows, features], it is ", weight.shape());
  const int64_t rows = weight.size(0);
  if (padding_idx && (*padding_idx < -rows || *padding_idx >= rows))
    throw_error<IndexError>("embedding: padding_idx ", *padding_idx, " is outside the ", rows, " rows of the weight");
  IndexSelectAttrs attrs{0};
  if (padding_idx) attrs.without_gradient = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  const Tensor flat = index.reshape({-1}).to(kInt64);
  Dims shape = index.shape();
  shape.push_back(weight.size(1));
  return call(index_select_slot, {&weight, &flat}, &attrs).reshape(shape);
}

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  return indexed_write(index_add_slot, self, index, source, index_write("index_add", self, dim, alpha));
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write(index_copy_slot, self, index, source, index_write("index_copy", self, dim));
}

Tensor& index_select_out(Tensor& out, const Tensor& x, int64_t dim, const Tensor& index) {
  const IndexSelectAttrs attrs{wrap_dim("index_select", dim, x.dim())};
  return internal::write_out(index_select_slot, out, {&x, &index}, &attrs);
}
Tensor& index_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      const Scalar& alpha) {
  const IndexWriteAttrs attrs = index_write("index_add", self, dim, alpha);
  return internal::write_out(index_add_slot, out, {&self, &index, &source}, &attrs);
}
Tensor& index_copy_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const IndexWriteAttrs attrs = index_write("index_copy", self, dim);
  return internal::write_out(index_copy_slot, out, {&self, &index, &source}, &attrs);
}

Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  return indexed_write_(index_add_slot, *this, index, source, index_write("index_add_", *this, dim, alpha));
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write_(index_copy_slot, *this, index, source, index_write("index_copy_", *this, dim));
}

}  // namespace vellum
