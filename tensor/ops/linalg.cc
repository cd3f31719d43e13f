#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

constexpr DTypeSet kMatmulDTypes{uint16_t(kAllDTypes.bits & ~DTypeSet(kBool).bits)};

Dims batch_of(const Dims& shape) { return Dims(std::span<const int64_t>(shape.data(), shape.size() - 2)); }

// a [batch..., M, K], b [batch..., K, N]; matmul() has made the batches equal.
void infer_matmul(Inference& call) {
  Dims shape = call.input(0).shape();
  const Dims b = call.input(1).shape();
  const int r = shape.size();
  if (r < 2 || b.size() != r || batch_of(shape) != batch_of(b))
    throw_error<ShapeError>("matmul: ", shape, " x ", b, " are not matrices with one batch; use matmul()");
  if (shape[r - 1] != b[r - 2])
    throw_error<ShapeError>("matmul: inner dimensions differ: ", shape, " x ", b, " (", shape[r - 1], " != ", b[r - 2],
                            ")");
  shape[r - 1] = b[r - 1];
  call.add_output(shape);
}

std::vector<RefTensor> matmul_reference(const RefCall& call) {
  const RefTensor &a = call.inputs[0], &b = call.inputs[1];
  const int r = a.shape.size();
  const int64_t m = a.shape[r - 2], k = a.shape[r - 1], n = b.shape[r - 1];
  Dims shape = a.shape;
  shape[r - 1] = n;
  RefTensor out = reference::zeros(shape, a.dtype);
  const int64_t batches = numel_of(batch_of(shape));
  for (int64_t s = 0; s < batches; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          out.values[(s * m + i) * n + j] += a.values[(s * m + i) * k + l] * b.values[(s * k + l) * n + j];
  return {out};
}

constexpr OpDef kMatmul{.name = "matmul",
                        .kind = OpKind::kGeneral,
                        .inputs = 2,
                        .dtypes = dtype_rules::promote,
                        .domain = kMatmulDTypes,
                        .infer = infer_matmul,
                        .saves = {saves_input(1), saves_input(0)},
                        .vjp =
                            [](Vjp& v) {
                              const Tensor& g = v.cotangent();
                              if (v.needs(0)) v.grad(0) = matmul(g, conj(v.input(1)).transpose(-2, -1));
                              if (v.needs(1)) v.grad(1) = matmul(conj(v.input(0)).transpose(-2, -1), g);
                            },
                        .reference = {.tensors = matmul_reference}};
OpSlot matmul_slot{kMatmul, "linalg"};

// --- linear

void infer_linear(Inference& call) {
  Dims shape = call.input(0).shape();
  const Dims weight = call.input(1).shape();
  if (weight.size() != 2 || shape.empty() || shape.back() != weight[1])
    throw_error<ShapeError>("linear: input ", shape, " does not fit weight ", weight,
                            "; the input's last size must be the weight's second");
  if (const Tensor& bias = call.input(2); bias.defined() && bias.shape() != Dims{weight[0]})
    throw_error<ShapeError>("linear: bias ", bias.shape(), " does not fit weight ", weight, "; it must be [", weight[0],
                            "]");
  shape[shape.size() - 1] = weight[0];
  call.add_output(shape);
}

// [..., K] as [rows, K].
Tensor rows(const Tensor& t) {
  if (t.dim() == 2) return t;
  int64_t count = 1;
  for (int i = 0; i + 1 < t.dim(); ++i) count *= t.size(i);
  return t.reshape({count, t.size(-1)});
}

void linear_vjp(Vjp& v) {
  const Tensor g = rows(v.cotangent());
  if (v.needs(0)) v.grad(0) = matmul(v.cotangent(), conj(v.input(1)));
  if (v.needs(1)) v.grad(1) = matmul(g.transpose(0, 1), conj(rows(v.input(0))));
  if (v.needs(2)) v.grad(2) = sum(g, {0});
}

std::vector<RefTensor> linear_reference(const RefCall& call) {
  const RefTensor &x = call.inputs[0], &w = call.inputs[1];
  const int64_t k = w.shape[1], m = w.shape[0];
  Dims shape = x.shape;
  shape[shape.size() - 1] = m;
  RefTensor out = reference::zeros(shape, x.dtype);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / m, column = static_cast<int64_t>(i) % m;
    for (int64_t l = 0; l < k; ++l) out.values[i] += x.values[row * k + l] * w.values[column * k + l];
    if (call.inputs.size() > 2 && !call.inputs[2].values.empty()) out.values[i] += call.inputs[2].values[column];
  }
  return {out};
}

constexpr OpDef kLinear{.name = "linear",
                        .kind = OpKind::kGeneral,
                        .inputs = 3,
                        .optional_inputs = 0b100,
                        .dtypes = dtype_rules::promote,
                        .domain = kDifferentiableDTypes,
                        .infer = infer_linear,
                        .saves = {saves_input(1), saves_input(0), saves_nothing()},
                        .vjp = linear_vjp,
                        .reference = {.tensors = linear_reference}};
OpSlot linear_slot{kLinear, "linalg"};

bool is_numeric_integer(const Tensor& t) { return t.defined() && is_integral(t.dtype()) && t.dtype() != kBool; }

// Of integers, for which there is no fused kernel.
Tensor linear_of_integers(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor* inputs[] = {&x, &weight, &bias};
  Inference check({kLinear, inputs, nullptr}, {x.dtype(), x.dtype()});
  infer_linear(check);
  const Tensor product = matmul(x, weight.transpose(0, 1));
  return bias.defined() ? add(product, bias) : product;
}

Tensor with_batch(const Tensor& t, const Dims& batch) {
  Dims shape = batch;
  shape.push_back(t.size(-2));
  shape.push_back(t.size(-1));
  return shape == t.shape() ? t : t.expand(shape);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) return call(matmul_slot, {&a, &b});
  if (a.dim() == 0 || b.dim() == 0)
    throw_error<ShapeError>("matmul: both operands need a dimension: ", a.shape(), " x ", b.shape(), "; use mul()");
  if (a.dim() == 1) {
    const Tensor product = matmul(a.unsqueeze(0), b.dim() == 1 ? b.unsqueeze(1) : b);
    return b.dim() == 1 ? product.reshape({}) : product.squeeze(-2);
  }
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  // One weight for many batches is one tall product.
  if (b.dim() == 2 && a.is_contiguous() && a.numel() > 0) {
    Dims shape = a.shape();
    const Tensor flat = a.reshape({-1, a.size(-1)});
    const Tensor product = call(matmul_slot, {&flat, &b});
    shape[shape.size() - 1] = b.size(1);
    return product.reshape(shape);
  }
  const Dims batch = broadcast_shapes("matmul", batch_of(a.shape()), batch_of(b.shape()));
  const Tensor left = with_batch(a, batch), right = with_batch(b, batch);
  return call(matmul_slot, {&left, &right});
}

Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) return internal::write_out(matmul_slot, out, {&a, &b});
  return internal::write_composed("matmul", out, {&a, &b}, [&] { return matmul(a, b); });
}

namespace {

void check_ranks(const char* op, const Tensor& a, int a_rank, const Tensor& b, int b_rank) {
  if (a.dim() != a_rank || b.dim() != b_rank)
    throw_error<ShapeError>(op, ": takes operands of rank ", a_rank, " and ", b_rank, ", they are ", a.shape(), " and ",
                            b.shape());
}

// beta * input + alpha * product.
Tensor add_product(const char* op, const Tensor& input, const Tensor& product, const Scalar& beta,
                   const Scalar& alpha) {
  internal::check_factor(op, "beta", beta, product.dtype());
  internal::check_factor(op, "alpha", alpha, product.dtype());
  if (!is_broadcastable_to(input.shape(), product.shape()))
    throw_error<ShapeError>(op, ": input ", input.shape(), " does not broadcast to the product ", product.shape());
  if (input.dtype() != product.dtype())
    throw_error<DTypeError>(op, ": the input is ", input.dtype(), ", the product ", product.dtype(),
                            "; convert one of them");
  if (beta.value() == 0.0) return alpha.value() == 1.0 ? product : mul(product, alpha);
  return add(beta.value() == 1.0 ? input : mul(input, beta), product, alpha);
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_ranks("mm", a, 2, b, 2);
  return matmul(a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check_ranks("bmm", a, 3, b, 3);
  if (a.size(0) != b.size(0))
    throw_error<ShapeError>("bmm: ", a.shape(), " and ", b.shape(), " have ", a.size(0), " and ", b.size(0),
                            " matrices; use matmul() to broadcast");
  return matmul(a, b);
}

Tensor mv(const Tensor& a, const Tensor& x) {
  check_ranks("mv", a, 2, x, 1);
  return matmul(a, x);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  check_ranks("dot", a, 1, b, 1);
  if (a.dtype() != b.dtype())
    throw_error<DTypeError>("dot: the operands are ", a.dtype(), " and ", b.dtype(), "; convert one of them");
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_ranks("outer", a, 1, b, 1);
  return mul(a.unsqueeze(1), b.unsqueeze(0));
}

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return add_product("addmm", input, mm(a, b), beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return add_product("baddbmm", input, bmm(a, b), beta, alpha);
}

Tensor& mm_out(Tensor& out, const Tensor& a, const Tensor& b) {
  check_ranks("mm", a, 2, b, 2);
  return matmul_out(out, a, b);
}

Tensor& bmm_out(Tensor& out, const Tensor& a, const Tensor& b) {
  check_ranks("bmm", a, 3, b, 3);
  return internal::write_out(matmul_slot, out, {&a, &b});
}

Tensor& mv_out(Tensor& out, const Tensor& a, const Tensor& x) {
  return internal::write_composed("mv", out, {&a, &x}, [&] { return mv(a, x); });
}

Tensor& dot_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return internal::write_composed("dot", out, {&a, &b}, [&] { return dot(a, b); });
}

Tensor& outer_out(Tensor& out, const Tensor& a, const Tensor& b) {
  check_ranks("outer", a, 1, b, 1);
  return mul_out(out, a.unsqueeze(1), b.unsqueeze(0));
}

Tensor& addmm_out(Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
                  const Scalar& alpha) {
  return internal::write_composed("addmm", out, {&input, &a, &b}, [&] { return addmm(input, a, b, beta, alpha); });
}

Tensor& baddbmm_out(Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
  return internal::write_composed("baddbmm", out, {&input, &a, &b}, [&] { return baddbmm(input, a, b, beta, alpha); });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (is_numeric_integer(x) && is_numeric_integer(weight)) return linear_of_integers(x, weight, bias);
  return call(linear_slot, {&x, &weight, &bias});
}

Tensor Tensor::matmul(const Tensor& other) const { return vellum::matmul(*this, other); }

}  // namespace vellum
