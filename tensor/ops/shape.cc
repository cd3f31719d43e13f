#include <numeric>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tensor/view_geometry.h"

// Views: definitions whose inference says how the output lies in the input's storage.

namespace vellum {
namespace {

// References of views: the elements that the geometry picks from a row-major input.
template <auto kGeometry>
std::vector<RefTensor> view_reference(const RefCall& call) {
  const RefTensor& x = call.inputs[0];
  const ViewGeometry g = kGeometry(x.shape, call.attrs);
  RefTensor out = reference::zeros(g.shape, x.dtype);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = x.values[g.offset + reference::strided_index(static_cast<int64_t>(i), g.shape, g.stride)];
  return {out};
}

template <typename Attrs>
const Attrs& as(const void* attrs) {
  return *static_cast<const Attrs*>(attrs);
}

// The gradient of any view that picks elements of its input: each cotangent element goes back to where it was taken.
template <auto kGeometry>
void view_vjp(Vjp& v) {
  const Dims shape = v.input_shape();
  const ViewGeometry g = kGeometry(shape, v.attrs());
  v.grad() = as_strided_backward(v.cotangent(), {shape, g.shape, g.stride, g.offset});
}

void infer_from(Inference& call, const Dims& shape, const Dims& stride, int64_t offset) {
  call.add_view(shape, stride, call.input(0).storage_offset() + offset);
}

// --- select, slice

ViewGeometry select_geometry(const Dims& shape, const Dims& stride, const void* attrs) {
  const auto& a = as<SelectAttrs>(attrs);
  ViewGeometry g{shape, stride, a.index * stride[a.dim]};
  g.shape.erase(a.dim);
  g.stride.erase(a.dim);
  return g;
}

ViewGeometry slice_geometry(const Dims& shape, const Dims& stride, const void* attrs) {
  const auto& a = as<SliceAttrs>(attrs);
  ViewGeometry g{shape, stride, a.start * stride[a.dim]};
  g.shape[a.dim] = (a.stop - a.start + a.step - 1) / a.step;
  g.stride[a.dim] = stride[a.dim] * a.step;
  return g;
}

template <auto kGeometry>
ViewGeometry row_major(const Dims& shape, const void* attrs) {
  return kGeometry(shape, contiguous_strides(shape), attrs);
}

template <auto kGeometry>
constexpr OpDef picking_view(std::string_view name, AttrsType attrs) {
  return {.name = name,
          .kind = OpKind::kView,
          .dtypes = dtype_rules::same,
          .infer =
              [](Inference& call) {
                const ViewGeometry g = kGeometry(call.input(0).shape(), call.input(0).strides(), call.attrs);
                infer_from(call, g.shape, g.stride, g.offset);
              },
          .attrs = attrs,
          .vjp = view_vjp<row_major<kGeometry>>,
          .reference = {.tensors = view_reference<row_major<kGeometry>>}};
}

constexpr OpDef kSelect = picking_view<select_geometry>("select", attrs_type<SelectAttrs>);
constexpr OpDef kSlice = picking_view<slice_geometry>("slice", attrs_type<SliceAttrs>);
OpSlot select_slot{kSelect, "shape"}, slice_slot{kSlice, "shape"};

// --- permute

ViewGeometry permute_geometry(const Dims& shape, const Dims& stride, const void* attrs) {
  const Dims& order = as<PermuteAttrs>(attrs).dims;
  ViewGeometry g{shape, stride, 0};
  for (int i = 0; i < order.size(); ++i) {
    g.shape[i] = shape[static_cast<int>(order[i])];
    g.stride[i] = stride[static_cast<int>(order[i])];
  }
  return g;
}

void permute_vjp(Vjp& v) {
  const Dims& order = v.attributes<PermuteAttrs>().dims;
  Dims inverse = order;
  for (int i = 0; i < order.size(); ++i) inverse[static_cast<int>(order[i])] = i;
  v.grad() = v.cotangent().permute(inverse);
}

constexpr OpDef kPermute = [] {
  OpDef def = picking_view<permute_geometry>("permute", attrs_type<PermuteAttrs>);
  def.vjp = permute_vjp;
  return def;
}();
OpSlot permute_slot{kPermute, "shape"};

// --- view: the same elements in the same order under another shape (view, reshape, squeeze, unsqueeze, flatten)

ViewGeometry same_elements_geometry(const Dims&, const void* attrs) {
  const Dims& shape = as<ShapeAttrs>(attrs).shape;
  return {shape, contiguous_strides(shape), 0};
}

void infer_view(Inference& call) {
  const Tensor& x = call.input(0);
  const Dims& shape = call.attributes<ShapeAttrs>().shape;
  Dims stride;
  if (!view_strides(x.shape(), x.strides(), shape, &stride))
    throw_error<ShapeError>("view: shape ", shape, " is not compatible with the strides ", x.strides(),
                            " of a tensor of shape ", x.shape(),
                            " (it spans dimensions that do not lie together); use reshape()");
  infer_from(call, shape, stride, 0);
}

constexpr OpDef kView{.name = "view",
                      .kind = OpKind::kView,
                      .dtypes = dtype_rules::same,
                      .infer = infer_view,
                      .attrs = attrs_type<ShapeAttrs>,
                      .vjp = [](Vjp& v) { v.grad() = v.cotangent().reshape(v.input_shape()); },
                      .reference = {.tensors = view_reference<same_elements_geometry>}};
OpSlot view_slot{kView, "shape"};

Tensor view_as(const Tensor& x, const Dims& shape) {
  const ShapeAttrs attrs{shape};
  return call(view_slot, {&x}, &attrs);
}

// --- expand

ViewGeometry expand_geometry(const Dims& from, const Dims& stride, const void* attrs) {
  const Dims& shape = as<ShapeAttrs>(attrs).shape;
  ViewGeometry g{shape, Dims::filled(shape.size(), 0), 0};
  const int shift = shape.size() - from.size();
  for (int i = 0; i < from.size(); ++i)
    if (from[i] == shape[i + shift]) g.stride[i + shift] = stride[i];
  return g;
}

constexpr OpDef kExpand = [] {
  OpDef def = picking_view<expand_geometry>("expand", attrs_type<ShapeAttrs>);
  def.vjp = [](Vjp& v) { v.grad() = v.cotangent(); };  // the engine sums over what was broadcast
  return def;
}();
OpSlot expand_slot{kExpand, "shape"};

// --- diagonal

ViewGeometry diagonal_geometry(const Dims& shape, const Dims& stride, const void* attrs) {
  const auto& a = as<DiagonalAttrs>(attrs);
  const int64_t rows = shape[a.dim1] - std::max<int64_t>(-a.offset, 0);
  const int64_t columns = shape[a.dim2] - std::max<int64_t>(a.offset, 0);
  const int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  const int64_t start = a.offset >= 0 ? a.offset * stride[a.dim2] : -a.offset * stride[a.dim1];
  ViewGeometry g{shape, stride, length > 0 ? start : 0};
  const int64_t step = stride[a.dim1] + stride[a.dim2];
  for (const int d : {std::max(a.dim1, a.dim2), std::min(a.dim1, a.dim2)}) {
    g.shape.erase(d);
    g.stride.erase(d);
  }
  g.shape.push_back(length);
  g.stride.push_back(step);
  return g;
}

constexpr OpDef kDiagonal = picking_view<diagonal_geometry>("diagonal", attrs_type<DiagonalAttrs>);
OpSlot diagonal_slot{kDiagonal, "shape"};

// --- as_strided

// The scatter happens in a buffer that spans what either geometry reaches of the storage; the input is then read back
// through its own geometry.
void as_strided_vjp(Vjp& v) {
  const auto& a = v.attributes<AsStridedAttrs>();
  const Dims shape = v.input_shape();
  const int64_t start = std::min(a.offset, a.input_offset);
  const int64_t extent =
      std::max(a.offset + reach(a.size, a.stride), a.input_offset + reach(shape, a.input_stride)) - start;
  const Tensor buffer = as_strided_backward(v.cotangent(), {Dims{extent}, a.size, a.stride, a.offset - start});
  v.grad() = buffer.as_strided(shape, a.input_stride, a.input_offset - start);
}

ViewGeometry as_strided_geometry(const Dims&, const void* attrs) {
  const auto& a = as<AsStridedAttrs>(attrs);
  return {a.size, a.stride, a.offset};
}

void infer_as_strided(Inference& call) {
  const auto& a = call.attributes<AsStridedAttrs>();
  const Tensor& x = call.input(0);
  check_geometry(call.op.name, {a.size, a.stride, a.offset}, x.impl().storage->bytes() / x.element_size());
  call.add_view(a.size, a.stride, a.offset);
}

constexpr OpDef kAsStrided{.name = "as_strided",
                           .kind = OpKind::kView,
                           .dtypes = dtype_rules::same,
                           .infer = infer_as_strided,
                           .attrs = attrs_type<AsStridedAttrs>,
                           .vjp = as_strided_vjp,
                           .reference = {.tensors = view_reference<as_strided_geometry>}};
OpSlot as_strided_slot{kAsStrided, "shape"};

}  // namespace

Tensor Tensor::select(int64_t dim, int64_t index) const {
  if (this->dim() == 0) throw_error<IndexError>("select: a tensor of rank 0 cannot be indexed; read it with item()");
  const int d = wrap_dim("select", dim, this->dim());
  const int64_t n = size(d);
  if (index < -n || index >= n)
    throw_error<IndexError>("select: index ", index, " is out of range for dimension ", d, " of shape ", shape());
  const SelectAttrs attrs{d, index < 0 ? index + n : index};
  return call(select_slot, {this}, &attrs);
}

Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) const {
  if (this->dim() == 0) throw_error<IndexError>("slice: a tensor of rank 0 cannot be sliced");
  if (step < 1) throw_error<InvalidArgumentError>("slice: the step must be 1 or more, it is ", step);
  const int d = wrap_dim("slice", dim, this->dim());
  const int64_t n = size(d);
  const auto clamp = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clamp(start.value_or(0));
  // A step beyond the size picks one element, as the size does.
  const SliceAttrs attrs{d, first, std::max(first, clamp(stop.value_or(n))), std::min(step, std::max<int64_t>(n, 1))};
  return call(slice_slot, {this}, &attrs);
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  if (this->dim() == 0) throw_error<IndexError>("narrow: a tensor of rank 0 cannot be narrowed");
  const int d = wrap_dim("narrow", dim, this->dim());
  const int64_t n = size(d);
  const int64_t first = start < 0 ? start + n : start;
  if (start < -n || first > n || length < 0 || length > n - first)
    throw_error<IndexError>("narrow: start ", start, " and length ", length, " do not lie in dimension ", d,
                            " of shape ", shape());
  const SliceAttrs attrs{d, first, first + length, 1};
  return call(slice_slot, {this}, &attrs);
}

Tensor Tensor::narrow(int64_t dim, const Tensor& start, int64_t length) const {
  if (!start.defined() || start.dim() != 0 || !is_integral(start.dtype()) || start.dtype() == kBool)
    throw_error<DTypeError>("narrow: the start must be an integer tensor of rank 0, it is ",
                            start.defined() ? str_cat(start.dtype(), start.shape()) : "undefined",
                            "; give its item() or another");
  if (!internal::has_values(start))
    throw_error<InvalidArgumentError>(
        "narrow: the start, a tensor of ", start.dtype(),
        ", has no value in a dry run (predict_peak), which computes nothing; give it as a number");
  return narrow(dim, start.item<int64_t>(), length);
}

Tensor Tensor::permute(const Dims& dims) const {
  PermuteAttrs attrs{dims};
  uint32_t seen = 0;
  for (int64_t& d : attrs.dims) {
    d = wrap_dim("permute", d, dim());
    seen |= 1u << d;
  }
  if (dims.size() != dim() || seen != (1u << dim()) - 1)
    throw_error<IndexError>("permute: ", dims, " is not an order of the ", dim(), " dimensions of shape ", shape());
  return call(permute_slot, {this}, &attrs);
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  const int a = wrap_dim("transpose", dim0, dim()), b = wrap_dim("transpose", dim1, dim());
  if (dim() == 0) return *this;
  PermuteAttrs attrs{Dims::of_size(dim())};
  std::iota(attrs.dims.begin(), attrs.dims.end(), 0);
  std::swap(attrs.dims[a], attrs.dims[b]);
  return call(permute_slot, {this}, &attrs);
}

Tensor Tensor::t() const {
  if (dim() > 2) throw_error<ShapeError>("t: takes at most 2 dimensions, shape is ", shape(), "; use transpose()");
  return dim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::view(const Dims& shape) const {
  return view_as(*this, infer_size("view", shape, numel(), this->shape()));
}

Tensor Tensor::reshape(const Dims& shape) const {
  const Dims target = infer_size("reshape", shape, numel(), this->shape());
  Dims stride;
  if (target == this->shape()) return *this;
  return view_as(view_strides(this->shape(), strides(), target, &stride) ? *this : clone(), target);
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  if (dim() == 0) return reshape({1});
  const int a = wrap_dim("flatten", start, dim()), b = wrap_dim("flatten", end, dim());
  if (a > b) throw_error<IndexError>("flatten: start ", start, " lies behind end ", end);
  Dims target;
  for (int i = 0; i < dim(); ++i) {
    if (i <= a || i > b)
      target.push_back(size(i));
    else
      target[a] *= size(i);
  }
  return reshape(target);
}

Tensor Tensor::expand(const Dims& shape) const {
  ShapeAttrs attrs{shape};
  const int shift = shape.size() - dim();
  for (int i = std::max(shift, 0); i < shape.size(); ++i)
    if (shape[i] == -1) attrs.shape[i] = size(i - shift);
  bool negative = false;
  for (const int64_t n : attrs.shape) negative |= n < 0;
  if (negative || !is_broadcastable_to(this->shape(), attrs.shape))
    throw_error<ShapeError>("expand: shape ", this->shape(), " does not expand to ", shape,
                            "; only sizes of 1 stretch, -1 keeps a size");
  return call(expand_slot, {this}, &attrs);
}

Tensor Tensor::squeeze() const {
  Dims target;
  for (int i = 0; i < dim(); ++i)
    if (size(i) != 1) target.push_back(size(i));
  return view_as(*this, target);
}

Tensor Tensor::squeeze(int64_t dim) const {
  const int d = wrap_dim("squeeze", dim, this->dim());
  Dims target = shape();
  if (this->dim() > 0 && target[d] == 1) target.erase(d);
  return view_as(*this, target);
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  const int d = wrap_dim("unsqueeze", dim, this->dim() + 1);
  Dims target = shape();
  target.insert(d, 1);
  return view_as(*this, target);
}

Tensor Tensor::as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> offset) const {
  const AsStridedAttrs attrs{size, stride, offset.value_or(storage_offset()), strides(), storage_offset()};
  return call(as_strided_slot, {this}, &attrs);
}

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  if (dim() < 2) throw_error<ShapeError>("diagonal: the input must have at least 2 dimensions, it is ", shape());
  const DiagonalAttrs attrs{offset, wrap_dim("diagonal", dim1, dim()), wrap_dim("diagonal", dim2, dim())};
  if (attrs.dim1 == attrs.dim2)
    throw_error<IndexError>("diagonal: dimensions ", dim1, " and ", dim2, " of shape ", shape(), " are the same");
  return call(diagonal_slot, {this}, &attrs);
}

}  // namespace vellum
