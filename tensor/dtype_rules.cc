#include <limits>
#include <type_traits>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

int category(DType t) { return t == kBool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; }

// Adds the dtypes of a lower-priority group: they count only as far as their category is higher.
DType combine(DType high, DType low) {
  if (high == DType::kUndefined) return low;
  if (low == DType::kUndefined || category(low) <= category(high)) return high;
  if (is_complex(low) && is_floating(high)) return to_complex(high);
  return low;
}

void check_domain(const OpCall& call, DType compute) {
  if (call.op.domain.contains(compute)) return;
  std::string given;
  for (const Tensor* t : call.inputs)
    if (t->defined()) given += str_cat(given.empty() ? "" : ", ", t->dtype());
  throw_error<DTypeError>(call.op.name, ": not defined for dtype ", compute, " (operands: ", given,
                          "); convert with to(dtype)");
}

// The inputs that take part in promotion.
DType promoted(const OpCall& call) {
  const Tensor* cast[kMaxInputs];
  size_t count = 0;
  DType first = DType::kUndefined;
  bool same = true;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (i < 8 && !(call.op.cast_inputs >> i & 1)) continue;
    if (!call.inputs[i]->defined()) continue;
    const DType t = call.inputs[i]->dtype();
    if (first == DType::kUndefined) first = t;
    same &= t == first;
    if (count < kMaxInputs) cast[count++] = call.inputs[i];
  }
  if (same) return first;
  return call.inputs.size() > kMaxInputs ? result_type(call.inputs) : result_type(Inputs(cast, count));
}

}  // namespace

DType result_type(Inputs inputs) {
  DType dims = DType::kUndefined, zero = DType::kUndefined, number = DType::kUndefined;
  for (const Tensor* t : inputs) {
    if (!t->defined()) continue;
    const internal::TensorImpl& impl = t->impl();
    DType& group = impl.flags & internal::TensorImpl::kWrappedNumber ? number : impl.rank == 0 ? zero : dims;
    group = promote_types(group, impl.dtype);
  }
  return combine(combine(dims, zero), number);
}

namespace dtype_rules {

DTypes promote(const OpCall& call) {
  const DType t = promoted(call);
  check_domain(call, t);
  return {t, t};
}

DTypes promote_integers_to_float(const OpCall& call) {
  DType t = promoted(call);
  if (is_integral(t)) t = kFloat32;
  check_domain(call, t);
  return {t, t};
}

DTypes compare(const OpCall& call) {
  const DType t = promoted(call);
  check_domain(call, t);
  return {t, kBool};
}

DTypes same(const OpCall& call) {
  const DType t = call.input(0).dtype();
  check_domain(call, t);
  return {t, t};
}

}  // namespace dtype_rules

namespace shape_rules {

void same(Inference& call) { call.add_output(call.input(0).shape()); }

void equal(Inference& call) {
  for (const Tensor* t : call.inputs)
    if (t->shape() != call.input(0).shape())
      throw_error<ShapeError>(call.op.name, ": shapes ", call.input(0).shape(), " and ", t->shape(),
                              " differ; all must agree");
  same(call);
}

void check_cotangent(const OpCall& call, const Dims& expected) {
  if (call.input(0).shape() != expected)
    throw_error<ShapeError>(call.op.name, ": the gradient has shape ", call.input(0).shape(),
                            ", the operator's output ", expected);
}

}  // namespace shape_rules

void check_fits(std::string_view op, const Scalar& value, DType dtype) {
  bool fits = value.kind() != Scalar::Kind::kComplex || is_complex(dtype);
  if (fits && is_integral(dtype) && dtype != kBool)
    visit_dtype(dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) {
        const double lowest = std::is_unsigned_v<T> ? -double(std::numeric_limits<T>::max())  // -1 means all bits
                                                    : double(std::numeric_limits<T>::lowest());
        const bool is_exact = value.kind() <= Scalar::Kind::kInteger && sizeof(T) == sizeof(int64_t);
        // 2^63 - 1 is no double: compare with what comes after it.
        fits = is_exact || (value.real() >= lowest && value.real() < double(std::numeric_limits<T>::max()) + 1);
      }
    });
  if (!fits)
    throw_error<DTypeError>(op, ": the value ", value, " does not fit a tensor of ", dtype,
                            "; give one that does, or another dtype");
}

Tensor wrap_number(const Scalar& value, const Tensor& like) {
  const internal::TensorImpl& impl = like.impl();
  const DType own = value.dtype();
  const DType dtype = combine(impl.dtype, own);
  Tensor t = internal::make_number(value, dtype);
  t.impl().flags |= internal::TensorImpl::kWrappedNumber;
  return t;
}

}  // namespace vellum
