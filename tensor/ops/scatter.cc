#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/index_helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// Single elements written by an index; the forms are those of index_slices.cc.

namespace vellum {
namespace {

using internal::check_index_dtype;
using internal::indexed_write;
using internal::indexed_write_;
using internal::self_dtypes;

// --- scatter, scatter_add, scatter_multiply: self, index, source of the index's shape

void infer_scatter(Inference& call) {
  const int dim = call.attributes<DimAttrs>().dim;
  check_index_dtype(call, 1);
  const Dims self = call.input(0).shape(), index = call.input(1).shape();
  bool fits = self.size() == index.size() && dim < std::max(self.size(), 1) && call.input(2).shape() == index;
  for (int i = 0; fits && i < self.size(); ++i) fits = i == dim || index[i] <= self[i];
  if (!fits)
    throw_error<ShapeError>(call.op.name, ": index ", index, " and source ", call.input(2).shape(), " do not fit self ",
                            self, "; all have one rank, the index has, beside dimension ", dim,
                            ", no larger sizes than self, and no larger ones than the source");
  call.add_output(self);
}

template <typename Write>
std::vector<RefTensor> scatter_reference(const RefCall& call, Write write) {
  const int dim = call.attributes<DimAttrs>().dim;
  const RefTensor &index = call.inputs[1], &source = call.inputs[2];
  RefTensor out = call.inputs[0];
  const Dims strides = contiguous_strides(out.shape);
  Dims beside = strides;
  if (!beside.empty()) beside[dim] = 0;
  for (size_t i = 0; i < index.values.size(); ++i) {
    const int64_t along = static_cast<int64_t>(index.values[i].real());
    auto& value =
        out.values[static_cast<size_t>(reference::strided_index(static_cast<int64_t>(i), index.shape, beside) +
                                       (strides.empty() ? 0 : along * strides[dim]))];
    write(value, source.values[i]);
  }
  return {out};
}

using Complex = reference::Complex;

constexpr OpDef kScatterAdd{.name = "scatter_add",
                            .kind = OpKind::kGeneral,
                            .inputs = 3,
                            .cast_inputs = 0b101,
                            .dtypes = self_dtypes,
                            .infer = infer_scatter,
                            .attrs = attrs_type<DimAttrs>,
                            .saves = {saves_nothing(), saves_nothing(), saves_input(1)},
                            .vjp =
                                [](Vjp& v) {
                                  if (v.needs(0)) v.grad(0) = v.cotangent();
                                  if (v.needs(2))
                                    v.grad(2) = gather(v.cotangent(), v.attributes<DimAttrs>().dim, v.input(1));
                                },
                            .may_update_self = true,
                            .reference = {.tensors = [](const RefCall& call) {
                              return scatter_reference(call, [](Complex& to, Complex from) { to += from; });
                            }}};

// Without a gradient, as in PyTorch.
constexpr OpDef kScatterMultiply{.name = "scatter_multiply",
                                 .kind = OpKind::kGeneral,
                                 .inputs = 3,
                                 .cast_inputs = 0b101,
                                 .dtypes = self_dtypes,
                                 .infer = infer_scatter,
                                 .attrs = attrs_type<DimAttrs>,
                                 .may_update_self = true,
                                 .reference = {.tensors = [](const RefCall& call) {
                                   return scatter_reference(call, [](Complex& to, Complex from) { to *= from; });
                                 }}};

constexpr OpDef kScatter{.name = "scatter",
                         .kind = OpKind::kGeneral,
                         .inputs = 3,
                         .cast_inputs = 0b101,
                         .dtypes = self_dtypes,
                         .infer = infer_scatter,
                         .attrs = attrs_type<DimAttrs>,
                         .saves = {saves_input(1), saves_nothing(), saves_input(1)},
                         .vjp =
                             [](Vjp& v) {
                               const int dim = v.attributes<DimAttrs>().dim;
                               const Tensor& g = v.cotangent();
                               if (v.needs(0)) v.grad(0) = scatter(g, dim, v.input(1), Scalar(0));
                               if (v.needs(2)) v.grad(2) = gather(g, dim, v.input(1));
                             },
                         .may_update_self = true,
                         .reference = {.tensors = [](const RefCall& call) {
                           return scatter_reference(call, [](Complex& to, Complex from) { to = from; });
                         }}};
OpSlot scatter_slot{kScatter, "indexing"}, scatter_add_slot{kScatterAdd, "indexing"},
    scatter_multiply_slot{kScatterMultiply, "indexing"};

// The operator for a word of PyTorch's. Throws AutogradError where its gradient would be needed, for it has none.
OpSlot& scatter_with(std::string_view reduce, const Tensor& self, const Tensor& source) {
  if (reduce == "add") return scatter_add_slot;
  if (reduce != "multiply")
    throw_error<InvalidArgumentError>("scatter: reduce must be \"add\" or \"multiply\", it is \"", reduce, "\"");
  if ((thread_state().mode & kModeGrad) && (self.requires_grad() || source.requires_grad()))
    throw_error<AutogradError>(
        "scatter: reduce = \"multiply\" has no gradient, but an operand requires grad; detach() it");
  return scatter_multiply_slot;
}

// A larger source is read as far as the index goes; a scalar stands for one element.
Tensor within(const Tensor& source, const Tensor& index) {
  Tensor part = source.dim() == 0 && index.dim() == 1 ? source.reshape({1}) : source;
  if (part.dim() != index.dim()) return part;
  for (int d = 0; d < index.dim(); ++d)
    if (index.size(d) < part.size(d)) part = part.narrow(d, 0, index.size(d));
  return part;
}

Tensor filled_like(const Tensor& index, const Scalar& value, const Tensor& self) {
  check_fits("scatter", value, self.dtype());
  return full({}, value, {self.dtype(), self.device()}).expand(index.shape());
}

DimAttrs along(const char* op, const Tensor& self, int64_t dim) { return {wrap_dim(op, dim, self.dim()), false}; }

}  // namespace

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write(scatter_slot, self, index, within(source, index), along("scatter", self, dim));
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter(self, dim, index, filled_like(index, value, self));
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce) {
  return indexed_write(scatter_with(reduce, self, source), self, index, within(source, index),
                       along("scatter", self, dim));
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return scatter(self, dim, index, filled_like(index, value, self), reduce);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write(scatter_add_slot, self, index, within(source, index), along("scatter_add", self, dim));
}

Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const DimAttrs attrs = along("scatter", self, dim);
  const Tensor read = within(source, index);
  return internal::write_out(scatter_slot, out, {&self, &index, &read}, &attrs);
}
Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce) {
  const DimAttrs attrs = along("scatter", self, dim);
  const Tensor read = within(source, index);
  return internal::write_out(scatter_with(reduce, self, source), out, {&self, &index, &read}, &attrs);
}
Tensor& scatter_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const DimAttrs attrs = along("scatter_add", self, dim);
  const Tensor read = within(source, index);
  return internal::write_out(scatter_add_slot, out, {&self, &index, &read}, &attrs);
}

Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write_(scatter_slot, *this, index, within(source, index), along("scatter_", *this, dim));
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_(dim, index, filled_like(index, value, *this));
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce) {
  return indexed_write_(scatter_with(reduce, *this, source), *this, index, within(source, index),
                        along("scatter_", *this, dim));
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return scatter_(dim, index, filled_like(index, value, *this), reduce);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) {
  return indexed_write_(scatter_add_slot, *this, index, within(source, index), along("scatter_add_", *this, dim));
}

}  // namespace vellum
