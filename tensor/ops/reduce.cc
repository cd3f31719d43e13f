#include <limits>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using reference::Complex;

bool is_reduced(const ReduceAttrs& a, int dim) { return a.dims >> dim & 1; }

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

void infer_reduction(Inference& call) {
  const auto& a = call.attributes<ReduceAttrs>();
  call.add_output(reduced_shape(call.input(0).shape(), a, a.keepdim));
}

uint32_t reduced_dims(const OpCall& call) { return call.attributes<ReduceAttrs>().dims; }

int64_t reduced_count(const Dims& shape, const ReduceAttrs& a) {
  int64_t count = 1;
  for (int i = 0; i < shape.size(); ++i)
    if (is_reduced(a, i)) count *= shape[i];
  return count;
}

// A reduced tensor with sizes of 1 where dimensions went, so that it broadcasts against the input.
Tensor with_kept_dims(const Tensor& reduced, const Dims& shape, const ReduceAttrs& a) {
  return a.keepdim || a.dims == 0 ? reduced : reduced.reshape(reduced_shape(shape, a, true));
}

// Folds all elements of each output position with `fold`, from `start`.
template <typename F>
std::vector<RefTensor> fold_reference(const RefCall& call, Complex start, F fold) {
  const auto& a = call.attributes<ReduceAttrs>();
  const RefTensor& x = call.inputs[0];
  RefTensor out = reference::zeros(reduced_shape(x.shape, a, a.keepdim), x.dtype);
  std::fill(out.values.begin(), out.values.end(), start);
  Dims strides = contiguous_strides(reduced_shape(x.shape, a, true));
  for (int i = 0; i < x.shape.size(); ++i)
    if (is_reduced(a, i)) strides[i] = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    Complex& into = out.values[reference::strided_index(static_cast<int64_t>(i), x.shape, strides)];
    into = fold(into, x.values[i]);
  }
  return {out};
}

// Integers are summed in int64.
DTypes sum_dtypes(const OpCall& call) {
  const DType t = call.input(0).dtype();
  return is_integral(t) ? DTypes{kInt64, kInt64} : DTypes{t, t};
}

constexpr DTypeSet kSumDTypes = kDifferentiableDTypes | DTypeSet(kInt64);

constexpr OpDef kSum{.name = "sum",
                     .kind = OpKind::kReduction,
                     .dtypes = sum_dtypes,
                     .domain = kSumDTypes,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<ReduceAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           const Dims shape = v.input_shape();
                           v.grad() = with_kept_dims(v.cotangent(), shape, v.attributes<ReduceAttrs>()).expand(shape);
                         },
                     .reference = {.tensors = [](const RefCall& call) {
                       return fold_reference(call, 0, [](Complex a, Complex x) { return a + x; });
                     }}};
OpSlot sum_slot{kSum, "reduce"};

constexpr OpDef kMean{.name = "mean",
                      .kind = OpKind::kReduction,
                      .dtypes = dtype_rules::same,
                      .domain = kDifferentiableDTypes,
                      .infer = infer_reduction,
                      .reduced_dims = reduced_dims,
                      .attrs = attrs_type<ReduceAttrs>,
                      .vjp =
                          [](Vjp& v) {
                            const auto& a = v.attributes<ReduceAttrs>();
                            const Dims shape = v.input_shape();
                            const Tensor share = div(v.cotangent(), static_cast<double>(reduced_count(shape, a)));
                            v.grad() = with_kept_dims(share, shape, a).expand(shape);
                          },
                      .reference = {.tensors = [](const RefCall& call) {
                        auto out = fold_reference(call, 0, [](Complex a, Complex x) { return a + x; });
                        const double count =
                            static_cast<double>(reduced_count(call.inputs[0].shape, call.attributes<ReduceAttrs>()));
                        for (Complex& x : out[0].values) x /= count;
                        return out;
                      }}};
OpSlot mean_slot{kMean, "reduce"};

void infer_amax(Inference& call) {
  const auto& a = call.attributes<ReduceAttrs>();
  const Dims shape = call.input(0).shape();
  if (reduced_count(shape, a) == 0 && numel_of(reduced_shape(shape, a, true)) > 0)
    throw_error<ShapeError>("amax: shape ", shape,
                            " has no elements along the reduced dimensions, so there is no maximum");
  infer_reduction(call);
}

void amax_vjp(Vjp& v) {
  const auto& a = v.attributes<ReduceAttrs>();
  const Dims shape = v.input_shape();
  const Tensor hits = eq(v.input(), with_kept_dims(v.output(), shape, a)).to(v.input_dtype());
  Dims dims;
  for (int i = 0; i < shape.size(); ++i)
    if (is_reduced(a, i)) dims.push_back(i);
  const Tensor count = dims.empty() ? hits : sum(hits, dims, true);
  v.grad() = mul(div(with_kept_dims(v.cotangent(), shape, a), count), hits);
}

constexpr OpDef kAmax{.name = "amax",
                      .kind = OpKind::kReduction,
                      .dtypes = dtype_rules::same,
                      .domain = kRealDTypes,
                      .infer = infer_amax,
                      .reduced_dims = reduced_dims,
                      .attrs = attrs_type<ReduceAttrs>,
                      .saves = {saves_input(0) | saves_output()},
                      .vjp = amax_vjp,
                      .reference = {.tensors = [](const RefCall& call) {
                        return fold_reference(call, -std::numeric_limits<double>::infinity(), [](Complex a, Complex x) {
                          return x.real() > a.real() || x.real() != x.real() ? x : a;
                        });
                      }}};
OpSlot amax_slot{kAmax, "reduce"};

// --- max along a dimension, with indices

void infer_max(Inference& call) {
  const auto& a = call.attributes<DimAttrs>();
  Dims shape = call.input(0).shape();
  if (!shape.empty()) {
    if (shape[a.dim] == 0)
      throw_error<ShapeError>("max: dimension ", a.dim, " of shape ", shape, " is empty, so there is no maximum");
    if (a.keepdim)
      shape[a.dim] = 1;
    else
      shape.erase(a.dim);
  }
  call.add_output(shape);
  call.add_output(shape, kInt64);
}

void max_vjp(Vjp& v) {
  const auto& a = v.attributes<DimAttrs>();
  const Dims shape = v.input_shape();
  if (shape.empty()) {
    v.grad() = v.cotangent(0);
    return;
  }
  const auto kept = [&a](const Tensor& t) { return a.keepdim ? t : t.unsqueeze(a.dim); };
  v.grad() = gather_backward(kept(v.cotangent(0)), kept(v.output(1)), a.dim, shape);
}

std::vector<RefTensor> max_reference(const RefCall& call) {
  const auto& a = call.attributes<DimAttrs>();
  const RefTensor& x = call.inputs[0];
  Dims shape = x.shape;
  if (!shape.empty()) {
    if (a.keepdim)
      shape[a.dim] = 1;
    else
      shape.erase(a.dim);
  }
  const reference::Split3 s(x.shape, a.dim);
  RefTensor values = reference::zeros(shape, x.dtype), indices = reference::zeros(shape, kInt64);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      int64_t best = 0;
      const auto at = [&](int64_t k) { return x.values[(o * s.n + k) * s.inner + i].real(); };
      for (int64_t k = 1; k < s.n; ++k)
        if (at(k) > at(best) || (at(k) != at(k) && at(best) == at(best))) best = k;
      values.values[o * s.inner + i] = at(best);
      indices.values[o * s.inner + i] = static_cast<double>(best);
    }
  return {values, indices};
}

constexpr OpDef kMax{.name = "max",
                     .kind = OpKind::kGeneral,
                     .outputs = 2,
                     .dtypes = dtype_rules::same,
                     .domain = kRealDTypes,
                     .infer = infer_max,
                     .attrs = attrs_type<DimAttrs>,
                     .saves = {saves_output(1)},
                     .vjp = max_vjp,
                     .non_differentiable_outputs = 0b10,
                     .reference = {.tensors = max_reference}};
OpSlot max_slot{kMax, "reduce"};

ReduceAttrs reduce_attrs(const char* op, const Tensor& x, const Dims& dims, bool keepdim) {
  ReduceAttrs attrs{0, keepdim};
  for (const int64_t d : dims) {
    const uint32_t bit = 1u << wrap_dim(op, d, x.dim());
    if (attrs.dims & bit) throw_error<IndexError>(op, ": dimension ", d, " is named twice in ", dims);
    attrs.dims |= bit;
  }
  const uint32_t all = (1u << x.dim()) - 1;
  attrs.dims = dims.empty() ? all : attrs.dims & all;
  return attrs;
}

Tensor reduce(OpSlot& slot, const Tensor& x, const Dims& dims, bool keepdim) {
  const ReduceAttrs attrs = reduce_attrs(slot.def().name.data(), x, dims, keepdim);
  return call(slot, {&x}, &attrs);
}

}  // namespace

Tensor sum(const Tensor& x) { return reduce(sum_slot, x, {}, false); }
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) { return reduce(sum_slot, x, dims, keepdim); }
Tensor mean(const Tensor& x) { return reduce(mean_slot, x, {}, false); }
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) { return reduce(mean_slot, x, dims, keepdim); }
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) { return reduce(amax_slot, x, dims, keepdim); }
Tensor max(const Tensor& x) { return reduce(amax_slot, x, {}, false); }

Tensor& sum_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  const ReduceAttrs attrs = reduce_attrs("sum", x, dims, keepdim);
  const Tensor* inputs[] = {&x};
  call_out(sum_slot, out, inputs, &attrs);
  return out;
}

std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  const DimAttrs attrs{wrap_dim("max", dim, x.dim()), keepdim};
  const Tensor* inputs[] = {&x};
  std::vector<Tensor> outputs = call_all(max_slot, inputs, &attrs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor argmax(const Tensor& x, int64_t dim, bool keepdim) { return max(x.detach(), dim, keepdim).second; }

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  if (!is_broadcastable_to(shape, x.shape()))
    throw_error<ShapeError>("sum_to: shape ", x.shape(), " is not a broadcast of ", shape);
  const int shift = x.dim() - shape.size();
  ReduceAttrs attrs{0, true};
  for (int i = 0; i < x.dim(); ++i)
    if (i < shift || (shape[i - shift] == 1 && x.impl().sizes[i] != 1)) attrs.dims |= 1u << i;
  const Tensor summed = attrs.dims ? call(sum_slot, {&x}, &attrs) : x;
  return shift > 0 ? summed.reshape(shape) : summed;
}

Tensor Tensor::sum() const { return vellum::sum(*this); }
Tensor Tensor::sum(const Dims& dims, bool keepdim) const { return vellum::sum(*this, dims, keepdim); }
Tensor Tensor::mean() const { return vellum::mean(*this); }
Tensor Tensor::mean(const Dims& dims, bool keepdim) const { return vellum::mean(*this, dims, keepdim); }
Tensor Tensor::max() const { return vellum::max(*this); }
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return vellum::max(*this, dim, keepdim); }
Tensor Tensor::argmax(int64_t dim, bool keepdim) const { return vellum::argmax(*this, dim, keepdim); }

}  // namespace vellum
