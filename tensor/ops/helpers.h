#ifndef VELLUM_TENSOR_OPS_HELPERS_H_
#define VELLUM_TENSOR_OPS_HELPERS_H_

#include <initializer_list>

#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/destination.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

// What the definitions of pointwise operators share.

namespace vellum::internal {

inline constexpr DTypeSet kNumericDTypes{uint16_t(kAllDTypes.bits & ~DTypeSet(kBool).bits)};
inline constexpr DTypeSet kNumericRealDTypes{uint16_t(kRealDTypes.bits & ~DTypeSet(kBool).bits)};

// A number beside a tensor: it promotes by category and is a 0-dimensional operand.
inline Tensor call_with_number(OpSlot& slot, const Tensor& x, const Scalar& number, const void* attrs = nullptr) {
  const Tensor wrapped = wrap_number(number, x);
  return call(slot, {&x, &wrapped}, attrs);
}

inline Tensor& write_out(OpSlot& slot, Tensor& out, std::initializer_list<const Tensor*> inputs,
                         const void* attrs = nullptr) {
  call_out(slot, out, Inputs(inputs.begin(), inputs.size()), attrs);
  return out;
}

inline Tensor& write_out(OpSlot& slot, Tensor& out, const Tensor& x, const Scalar& number,
                         const void* attrs = nullptr) {
  const Tensor wrapped = wrap_number(number, x);
  return write_out(slot, out, {&x, &wrapped}, attrs);
}

// The same for a function that is made of several operators: `result` computes it aside.
template <typename F>
Tensor& write_composed(const char* op, Tensor& out, Inputs inputs, F result) {
  check_no_gradient(op, inputs);
  Tensor computed;
  {
    const ModeGuard no_grad(0, kModeGrad);
    computed = result();
  }
  write_result(op, out, computed);
  return out;
}
template <typename F>
Tensor& write_composed(const char* op, Tensor& out, std::initializer_list<const Tensor*> inputs, F result) {
  return write_composed(op, out, Inputs(inputs.begin(), inputs.size()), result);
}

// inputs[0] is `self`.
inline Tensor& write_self(OpSlot& slot, Tensor& self, std::initializer_list<const Tensor*> inputs,
                          const void* attrs = nullptr) {
  call_in_place(slot, self, Inputs(inputs.begin(), inputs.size()), attrs);
  return self;
}
inline Tensor& write_self(OpSlot& slot, Tensor& self, const Scalar& number, const void* attrs = nullptr) {
  const Tensor wrapped = wrap_number(number, self);
  return write_self(slot, self, {&self, &wrapped}, attrs);
}
inline Tensor& write_self(OpSlot& slot, Tensor& self, const void* attrs = nullptr) {
  return write_self(slot, self, {&self}, attrs);
}

// The gradient of a function that is constant almost everywhere: zeros, as PyTorch has it, and not nothing.
inline void zero_vjp(Vjp& v) {
  for (int i = 0; i < v.inputs(); ++i)
    if (v.needs(i)) v.grad(i) = zeros_like(v.cotangent());
}

inline Scalar conjugate(const Scalar& number) {
  return number.kind() == Scalar::Kind::kComplex ? Scalar(std::conj(number.value())) : number;
}

// g times the conjugate of a factor.
inline Tensor times_conjugate(const Tensor& g, const Scalar& factor) {
  return factor.value() == 1.0 ? g : mul(g, conjugate(factor));
}

// Throws DTypeError where the category of a factor is above that of the dtype that is computed in, or its value beyond
// the range.
void check_factor(std::string_view op, const char* name, const Scalar& factor, DType compute);
inline void check_factor(const OpCall& call, const char* name, const Scalar& factor, DType compute) {
  check_factor(call.op.name, name, factor, compute);
}

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_OPS_HELPERS_H_
