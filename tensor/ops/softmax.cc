#include <cmath>
#include <limits>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

using internal::call_into;
using internal::for_lines;

DTypes softmax_dtypes(const OpCall& call) {
  const DType asked = call.attributes<SoftmaxAttrs>().dtype;
  const DType t = asked == DType::kUndefined ? call.input(0).dtype() : asked;
  if (!is_floating(t))
    throw_error<DTypeError>(call.op.name, ": not defined for dtype ", t, "; name a floating dtype for the result");
  return {t, t};
}

struct Line {
  double top = -std::numeric_limits<double>::infinity();
  double total = 0;  // of exp(x - top)
};

Line fold_line(const RefTensor& x, int64_t n, const auto& at) {
  Line line;
  for (int64_t k = 0; k < n; ++k) line.top = std::max(line.top, x.values[at(k)].real());
  for (int64_t k = 0; k < n; ++k) line.total += std::exp(x.values[at(k)].real() - line.top);
  return line;
}

int64_t length_of(const Dims& shape, int dim) { return shape.empty() ? 1 : shape[dim]; }

// Each element x becomes f(x - top, total) of its line.
template <typename F>
std::vector<RefTensor> softmax_reference(const RefCall& call, F f) {
  const int dim = call.attributes<DimAttrs>().dim;
  RefTensor out = call.inputs[0];
  const int64_t n = length_of(out.shape, dim);
  for_lines(out.shape, dim, [&](auto at, size_t) {
    const Line line = fold_line(call.inputs[0], n, at);
    for (int64_t k = 0; k < n; ++k) out.values[at(k)] = f(out.values[at(k)].real() - line.top, line.total);
  });
  return {out};
}

// The sum of a product along the dimension, kept.
Tensor dot(const Tensor& a, const Tensor& b, int dim) {
  const Tensor product = mul(a, b);
  return product.dim() ? sum(product, {dim}, true) : product;
}

// --- softmax

constexpr OpDef kSoftmax{
    .name = "softmax",
    .kind = OpKind::kGeneral,
    .dtypes = softmax_dtypes,
    .domain = kFloatingDTypes,
    .infer = shape_rules::same,
    .attrs = attrs_type<SoftmaxAttrs>,
    .saves = {saves_output()},
    .vjp = [](Vjp& v) { v.grad() = softmax_backward(v.cotangent(), v.output(), v.attributes<SoftmaxAttrs>().dim.dim); },
    .reference = {.tensors = [](const RefCall& call) {
      return softmax_reference(call, [](double x, double total) { return std::exp(x) / total; });
    }}};
OpSlot softmax_slot{kSoftmax, "softmax"};

// z = y * (g - sum(g * y))
std::vector<RefTensor> softmax_backward_reference(const RefCall& call) {
  RefTensor out = call.inputs[0];
  const RefTensor &g = call.inputs[0], &y = call.inputs[1];
  const int dim = call.attributes<DimAttrs>().dim;
  for_lines(out.shape, dim, [&](auto at, size_t) {
    reference::Complex total = 0;
    for (int64_t k = 0; k < length_of(out.shape, dim); ++k) total += g.values[at(k)] * y.values[at(k)];
    for (int64_t k = 0; k < length_of(out.shape, dim); ++k)
      out.values[at(k)] = y.values[at(k)] * (g.values[at(k)] - total);
  });
  return {out};
}

void softmax_backward_vjp(Vjp& v) {
  const int dim = v.attributes<DimAttrs>().dim;
  const Tensor &h = v.cotangent(), &y = v.input(1);
  if (v.needs(0)) v.grad(0) = softmax_backward(h, y, dim);  // symmetric in g and h
  if (v.needs(1)) {
    const Tensor& g = v.input(0);
    v.grad(1) = sub(mul(h, sub(g, dot(g, y, dim))), mul(g, dot(h, y, dim)));
  }
}

constexpr OpDef kSoftmaxBackward{.name = "softmax_backward",
                                 .kind = OpKind::kGeneral,
                                 .inputs = 2,
                                 .dtypes = dtype_rules::promote,
                                 .domain = kFloatingDTypes,
                                 .infer = shape_rules::equal,
                                 .attrs = attrs_type<DimAttrs>,
                                 .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                                 .vjp = softmax_backward_vjp,
                                 .reference = {.tensors = softmax_backward_reference}};
OpSlot softmax_backward_slot{kSoftmaxBackward, "softmax"};

// --- log_softmax

constexpr OpDef kLogSoftmax{
    .name = "log_softmax",
    .kind = OpKind::kGeneral,
    .dtypes = softmax_dtypes,
    .domain = kFloatingDTypes,
    .infer = shape_rules::same,
    .attrs = attrs_type<SoftmaxAttrs>,
    .saves = {saves_output()},
    .vjp =
        [](Vjp& v) {
          v.grad() = log_softmax_backward(v.cotangent(), v.output(), v.attributes<SoftmaxAttrs>().dim.dim);
        },
    .reference = {.tensors = [](const RefCall& call) {
      return softmax_reference(call, [](double x, double total) { return x - std::log(total); });
    }}};
OpSlot log_softmax_slot{kLogSoftmax, "softmax"};

// z = g - softmax * sum(g), where softmax = exp(output).
std::vector<RefTensor> log_softmax_backward_reference(const RefCall& call) {
  RefTensor out = call.inputs[0];
  const RefTensor& log_p = call.inputs[1];
  const int dim = call.attributes<DimAttrs>().dim;
  for_lines(out.shape, dim, [&](auto at, size_t) {
    double total = 0;
    for (int64_t k = 0; k < length_of(out.shape, dim); ++k) total += call.inputs[0].values[at(k)].real();
    for (int64_t k = 0; k < length_of(out.shape, dim); ++k)
      out.values[at(k)] -= std::exp(log_p.values[at(k)].real()) * total;
  });
  return {out};
}

void log_softmax_backward_vjp(Vjp& v) {
  const int dim = v.attributes<DimAttrs>().dim;
  const Tensor& h = v.cotangent();
  const Tensor p = exp(v.input(1));
  if (v.needs(0)) v.grad(0) = sub(h, dot(h, p, dim));
  if (v.needs(1)) {
    const Tensor total = h.dim() ? sum(v.input(0), {dim}, true) : v.input(0);
    v.grad(1) = neg(mul(mul(h, p), total));
  }
}

constexpr OpDef kLogSoftmaxBackward{.name = "log_softmax_backward",
                                    .kind = OpKind::kGeneral,
                                    .inputs = 2,
                                    .dtypes = dtype_rules::promote,
                                    .domain = kFloatingDTypes,
                                    .infer = shape_rules::equal,
                                    .attrs = attrs_type<DimAttrs>,
                                    .saves = {saves_input(1), saves_input(0) | saves_input(1)},
                                    .vjp = log_softmax_backward_vjp,
                                    .reference = {.tensors = log_softmax_backward_reference}};
OpSlot log_softmax_backward_slot{kLogSoftmaxBackward, "softmax"};

SoftmaxAttrs softmax_attrs(const char* op, const Tensor& x, int64_t dim, DType dtype) {
  return {{wrap_dim(op, dim, x.dim())}, dtype};
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim, DType dtype) {
  const SoftmaxAttrs attrs = softmax_attrs("softmax", x, dim, dtype);
  return call(softmax_slot, {&x}, &attrs);
}

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  const DimAttrs attrs{wrap_dim("softmax_backward", dim, output.dim()), false};
  return call(softmax_backward_slot, {&grad, &output}, &attrs);
}

Tensor log_softmax(const Tensor& x, int64_t dim, DType dtype) {
  const SoftmaxAttrs attrs = softmax_attrs("log_softmax", x, dim, dtype);
  return call(log_softmax_slot, {&x}, &attrs);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  const DimAttrs attrs{wrap_dim("log_softmax_backward", dim, output.dim()), false};
  return call(log_softmax_backward_slot, {&grad, &output}, &attrs);
}

Tensor& softmax_out(Tensor& out, const Tensor& x, int64_t dim) {
  return call_into(softmax_slot, out, x, softmax_attrs("softmax", x, dim, DType::kUndefined));
}
Tensor& log_softmax_out(Tensor& out, const Tensor& x, int64_t dim) {
  return call_into(log_softmax_slot, out, x, softmax_attrs("log_softmax", x, dim, DType::kUndefined));
}

Tensor Tensor::softmax(int64_t dim, DType dtype) const { return vellum::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(int64_t dim, DType dtype) const { return vellum::log_softmax(*this, dim, dtype); }

}  // namespace vellum
