#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/helpers.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

using reference::Complex;

extern OpSlot cumsum_slot;

// Integers are summed and multiplied in int64.
DTypes scan_dtypes(const OpCall& call) {
  const DType asked = call.attributes<ScanAttrs>().dtype;
  const DType t = asked == DType::kUndefined ? call.input(0).dtype() : asked;
  return is_integral(t) ? DTypes{kInt64, kInt64} : DTypes{t, t};
}

template <typename Fold>
std::vector<RefTensor> scan_reference(const RefCall& call, Fold fold) {
  const auto& a = call.attributes<ScanAttrs>();
  RefTensor out = call.inputs[0];
  const int64_t n = out.shape.empty() ? 1 : out.shape[a.dim.dim];
  internal::for_lines(out.shape, a.dim.dim, [&](auto at, size_t) {
    for (int64_t k = 1; k < n; ++k) {
      const auto place = [&](int64_t j) { return at(a.reverse ? n - 1 - j : j); };
      out.values[place(k)] = fold(out.values[place(k)], out.values[place(k - 1)]);
    }
  });
  return {out};
}

// Element k meets every sum from k on: the gradient is the sum from the other end.
void cumsum_vjp(Vjp& v) {
  ScanAttrs attrs = v.attributes<ScanAttrs>();
  attrs.reverse = !attrs.reverse;
  attrs.dtype = DType::kUndefined;
  v.grad() = call(cumsum_slot, {&v.cotangent()}, &attrs);
}

constexpr DTypeSet kScanDTypes = kDifferentiableDTypes | DTypeSet(kInt64);

constexpr OpDef kCumsum{.name = "cumsum",
                        .kind = OpKind::kGeneral,
                        .dtypes = scan_dtypes,
                        .domain = kScanDTypes,
                        .infer = [](Inference& call) { call.add_output(call.input(0).shape()); },
                        .attrs = attrs_type<ScanAttrs>,
                        .vjp = cumsum_vjp,
                        .reference = {.tensors = [](const RefCall& call) {
                          return scan_reference(call, [](Complex a, Complex b) { return a + b; });
                        }}};
OpSlot cumsum_slot{kCumsum, "scan"};

// --- cumprod

// S[k] = g[k] + x[k + 1] S[k + 1], from the end of dimension `dim`: in each step S[k] learns what the next `step`
// elements know, and factors[k] = x[k + 1] ... x[k + step].
Tensor weighted_sums(const Tensor& g, const Tensor& x, int dim) {
  const int64_t n = x.size(dim);
  Tensor sums = g, factors = x.narrow(dim, 1, n - 1);
  for (int64_t step = 1; step < n; step *= 2) {
    const int64_t rest = n - step;
    const Tensor learnt = add(sums.narrow(dim, 0, rest), mul(factors, sums.narrow(dim, step, rest)));
    sums = cat({learnt, sums.narrow(dim, rest, step)}, dim);
    if (const int64_t left = rest - step; left > 0)
      factors = mul(factors.narrow(dim, 0, left), factors.narrow(dim, step, left));
  }
  return sums;
}

// Element k is a factor of every product from k on: its gradient is that of those before it times the sum over j >= k
// of g[j] x[k + 1] ... x[j]. Nothing is divided, so that zeros do no harm at any order of differentiation.
void cumprod_vjp(Vjp& v) {
  const auto& a = v.attributes<ScanAttrs>();
  const int dim = a.dim.dim;
  const DType type = v.output_dtype(), wide = dtype_size(type) == 2 ? kFloat32 : type;
  const int64_t n = v.input_shape().empty() ? 1 : v.input_shape()[dim];
  if (n < 2) {
    v.grad() = v.cotangent();
    return;
  }
  const auto turned = [&](const Tensor& t) { return a.reverse ? t.flip({dim}) : t; };
  const Tensor g = turned(v.cotangent().to(wide)), x = conj(turned(v.input().to(wide)));
  const Tensor products = conj(turned(v.output().to(wide)));
  const Tensor before = cat({ones_like(products.narrow(dim, 0, 1)), products.narrow(dim, 0, n - 1)}, dim);
  v.grad() = turned(mul(before, weighted_sums(g, x, dim)));
}

constexpr OpDef kCumprod{.name = "cumprod",
                         .kind = OpKind::kGeneral,
                         .dtypes = scan_dtypes,
                         .domain = kScanDTypes,
                         .infer = [](Inference& call) { call.add_output(call.input(0).shape()); },
                         .attrs = attrs_type<ScanAttrs>,
                         .saves = {saves_input(0) | saves_output()},
                         .vjp = cumprod_vjp,
                         .reference = {.tensors = [](const RefCall& call) {
                           return scan_reference(call, [](Complex a, Complex b) { return a * b; });
                         }}};
OpSlot cumprod_slot{kCumprod, "scan"};

// --- Calling.

// Narrow integers are the low bits of int64.
bool is_narrow(DType dtype) { return dtype != DType::kUndefined && is_integral(dtype) && dtype != kInt64; }

ScanAttrs scan_attrs(const OpSlot& slot, const Tensor& x, int64_t dim, DType dtype) {
  return {{wrap_dim(slot.def().name.data(), dim, x.dim())}, false, dtype};
}

Tensor scan(OpSlot& slot, const Tensor& x, int64_t dim, DType dtype) {
  if (is_narrow(dtype)) return scan(slot, x.to(dtype), dim, kInt64).to(dtype);
  const ScanAttrs attrs = scan_attrs(slot, x, dim, dtype);
  return call(slot, {&x}, &attrs);
}

Tensor& scan_into(OpSlot& slot, Tensor& out, const Tensor& x, int64_t dim, DType dtype) {
  if (is_narrow(dtype))
    return internal::write_composed(slot.def().name.data(), out, {&x}, [&] { return scan(slot, x, dim, dtype); });
  return internal::call_into(slot, out, x, scan_attrs(slot, x, dim, dtype));
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, DType dtype) { return scan(cumsum_slot, x, dim, dtype); }
Tensor cumprod(const Tensor& x, int64_t dim, DType dtype) { return scan(cumprod_slot, x, dim, dtype); }
Tensor& cumsum_out(Tensor& out, const Tensor& x, int64_t dim, DType dtype) {
  return scan_into(cumsum_slot, out, x, dim, dtype);
}
Tensor& cumprod_out(Tensor& out, const Tensor& x, int64_t dim, DType dtype) {
  return scan_into(cumprod_slot, out, x, dim, dtype);
}

Tensor Tensor::cumsum(int64_t dim, DType dtype) const { return vellum::cumsum(*this, dim, dtype); }
Tensor Tensor::cumprod(int64_t dim, DType dtype) const { return vellum::cumprod(*this, dim, dtype); }

}  // namespace vellum
