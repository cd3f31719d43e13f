#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

using internal::call_into;
using internal::call_pair;
using internal::call_pair_into;
using internal::for_lines;
using internal::reduce_attrs;
using internal::with_kept_dims;
using reference::Complex;
using Group = std::vector<Complex>;

bool is_nan(double x) { return x != x; }

// Whether x goes before the best so far: beyond it, or the first NaN.
template <bool kMax>
bool beats(double x, double best) {
  if (is_nan(x) || is_nan(best)) return is_nan(x) && !is_nan(best);
  return kMax ? x > best : x < best;
}

// --- amax and amin. Equal elements share the gradient.

void extremum_vjp(Vjp& v) {
  const auto& a = v.attributes<ReduceAttrs>();
  const Dims shape = v.input_shape();
  const Tensor hits = eq(v.input(), with_kept_dims(v.output(), shape, a)).to(v.input_dtype());
  v.grad() = mul(div(with_kept_dims(v.cotangent(), shape, a), internal::sum_kept(hits, a)), hits);
}

template <bool kMax>
std::vector<RefTensor> extremum_reference(const RefCall& call) {
  return internal::reduce_reference(call, [](const Group& group) {
    Complex best = group[0];
    for (const Complex x : group)
      if (beats<kMax>(x.real(), best.real())) best = x;
    return best;
  });
}

template <bool kMax>
constexpr OpDef extremum(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kReduction,
          .dtypes = dtype_rules::same,
          .domain = kRealDTypes,
          .infer = internal::infer_reduction_of_some,
          .reduced_dims = internal::reduced_dims,
          .attrs = attrs_type<ReduceAttrs>,
          .saves = {saves_input(0) | saves_output()},
          .vjp = extremum_vjp,
          .reference = {.tensors = extremum_reference<kMax>}};
}
constexpr OpDef kAmax = extremum<true>("amax");
constexpr OpDef kAmin = extremum<false>("amin");
OpSlot amax_slot{kAmax, "reduce"}, amin_slot{kAmin, "reduce"};

// --- max and min along a dimension, with indices; argmax and argmin, along a dimension or of all elements

Dims shape_of_lines(const OpCall& call, Dims shape) {
  const auto& a = call.attributes<DimAttrs>();
  const bool empty = a.dim == kAllDims ? numel_of(shape) == 0 : !shape.empty() && shape[a.dim] == 0;
  if (empty)
    throw_error<ShapeError>(call.op.name, ": ", a.dim == kAllDims ? "" : str_cat("dimension ", a.dim, " of "), "shape ",
                            shape, " is empty, so there is no ", call.op.name);
  if (shape.empty()) return shape;
  if (a.dim == kAllDims) return a.keepdim ? Dims::filled(shape.size(), 1) : Dims();
  if (a.keepdim)
    shape[a.dim] = 1;
  else
    shape.erase(a.dim);
  return shape;
}

// The position of the extremum of each line, in the lines' order.
template <bool kMax>
std::vector<size_t> find_best(const RefTensor& x, int dim) {
  const Dims shape = dim == kAllDims ? Dims{static_cast<int64_t>(x.values.size())} : x.shape;
  const int along = dim == kAllDims ? 0 : dim;
  const int64_t n = shape.empty() ? 1 : shape[along];
  std::vector<size_t> best;
  for_lines(shape, along, [&](auto at, size_t) {
    int64_t found = 0;
    for (int64_t k = 1; k < n; ++k)
      if (beats<kMax>(x.values[at(k)].real(), x.values[at(found)].real())) found = k;
    best.push_back(static_cast<size_t>(found));
  });
  return best;
}

Dims reference_shape(const RefTensor& x, const DimAttrs& a) {
  ReduceAttrs reduced{a.dim == kAllDims ? ~0u : 1u << a.dim};
  return internal::reduced_shape(x.shape, reduced, a.keepdim);
}

template <bool kMax>
std::vector<RefTensor> argument_reference(const RefCall& call) {
  const auto& a = call.attributes<DimAttrs>();
  RefTensor out = reference::zeros(reference_shape(call.inputs[0], a), kInt64);
  const std::vector<size_t> best = find_best<kMax>(call.inputs[0], a.dim);
  for (size_t i = 0; i < best.size(); ++i) out.values[i] = static_cast<double>(best[i]);
  return {out};
}

template <bool kMax>
std::vector<RefTensor> pair_reference(const RefCall& call) {
  const auto& a = call.attributes<DimAttrs>();
  const RefTensor& x = call.inputs[0];
  RefTensor values = reference::zeros(reference_shape(x, a), x.dtype), indices = argument_reference<kMax>(call)[0];
  for_lines(x.shape, a.dim, [&](auto at, size_t line) {
    values.values[line] = x.values[at(static_cast<int64_t>(indices.values[line].real()))];
  });
  return {values, indices};
}

void infer_pair(Inference& call) {
  const Dims shape = shape_of_lines(call, call.input(0).shape());
  call.add_output(shape);
  call.add_output(shape, kInt64);
}

void pair_vjp(Vjp& v) {
  const auto& a = v.attributes<DimAttrs>();
  const Dims shape = v.input_shape();
  if (shape.empty()) {
    v.grad() = v.cotangent(0);
    return;
  }
  const auto kept = [&a](const Tensor& t) { return a.keepdim ? t : t.unsqueeze(a.dim); };
  v.grad() = gather_backward(kept(v.cotangent(0)), kept(v.output(1)), a.dim, shape);
}

template <bool kMax>
constexpr OpDef pair_of(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kGeneral,
          .outputs = 2,
          .dtypes = dtype_rules::same,
          .domain = kRealDTypes,
          .infer = infer_pair,
          .attrs = attrs_type<DimAttrs>,
          .saves = {saves_output(1)},
          .vjp = pair_vjp,
          .non_differentiable_outputs = 0b10,
          .reference = {.tensors = pair_reference<kMax>}};
}
constexpr OpDef kMax = pair_of<true>("max");
constexpr OpDef kMin = pair_of<false>("min");
OpSlot max_slot{kMax, "reduce"}, min_slot{kMin, "reduce"};

DTypes index_dtypes(const OpCall& call) { return {dtype_rules::same(call).compute, kInt64}; }

template <bool kMax>
constexpr OpDef argument_of(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kGeneral,
          .dtypes = index_dtypes,
          .domain = kRealDTypes,
          .infer = [](Inference& call) { call.add_output(shape_of_lines(call, call.input(0).shape())); },
          .attrs = attrs_type<DimAttrs>,
          .reference = {.tensors = argument_reference<kMax>}};
}
constexpr OpDef kArgmax = argument_of<true>("argmax");
constexpr OpDef kArgmin = argument_of<false>("argmin");
OpSlot argmax_slot{kArgmax, "reduce"}, argmin_slot{kArgmin, "reduce"};

DimAttrs dim_attrs(const OpSlot& slot, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return {dim ? wrap_dim(slot.def().name.data(), *dim, x.dim()) : kAllDims, keepdim};
}

Tensor extremum_of(OpSlot& slot, const Tensor& x, const Dims& dims, bool keepdim) {
  const ReduceAttrs attrs = reduce_attrs(slot.def().name.data(), x, dims, keepdim);
  return call(slot, {&x}, &attrs);
}

Tensor argument(OpSlot& slot, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const DimAttrs attrs = dim_attrs(slot, x, dim, keepdim);
  return call(slot, {&x}, &attrs);
}

}  // namespace

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) { return extremum_of(amax_slot, x, dims, keepdim); }
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) { return extremum_of(amin_slot, x, dims, keepdim); }
Tensor max(const Tensor& x) { return extremum_of(amax_slot, x, {}, false); }
Tensor min(const Tensor& x) { return extremum_of(amin_slot, x, {}, false); }
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return call_pair(max_slot, x, dim_attrs(max_slot, x, dim, keepdim));
}
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return call_pair(min_slot, x, dim_attrs(min_slot, x, dim, keepdim));
}
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return argument(argmax_slot, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return argument(argmin_slot, x, dim, keepdim);
}

Tensor& amax_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  return call_into(amax_slot, out, x, reduce_attrs("amax", x, dims, keepdim));
}
Tensor& amin_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  return call_into(amin_slot, out, x, reduce_attrs("amin", x, dims, keepdim));
}
std::pair<Tensor&, Tensor&> max_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim, bool keepdim) {
  return call_pair_into(max_slot, values, indices, x, dim_attrs(max_slot, x, dim, keepdim));
}
std::pair<Tensor&, Tensor&> min_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim, bool keepdim) {
  return call_pair_into(min_slot, values, indices, x, dim_attrs(min_slot, x, dim, keepdim));
}
Tensor& argmax_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return call_into(argmax_slot, out, x, dim_attrs(argmax_slot, x, dim, keepdim));
}
Tensor& argmin_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return call_into(argmin_slot, out, x, dim_attrs(argmin_slot, x, dim, keepdim));
}

Tensor Tensor::amax(const Dims& dims, bool keepdim) const { return vellum::amax(*this, dims, keepdim); }
Tensor Tensor::amin(const Dims& dims, bool keepdim) const { return vellum::amin(*this, dims, keepdim); }
Tensor Tensor::max() const { return vellum::max(*this); }
Tensor Tensor::min() const { return vellum::min(*this); }
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return vellum::max(*this, dim, keepdim); }
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return vellum::min(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return vellum::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return vellum::argmin(*this, dim, keepdim); }

}  // namespace vellum
