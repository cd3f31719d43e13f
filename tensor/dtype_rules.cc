#include "vellum/device/error.h"
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

Tensor wrap_number(const Scalar& value, const Tensor& like) {
  const internal::TensorImpl& impl = like.impl();
  const DType own = value.dtype();
  const DType dtype = combine(impl.dtype, own);
  Tensor t = scalar_tensor(value, TensorOptions(dtype, Device(kCPU)));
  t.impl().flags |= internal::TensorImpl::kWrappedNumber;
  return t;
}

}  // namespace vellum
