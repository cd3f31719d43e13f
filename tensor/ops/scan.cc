#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

extern OpSlot cumsum_slot;

// Integers are summed in int64.
DTypes cumsum_dtypes(const OpCall& call) {
  const DType asked = call.attributes<ScanAttrs>().dtype;
  const DType t = asked == DType::kUndefined ? call.input(0).dtype() : asked;
  return is_integral(t) ? DTypes{kInt64, kInt64} : DTypes{t, t};
}

std::vector<RefTensor> cumsum_reference(const RefCall& call) {
  const auto& a = call.attributes<ScanAttrs>();
  RefTensor out = call.inputs[0];
  const int64_t n = out.shape.empty() ? 1 : out.shape[a.dim.dim];
  internal::for_lines(out.shape, a.dim.dim, [&](auto at, size_t) {
    for (int64_t k = 1; k < n; ++k) {
      const auto place = [&](int64_t j) { return at(a.reverse ? n - 1 - j : j); };
      out.values[place(k)] += out.values[place(k - 1)];
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

constexpr DTypeSet kCumsumDTypes = kDifferentiableDTypes | DTypeSet(kInt64);

constexpr OpDef kCumsum{.name = "cumsum",
                        .kind = OpKind::kGeneral,
                        .dtypes = cumsum_dtypes,
                        .domain = kCumsumDTypes,
                        .infer = [](Inference& call) { call.add_output(call.input(0).shape()); },
                        .attrs = attrs_type<ScanAttrs>,
                        .vjp = cumsum_vjp,
                        .reference = {.tensors = cumsum_reference}};
OpSlot cumsum_slot{kCumsum, "scan"};

ScanAttrs scan_attrs(const Tensor& x, int64_t dim, DType dtype) {
  return {{wrap_dim("cumsum", dim, x.dim())}, false, dtype};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, DType dtype) {
  // Narrow integers are the low bits of int64 sums.
  if (dtype != DType::kUndefined && is_integral(dtype) && dtype != kInt64) return cumsum(x.to(dtype), dim).to(dtype);
  const ScanAttrs attrs = scan_attrs(x, dim, dtype);
  return call(cumsum_slot, {&x}, &attrs);
}

Tensor& cumsum_out(Tensor& out, const Tensor& x, int64_t dim) {
  return internal::call_into(cumsum_slot, out, x, scan_attrs(x, dim, DType::kUndefined));
}

Tensor Tensor::cumsum(int64_t dim, DType dtype) const { return vellum::cumsum(*this, dim, dtype); }

}  // namespace vellum
