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
using internal::reduce_reference;
using internal::reduced_dims;
using internal::with_kept_dims;
using reference::Complex;
using Group = std::vector<Complex>;

Complex total_of(const Group& group) {
  Complex total = 0;
  for (const Complex x : group) total += x;
  return total;
}

constexpr OpDef kSum{.name = "sum",
                     .kind = OpKind::kReduction,
                     .dtypes = internal::widened_dtypes,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<ReduceAttrs>,
                     .vjp =
                         [](Vjp& v) {
                           const Dims shape = v.input_shape();
                           v.grad() = with_kept_dims(v.cotangent(), shape, v.attributes<ReduceAttrs>()).expand(shape);
                         },
                     .reference = {.tensors = [](const RefCall& call) { return reduce_reference(call, total_of); }}};
OpSlot sum_slot{kSum, "reduce"};

DTypes mean_dtypes(const OpCall& call) {
  const DType asked = call.attributes<ReduceAttrs>().dtype;
  const DType t = asked == DType::kUndefined ? call.input(0).dtype() : asked;
  if (!is_differentiable(t))
    throw_error<DTypeError>("mean: not defined for dtype ", t, "; name a floating or complex dtype for the result");
  return {t, t};
}

constexpr OpDef kMean{
    .name = "mean",
    .kind = OpKind::kReduction,
    .dtypes = mean_dtypes,
    .domain = kDifferentiableDTypes,
    .infer = infer_reduction,
    .reduced_dims = reduced_dims,
    .attrs = attrs_type<ReduceAttrs>,
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<ReduceAttrs>();
          const Dims shape = v.input_shape();
          const Tensor share = div(v.cotangent(), static_cast<double>(internal::reduced_count(shape, a)));
          v.grad() = with_kept_dims(share, shape, a).expand(shape);
        },
    .reference = {.tensors = [](const RefCall& call) {
      return reduce_reference(call,
                              [](const Group& group) { return total_of(group) / static_cast<double>(group.size()); });
    }}};
OpSlot mean_slot{kMean, "reduce"};

// --- prod

// The product of all other elements of each line along the last dimension, without a division, so that zeros do no
// harm at any order of differentiation: pairs of elements are multiplied, the pairs' other products found, and each
// element's is that of its pair times its partner.
Tensor product_of_others(const Tensor& x) {
  const int last = x.dim() - 1;
  const int64_t n = x.size(last), half = n / 2;
  if (n == 1) return ones_like(x);
  const Tensor left = x.narrow(last, 0, half), right = x.narrow(last, half, half),
               rest = x.narrow(last, 2 * half, n % 2);
  const Tensor others = product_of_others(cat({mul(left, right), rest}, last));
  const Tensor of_pairs = others.narrow(last, 0, half);
  return cat({mul(of_pairs, right), mul(of_pairs, left), others.narrow(last, half, n % 2)}, last);
}

void prod_vjp(Vjp& v) {
  const auto& a = v.attributes<ReduceAttrs>();
  const Dims shape = v.input_shape();
  const Tensor x = v.input().to(v.output_dtype());
  if (x.numel() == 0) {
    v.grad() = zeros_like(x);
    return;
  }
  // The reduced dimensions become one, the last.
  Dims order, back = Dims::of_size(shape.size());
  for (const bool reduced : {false, true})
    for (int i = 0; i < shape.size(); ++i)
      if (internal::is_reduced(a, i) == reduced) order.push_back(i);
  for (int i = 0; i < order.size(); ++i) back[static_cast<int>(order[i])] = i;
  const Tensor turned = x.permute(order);
  const Tensor lines = turned.reshape({-1, internal::reduced_count(shape, a)});
  const Tensor others = product_of_others(lines).reshape(turned.shape()).permute(back);
  v.grad() = mul(with_kept_dims(v.cotangent(), shape, a), conj(others));
}

constexpr OpDef kProd{.name = "prod",
                      .kind = OpKind::kReduction,
                      .dtypes = internal::widened_dtypes,
                      .infer = infer_reduction,
                      .reduced_dims = reduced_dims,
                      .attrs = attrs_type<ReduceAttrs>,
                      .saves = {saves_input(0)},
                      .vjp = prod_vjp,
                      .reference = {.tensors = [](const RefCall& call) {
                        return reduce_reference(call, [](const Group& group) {
                          Complex product = 1;
                          for (const Complex x : group) product *= x;
                          return product;
                        });
                      }}};
OpSlot prod_slot{kProd, "reduce"};

// --- any and all: whether elements are not zero. NaN is not.

// PyTorch's exception: bytes stay bytes.
DTypes truth_dtypes(const OpCall& call) { return {kBool, call.input(0).dtype() == kUInt8 ? kUInt8 : kBool}; }

constexpr OpDef kAny{.name = "any",
                     .kind = OpKind::kReduction,
                     .dtypes = truth_dtypes,
                     .domain = kBool,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<ReduceAttrs>,
                     .reference = {.tensors = [](const RefCall& call) {
                       return reduce_reference(call, [](const Group& group) {
                         return Complex(std::any_of(group.begin(), group.end(), [](Complex x) { return x != 0.0; }));
                       });
                     }}};
OpSlot any_slot{kAny, "reduce"};

constexpr OpDef kAll{.name = "all",
                     .kind = OpKind::kReduction,
                     .dtypes = truth_dtypes,
                     .domain = kBool,
                     .infer = infer_reduction,
                     .reduced_dims = reduced_dims,
                     .attrs = attrs_type<ReduceAttrs>,
                     .reference = {.tensors = [](const RefCall& call) {
                       return reduce_reference(call, [](const Group& group) {
                         return Complex(std::all_of(group.begin(), group.end(), [](Complex x) { return x != 0.0; }));
                       });
                     }}};
OpSlot all_slot{kAll, "reduce"};

// --- Calling.

// Kernels write int64 sums and products; a narrower integer that is asked for is the low bits of that.
bool is_narrow(DType dtype) { return dtype != DType::kUndefined && is_integral(dtype) && dtype != kInt64; }

Tensor reduce(OpSlot& slot, const Tensor& x, const Dims& dims, bool keepdim, DType dtype = DType::kUndefined) {
  const char* op = slot.def().name.data();
  if (is_narrow(dtype)) return reduce(slot, x.to(dtype), dims, keepdim).to(dtype);
  const ReduceAttrs attrs = reduce_attrs(op, x, dims, keepdim, dtype);
  return call(slot, {&x}, &attrs);
}

Tensor& reduce_into(OpSlot& slot, Tensor& out, const Tensor& x, const Dims& dims, bool keepdim,
                    DType dtype = DType::kUndefined) {
  const char* op = slot.def().name.data();
  if (is_narrow(dtype))
    return internal::write_composed(op, out, {&x}, [&] { return reduce(slot, x, dims, keepdim, dtype); });
  return call_into(slot, out, x, reduce_attrs(op, x, dims, keepdim, dtype));
}

}  // namespace

Tensor sum(const Tensor& x) { return reduce(sum_slot, x, {}, false); }
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  return reduce(sum_slot, x, dims, keepdim, dtype);
}
Tensor mean(const Tensor& x) { return reduce(mean_slot, x, {}, false); }
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  const ReduceAttrs attrs = reduce_attrs("mean", x, dims, keepdim, dtype);
  return call(mean_slot, {&x}, &attrs);
}
Tensor prod(const Tensor& x) { return reduce(prod_slot, x, {}, false); }
Tensor prod(const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  return reduce(prod_slot, x, dims, keepdim, dtype);
}
Tensor any(const Tensor& x) { return reduce(any_slot, x, {}, false); }
Tensor any(const Tensor& x, const Dims& dims, bool keepdim) { return reduce(any_slot, x, dims, keepdim); }
Tensor all(const Tensor& x) { return reduce(all_slot, x, {}, false); }
Tensor all(const Tensor& x, const Dims& dims, bool keepdim) { return reduce(all_slot, x, dims, keepdim); }

Tensor& sum_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  return reduce_into(sum_slot, out, x, dims, keepdim, dtype);
}
Tensor& mean_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  return reduce_into(mean_slot, out, x, dims, keepdim, dtype);
}
Tensor& prod_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim, DType dtype) {
  return reduce_into(prod_slot, out, x, dims, keepdim, dtype);
}
Tensor& any_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  return reduce_into(any_slot, out, x, dims, keepdim);
}
Tensor& all_out(Tensor& out, const Tensor& x, const Dims& dims, bool keepdim) {
  return reduce_into(all_slot, out, x, dims, keepdim);
}

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
Tensor Tensor::sum(const Dims& dims, bool keepdim, DType dtype) const {
  return vellum::sum(*this, dims, keepdim, dtype);
}
Tensor Tensor::mean() const { return vellum::mean(*this); }
Tensor Tensor::mean(const Dims& dims, bool keepdim, DType dtype) const {
  return vellum::mean(*this, dims, keepdim, dtype);
}
Tensor Tensor::prod() const { return vellum::prod(*this); }
Tensor Tensor::prod(const Dims& dims, bool keepdim, DType dtype) const {
  return vellum::prod(*this, dims, keepdim, dtype);
}
Tensor Tensor::any() const { return vellum::any(*this); }
Tensor Tensor::any(const Dims& dims, bool keepdim) const { return vellum::any(*this, dims, keepdim); }
Tensor Tensor::all() const { return vellum::all(*this); }
Tensor Tensor::all(const Dims& dims, bool keepdim) const { return vellum::all(*this, dims, keepdim); }

}  // namespace vellum
