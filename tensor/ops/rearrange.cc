#include <algorithm>
#include <limits>
#include <numeric>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// The same elements in other places: triangles, padding, repetition, reversal.

namespace vellum {
namespace {

// --- tril, triu

void infer_triangle(Inference& call) {
  if (call.input(0).dim() < 2)
    throw_error<ShapeError>(call.op.name, ": the input must have at least 2 dimensions, it is ", call.input(0).shape());
  shape_rules::same(call);
}

template <bool kUpper>
std::vector<RefTensor> triangle_reference(const RefCall& call) {
  RefTensor out = call.inputs[0];
  const int rank = out.shape.size();
  const int64_t rows = out.shape[rank - 2], columns = out.shape[rank - 1];
  const int64_t diagonal = call.attributes<TriangleAttrs>().diagonal;
  for (size_t i = 0; i < out.values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / columns % rows, column = static_cast<int64_t>(i) % columns;
    if (kUpper ? column - row < diagonal : column - row > diagonal) out.values[i] = 0;
  }
  return {out};
}

template <bool kUpper>
void triangle_vjp(Vjp& v) {
  const int64_t diagonal = v.attributes<TriangleAttrs>().diagonal;
  v.grad() = kUpper ? triu(v.cotangent(), diagonal) : tril(v.cotangent(), diagonal);
}

template <bool kUpper>
constexpr OpDef triangle(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kGeneral,
          .dtypes = dtype_rules::same,
          .infer = infer_triangle,
          .attrs = attrs_type<TriangleAttrs>,
          .vjp = triangle_vjp<kUpper>,
          .may_update_self = true,
          .reference = {.tensors = triangle_reference<kUpper>}};
}

constexpr OpDef kTril = triangle<false>("tril"), kTriu = triangle<true>("triu");
OpSlot tril_slot{kTril, "shape"}, triu_slot{kTriu, "shape"};

// --- Constant padding

Dims padded_shape(const Dims& shape, const ConstantPadAttrs& a) {
  Dims out = shape;
  for (int d = 0; d < shape.size(); ++d) out[d] += a.before[d] + a.after[d];
  return out;
}

void check_padding(const OpCall& call) {
  const auto& a = call.attributes<ConstantPadAttrs>();
  const Dims shape = call.input(0).shape();
  bool fits = a.before.size() == shape.size() && a.after.size() == shape.size();
  for (int d = 0; fits && d < shape.size(); ++d) fits = a.before[d] >= 0 && a.after[d] >= 0;
  if (!fits)
    throw_error<ShapeError>("constant_pad: padding ", a.before, " and ", a.after, " does not fit shape ", shape,
                            "; it is 0 or more for each dimension");
}

// The part of a padded tensor that the input fills.
Tensor inside(Tensor padded, const Dims& before, const Dims& shape) {
  for (int d = 0; d < shape.size(); ++d) padded = padded.narrow(d, before[d], shape[d]);
  return padded;
}

void constant_pad_composite(const OpCall& call, std::span<Tensor> outputs) {
  check_padding(call);
  const auto& a = call.attributes<ConstantPadAttrs>();
  const Tensor& x = call.input(0);
  outputs[0] = full(padded_shape(x.shape(), a), a.value, {x.dtype(), x.device()});
  inside(outputs[0], a.before, x.shape()).copy_(x);
}

constexpr OpDef kConstantPad{
    .name = "constant_pad",
    .kind = OpKind::kComposite,
    .dtypes = dtype_rules::same,
    .infer =
        [](Inference& call) {
          check_padding(call);
          call.add_output(padded_shape(call.input(0).shape(), call.attributes<ConstantPadAttrs>()));
        },
    .attrs = attrs_type<ConstantPadAttrs>,
    .vjp = [](Vjp& v) { v.grad() = inside(v.cotangent(), v.attributes<ConstantPadAttrs>().before, v.input_shape()); },
    .composite = constant_pad_composite,
    .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
      const auto& a = call.attributes<ConstantPadAttrs>();
      const RefTensor& x = call.inputs[0];
      RefTensor out = reference::zeros(padded_shape(x.shape, a), x.dtype);
      std::fill(out.values.begin(), out.values.end(), a.value.value());
      const Dims strides = contiguous_strides(out.shape);
      int64_t start = 0;
      for (int d = 0; d < x.shape.size(); ++d) start += a.before[d] * strides[d];
      for (size_t i = 0; i < x.values.size(); ++i)
        out.values[static_cast<size_t>(start + reference::strided_index(static_cast<int64_t>(i), x.shape, strides))] =
            x.values[i];
      return {out};
    }}};
OpSlot constant_pad_slot{kConstantPad, "shape"};

Tensor along(const Tensor& x, int dim, const std::vector<int64_t>& order) {
  return index_select(x, dim, tensor(order, {kInt64, x.device()}));
}

// Where position i of a dimension of n elements comes from, for i from -before to n + after - 1.
int64_t mirrored(int64_t i, int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::kReflect:
      return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    case PadMode::kReplicate:
      return std::clamp<int64_t>(i, 0, n - 1);
    default:
      return (i + n) % n;
  }
}

const char* mode_name(PadMode mode) {
  return mode == PadMode::kReflect ? "reflect" : mode == PadMode::kReplicate ? "replicate" : "circular";
}

// Takes away what negative padding cuts, and leaves the rest of the padding.
Tensor cut(const Tensor& x, int dim, int64_t* before, int64_t* after) {
  const int64_t first = std::max<int64_t>(-*before, 0), last = std::max<int64_t>(-*after, 0);
  if (first > x.size(dim) || last > x.size(dim) - first)
    throw_error<ShapeError>("pad: a padding of ", *before, " and ", *after, " takes more than dimension ", dim,
                            " of shape ", x.shape(), " has");
  *before = std::max<int64_t>(*before, 0);
  *after = std::max<int64_t>(*after, 0);
  return first + last > 0 ? x.narrow(dim, first, x.size(dim) - first - last) : x;
}

Tensor pad_by_index(Tensor x, std::span<const int64_t> pad, PadMode mode) {
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const int d = x.dim() - 1 - static_cast<int>(k);
    int64_t before = pad[2 * k], after = pad[2 * k + 1];
    if (mode == PadMode::kCircular) x = cut(x, d, &before, &after);  // what is cut does not come around
    const int64_t n = x.size(d);
    if (before == 0 && after == 0) continue;
    const int64_t most = mode == PadMode::kReflect    ? n - 1
                         : mode == PadMode::kCircular ? n
                         : n > 0                      ? std::numeric_limits<int64_t>::max() - n
                                                      : 0;
    if (before > most || after > most || before < -n || after < -n || before + n < -after)
      throw_error<ShapeError>("pad: padding ", before, " and ", after, " does not fit dimension ", d, " of shape ",
                              x.shape(), " in mode ", mode_name(mode));
    std::vector<int64_t> order;
    for (int64_t i = -before; i < n + after; ++i) order.push_back(mirrored(i, n, mode));
    x = along(x, d, order);
  }
  return x;
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return call(tril_slot, {&x}, &attrs);
}
Tensor triu(const Tensor& x, int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return call(triu_slot, {&x}, &attrs);
}
Tensor& tril_out(Tensor& out, const Tensor& x, int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return internal::write_out(tril_slot, out, {&x}, &attrs);
}
Tensor& triu_out(Tensor& out, const Tensor& x, int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return internal::write_out(triu_slot, out, {&x}, &attrs);
}
Tensor& Tensor::tril_(int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return internal::write_self(tril_slot, *this, &attrs);
}
Tensor& Tensor::triu_(int64_t diagonal) {
  const TriangleAttrs attrs{diagonal};
  return internal::write_self(triu_slot, *this, &attrs);
}

Tensor pad(const Tensor& x, const std::vector<int64_t>& pad, PadMode mode, const Scalar& value) {
  if (pad.size() % 2 != 0 || static_cast<int>(pad.size() / 2) > x.dim())
    throw_error<InvalidArgumentError>("pad: ", pad.size(), " numbers for shape ", x.shape(),
                                      "; give two for each dimension, from the last on");
  if (mode != PadMode::kConstant) return pad_by_index(x, pad, mode);
  check_fits("pad", value, x.dtype());
  Tensor part = x;
  ConstantPadAttrs attrs{Dims::of_size(x.dim()), Dims::of_size(x.dim()), value};
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const int d = x.dim() - 1 - static_cast<int>(k);
    int64_t before = pad[2 * k], after = pad[2 * k + 1];
    part = cut(part, d, &before, &after);
    attrs.before[d] = before;
    attrs.after[d] = after;
  }
  return call(constant_pad_slot, {&part}, &attrs);
}

Tensor Tensor::repeat(const Dims& counts) const {
  if (counts.size() < dim())
    throw_error<ShapeError>("repeat: ", counts, " has fewer numbers than shape ", shape(), " has dimensions");
  numel_of(counts);  // throws on a negative one
  Dims target = shape();
  while (target.size() < counts.size()) target.insert(0, 1);
  Tensor result = reshape(target);
  for (int d = 0; d < counts.size(); ++d) {
    if (counts[d] == 1) continue;
    int64_t outer = 1, run = 1;
    for (int i = 0; i < target.size(); ++i) (i < d ? outer : run) *= target[i];
    target[d] *= counts[d];
    result = result.reshape({outer, 1, run}).expand({outer, counts[d], run}).reshape(target);
  }
  return result.is_same(*this) || result.shares_storage_with(*this) ? result.clone() : result;
}

Tensor Tensor::flip(const Dims& dims) const {
  Tensor result = *this;
  uint32_t seen = 0;
  for (const int64_t dim : dims) {
    const int d = wrap_dim("flip", dim, this->dim());
    if (seen & 1u << d) throw_error<IndexError>("flip: dimension ", d, " appears twice in ", dims);
    seen |= 1u << d;
    if (this->dim() == 0) continue;
    std::vector<int64_t> order(static_cast<size_t>(size(d)));
    std::iota(order.rbegin(), order.rend(), 0);
    result = along(result, d, order);
  }
  return result.is_same(*this) ? clone() : result;
}

Tensor Tensor::roll(const Dims& shifts, const Dims& dims) const {
  if (dims.empty() && shifts.size() == 1) return flatten().roll(shifts, {0}).view(shape());
  if (shifts.size() != dims.size() || shifts.empty())
    throw_error<InvalidArgumentError>("roll: shifts ", shifts, " and dims ", dims, " must be as many, one or more");
  Tensor result = *this;
  for (int i = 0; i < dims.size(); ++i) {
    const int d = wrap_dim("roll", dims[i], dim());
    const int64_t n = dim() ? size(d) : 0;
    if (n == 0) continue;
    const int64_t cut = n - ((shifts[i] % n) + n) % n;
    if (cut != n) result = cat({result.slice(d, cut), result.slice(d, 0, cut)}, d);
  }
  return result.is_same(*this) ? clone() : result;
}

Tensor one_hot(const Tensor& index, int64_t num_classes) {
  if (index.dtype() != kInt64) throw_error<DTypeError>("one_hot: the index must be int64, it is ", index.dtype());
  if (num_classes < 0) {
    if (index.numel() == 0)
      throw_error<InvalidArgumentError>("one_hot: no index to tell the number of classes from; give num_classes");
    internal::check_shape_source("one_hot", index);
    num_classes = index.max().item<int64_t>() + 1;
  }
  Dims shape = index.shape();
  shape.push_back(num_classes);
  Tensor result = zeros(shape, {kInt64, index.device()});
  result.scatter_(-1, index.unsqueeze(-1), Scalar(1));
  return result;
}

}  // namespace vellum
