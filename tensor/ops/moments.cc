#include <cmath>
#include <limits>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

using internal::call_into;
using internal::infer_reduction;
using internal::reduce_attrs;
using internal::reduced_count;
using internal::reduced_dims;
using internal::with_kept_dims;
using reference::Complex;
using Group = std::vector<Complex>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- var and std. Of complex numbers: the mean of |x - mean|^2, which is real.

// 2 / (n - correction) * (x - mean) * g
Tensor var_gradient(const Tensor& g, const Tensor& x, const VarAttrs& a) {
  const double freedom = static_cast<double>(reduced_count(x.shape(), a.reduce)) - a.correction;
  return mul(sub(x, internal::mean_kept(x, a.reduce)), mul(with_kept_dims(g, x.shape(), a.reduce), 2 / freedom));
}

double variance(const Group& group, double correction) {
  Complex mean = 0;
  for (const Complex x : group) mean += x / static_cast<double>(group.size());
  double squares = 0;
  for (const Complex x : group) squares += std::norm(x - mean);
  return squares / std::max(0.0, static_cast<double>(group.size()) - correction);
}

constexpr OpDef kVar{.name = "var",
                     .kind = OpKind::kReduction,
                     .dtypes = internal::real_dtypes,
                     .domain = kDifferentiableDTypes,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<VarAttrs>,
                     .saves = {saves_input(0)},
                     .vjp = [](Vjp& v) { v.grad() = var_gradient(v.cotangent(), v.input(), v.attributes<VarAttrs>()); },
                     .reference = {.tensors = [](const RefCall& call) {
                       return internal::reduce_reference(call, [&](const Group& group) -> Complex {
                         return variance(group, call.attributes<VarAttrs>().correction);
                       });
                     }}};
OpSlot var_slot{kVar, "reduce"};

constexpr OpDef kStd{.name = "std",
                     .kind = OpKind::kReduction,
                     .dtypes = internal::real_dtypes,
                     .domain = kDifferentiableDTypes,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<VarAttrs>,
                     .saves = {saves_input(0) | saves_output()},
                     .vjp =
                         [](Vjp& v) {
                           // Equal elements have no slope rather than an infinite one.
                           const Tensor slope = div(v.cotangent(), mul(v.output(), 2));
                           const Tensor zero = v.output() == Scalar(0);
                           v.grad() = var_gradient(where(zero, wrap_number(0, slope), slope), v.input(),
                                                   v.attributes<VarAttrs>());
                         },
                     .reference = {.tensors = [](const RefCall& call) {
                       return internal::reduce_reference(call, [&](const Group& group) -> Complex {
                         return std::sqrt(variance(group, call.attributes<VarAttrs>().correction));
                       });
                     }}};
OpSlot std_slot{kStd, "reduce"};

// --- vector_norm: (sum |x|^p)^(1/p); of order 0 the number of elements that are not 0, of infinite order an extremum

void infer_vector_norm(Inference& call) {
  const double p = call.attributes<VectorNormAttrs>().ord;
  p < 0 || p == kInfinity ? internal::infer_reduction_of_some(call) : infer_reduction(call);
}

double norm_of(const Group& group, double p) {
  double total = p == -kInfinity ? kInfinity : 0;
  for (const Complex x : group) {
    const double size = std::abs(x);
    if (std::abs(p) != kInfinity)
      total += p == 0 ? size != 0 : std::pow(size, p);
    else if (size != size || (total == total && (p > 0 ? size > total : size < total)))
      total = size;
  }
  return p == 0 || std::abs(p) == kInfinity ? total : std::pow(total, 1 / p);
}

Tensor zero_where(const Tensor& condition, const Tensor& x) { return where(condition, wrap_number(0, x), x); }

// |x|^2, and 1 where x is 0, so that no power of it is infinite.
Tensor square_or_one(const Tensor& x, const Tensor& zero) {
  const Tensor square = mul(x, conj(x));
  const Tensor real = square.is_complex() ? square.real() : square;
  return where(zero, wrap_number(1, real), real);
}

// x |x|^e, and 0 at 0.
Tensor times_power(const Tensor& x, double e) {
  if (e == 0) return x;
  const Tensor zero = x == Scalar(0);
  if (x.is_complex()) return zero_where(zero, mul(x, pow(square_or_one(x, zero), e / 2)));
  const Tensor size = where(x < Scalar(0), neg(x), x);
  return zero_where(zero, mul(x, pow(where(zero, wrap_number(1, x), size), e)));
}

// The largest or smallest elements share the gradient. Magnitudes of complex numbers come from the kernel that found
// the extremum, so that it is met to the last bit.
Tensor infinite_norm_gradient(const Tensor& g, const Tensor& x, const Tensor& norm, const ReduceAttrs& a) {
  const Tensor at = x.detach();
  const Tensor size =
      x.is_complex() ? vector_norm(at.unsqueeze(-1), kInfinity, {-1}) : where(at < Scalar(0), neg(at), at);
  const Tensor hits = eq(size, norm).to(to_real(x.dtype()));
  return mul(times_power(x, -1), mul(div(g, internal::sum_kept(hits, a)), hits));
}

void vector_norm_vjp(Vjp& v) {
  const auto& a = v.attributes<VectorNormAttrs>();
  if (a.ord == 0) return;
  const Dims shape = v.input_shape();
  const Tensor g = with_kept_dims(v.cotangent(), shape, a.reduce);
  const Tensor& x = v.input();
  if (a.ord == 1) {
    v.grad() = mul(times_power(x, -1), g);
    return;
  }
  const Tensor norm = with_kept_dims(v.output(), shape, a.reduce);
  if (std::abs(a.ord) == kInfinity) {
    v.grad() = infinite_norm_gradient(g, x, norm, a.reduce);
    return;
  }
  const Tensor zero = norm == Scalar(0);
  const Tensor scale = pow(where(zero, wrap_number(1, norm), norm), 1 - a.ord);
  v.grad() = mul(times_power(x, a.ord - 2), zero_where(zero, mul(g, scale)));
}

constexpr OpDef kVectorNorm{.name = "vector_norm",
                            .kind = OpKind::kReduction,
                            .dtypes = internal::real_dtypes,
                            .domain = kDifferentiableDTypes,
                            .infer = infer_vector_norm,
                            .reduced_dims = reduced_dims,
                            .attrs = attrs_type<VectorNormAttrs>,
                            .saves = {saves_input(0) | saves_output()},
                            .refine_saves = [](const void* attrs, int, uint32_t, Saves declared) -> Saves {
                              const double p = static_cast<const VectorNormAttrs*>(attrs)->ord;
                              return p == 0 ? saves_nothing() : p == 1 ? saves_input(0) : declared;
                            },
                            .vjp = vector_norm_vjp,
                            .reference = {.tensors = [](const RefCall& call) {
                              return internal::reduce_reference(call, [&](const Group& group) -> Complex {
                                return norm_of(group, call.attributes<VectorNormAttrs>().ord);
                              });
                            }}};
OpSlot vector_norm_slot{kVectorNorm, "reduce"};

// --- logsumexp

constexpr OpDef kLogsumexp{.name = "logsumexp",
                           .kind = OpKind::kReduction,
                           .dtypes = dtype_rules::promote_integers_to_float,
                           .domain = kFloatingDTypes,
                           .infer = infer_reduction,
                           .reduced_dims = reduced_dims,
                           .attrs = attrs_type<ReduceAttrs>,
                           .saves = {saves_input(0) | saves_output()},
                           .vjp =
                               [](Vjp& v) {
                                 const auto& a = v.attributes<ReduceAttrs>();
                                 const Dims shape = v.input_shape();
                                 const Tensor share = exp(sub(v.input(), with_kept_dims(v.output(), shape, a)));
                                 v.grad() = mul(with_kept_dims(v.cotangent(), shape, a), share);
                               },
                           .reference = {.tensors = [](const RefCall& call) {
                             return internal::reduce_reference(call, [](const Group& group) -> Complex {
                               double top = -kInfinity, total = 0;
                               for (const Complex x : group) top = std::max(top, x.real());
                               if (std::abs(top) == kInfinity) top = 0;
                               for (const Complex x : group) total += std::exp(x.real() - top);
                               return top + std::log(total);
                             });
                           }}};
OpSlot logsumexp_slot{kLogsumexp, "reduce"};

// Shifted by the largest real part, where that is finite.
Tensor complex_logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  const ReduceAttrs attrs = reduce_attrs("logsumexp", x, dims, true);
  if (reduced_count(x.shape(), attrs) == 0) return log(sum(exp(x), dims, keepdim));
  const Tensor top = amax(x.detach().real(), dims, true);
  const Tensor shift = where(isfinite(top), top, wrap_number(0, top));
  const Tensor kept = add(log(sum(exp(sub(x, shift)), dims, true)), shift);
  return keepdim ? kept : kept.reshape(internal::reduced_shape(x.shape(), attrs, false));
}

// --- matrix_norm

std::pair<int64_t, int64_t> matrix_dims(const Tensor& x, const Dims& dims) {
  if (dims.size() != 2 || x.dim() < 2)
    throw_error<ShapeError>("matrix_norm: takes two dimensions, they are ", dims,
                            ", of a tensor of rank 2 or more, it is ", x.shape(), "; use vector_norm");
  const int64_t rows = wrap_dim("matrix_norm", dims[0], x.dim()), columns = wrap_dim("matrix_norm", dims[1], x.dim());
  if (rows == columns) throw_error<IndexError>("matrix_norm: dimension ", dims[0], " is named twice in ", dims);
  return {rows, columns};
}

template <typename Order>
[[noreturn]] void refuse_order(Order ord) {
  throw_error<NotImplementedError>("matrix_norm: order ", ord,
                                   " is not there, for singular values are not; take 'fro', 1, -1, or an infinity");
}

VarAttrs var_attrs(const char* op, const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return {reduce_attrs(op, x, dims, keepdim), correction};
}

}  // namespace

Tensor var(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  const VarAttrs attrs = var_attrs("var", x, dims, correction, keepdim);
  return call(var_slot, {&x}, &attrs);
}
Tensor std(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  const VarAttrs attrs = var_attrs("std", x, dims, correction, keepdim);
  return call(std_slot, {&x}, &attrs);
}
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return {var(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return {std(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}
Tensor vector_norm(const Tensor& x, double ord, const Dims& dims, bool keepdim) {
  const VectorNormAttrs attrs{reduce_attrs("vector_norm", x, dims, keepdim), ord};
  return call(vector_norm_slot, {&x}, &attrs);
}
Tensor norm(const Tensor& x, double p, const Dims& dims, bool keepdim) { return vector_norm(x, p, dims, keepdim); }
Tensor norm(const Tensor& x, std::string_view p, const Dims& dims, bool keepdim) {
  if (p != "fro") throw_error<InvalidArgumentError>("norm: order '", p, "' is not known; give 'fro' or a number");
  return vector_norm(x, 2, dims, keepdim);
}
Tensor matrix_norm(const Tensor& x, double ord, const Dims& dims, bool keepdim) {
  const auto [rows, columns] = matrix_dims(x, dims);
  if (std::abs(ord) != 1 && std::abs(ord) != kInfinity) refuse_order(ord);
  const bool of_columns = std::abs(ord) == 1;
  const Tensor sums = vector_norm(x, 1, {of_columns ? rows : columns}, true);
  const Dims across{of_columns ? columns : rows};
  const Tensor norm = ord > 0 ? amax(sums, across, true) : amin(sums, across, true);
  return keepdim ? norm : norm.squeeze(std::max(rows, columns)).squeeze(std::min(rows, columns));
}
Tensor matrix_norm(const Tensor& x, std::string_view ord, const Dims& dims, bool keepdim) {
  const auto [rows, columns] = matrix_dims(x, dims);
  if (ord != "fro") refuse_order(ord);
  return vector_norm(x, 2, {rows, columns}, keepdim);
}
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  if (x.is_complex()) return complex_logsumexp(x, dims, keepdim);
  const ReduceAttrs attrs = reduce_attrs("logsumexp", x, dims, keepdim);
  return call(logsumexp_slot, {&x}, &attrs);
}

Tensor& var_out(Tensor& out, const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return call_into(var_slot, out, x, var_attrs("var", x, dims, correction, keepdim));
}
Tensor& std_out(Tensor& out, const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return call_into(std_slot, out, x, var_attrs("std", x, dims, correction, keepdim));
}
Tensor& vector_norm_out(Tensor& out, const Tensor& x, double ord, const Dims& dims, bool keepdim) {
  return call_into(vector_norm_slot, out, x, VectorNormAttrs{reduce_attrs("vector_norm", x, dims, keepdim), ord});
}
Tensor& logsumexp_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  if (x.is_complex())
    return internal::write_composed("logsumexp", out, {&x}, [&] { return complex_logsumexp(x, dims, keepdim); });
  return call_into(logsumexp_slot, out, x, reduce_attrs("logsumexp", x, dims, keepdim));
}

Tensor Tensor::var(const Dims& dims, double correction, bool keepdim) const {
  return vellum::var(*this, dims, correction, keepdim);
}
Tensor Tensor::std(const Dims& dims, double correction, bool keepdim) const {
  return vellum::std(*this, dims, correction, keepdim);
}
Tensor Tensor::norm(double p, const Dims& dims, bool keepdim) const { return vellum::norm(*this, p, dims, keepdim); }
Tensor Tensor::logsumexp(const Dims& dims, bool keepdim) const { return vellum::logsumexp(*this, dims, keepdim); }

}  // namespace vellum
