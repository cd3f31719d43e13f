#include "vellum/tensor/internal/destination.h"

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/invoke.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/storage.h"

namespace vellum::internal {
namespace {

[[noreturn]] void throw_no_gradient(std::string_view op) {
  throw_error<AutogradError>(op,
                             ": functions with out= arguments don't support automatic differentiation, but "
                             "an operand requires grad; use a NoGradGuard or the form without out");
}

}  // namespace

void check_writable(std::string_view op, const Tensor& out) {
  const TensorImpl& impl = out.impl();
  for (int i = 0; i < impl.rank && impl.numel > 0; ++i)
    if (impl.strides[i] == 0 && impl.sizes[i] > 1)
      throw_error<InvalidArgumentError>(op, ": unsupported operation: several elements of the written-to tensor ",
                                        impl.dtype, out.shape(),
                                        " refer to a single memory location; clone() it before writing");
}

void check_result_dtype(std::string_view op, DType result, DType out) {
  const bool falls = (is_complex(result) && !is_complex(out)) || (is_floating(result) && is_integral(out)) ||
                     (result != kBool && is_integral(result) && out == kBool);
  if (falls)
    throw_error<DTypeError>(op, ": result type ", result, " cannot be written into a tensor of ", out,
                            "; convert the operands or the destination");
}

void check_destination(std::string_view op, const Tensor& out, Device device, bool operand_needs_grad) {
  if (!out.defined()) throw_error<InvalidArgumentError>(op, ": out is undefined; make it with empty()");
  if ((thread_state().mode & kModeGrad) && (operand_needs_grad || out.requires_grad())) throw_no_gradient(op);
  check_dry_write(op, out);
  if (out.device() != device) throw_error<DeviceError>(op, ": out is on ", out.device(), ", the operands on ", device);
}

void check_apart(std::string_view op, std::span<Tensor* const> outs) {
  for (size_t i = 1; i < outs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (outs[i]->shares_storage_with(*outs[j]))
        throw_error<InvalidArgumentError>(op, ": outputs ", j, " and ", i,
                                          " would be written into the same storage; give them tensors of their own");
}

void check_takes(std::string_view op, const Tensor& out, const Dims& shape, DType dtype) {
  check_result_dtype(op, dtype, out.dtype());
  if (out.shape() != shape && out.numel() != 0)
    throw_error<ShapeError>(op, ": out has shape ", out.shape(), ", the result ", shape,
                            "; give one of that shape, or an empty one to be resized");
  check_writable(op, out);
}

Tensor with_shape(const Tensor& out, const Dims& shape) {
  return out.shape() == shape ? out : make_contiguous(shape, out.dtype(), out.device());
}

void finish_write(std::string_view op, Tensor& out, const Tensor& target) {
  if (!target.is_same(out)) replace_memory(out.impl(), target.impl());
  out.impl().storage->bump_version(op.data());
}

void copy_apart(const Tensor& to, const Tensor& from) {
  copy_values(to, from.shares_storage_with(to) ? cast_copy(from, from.dtype()) : from);
}

void write_result(const char* op, Tensor& out, const Tensor& result) {
  check_destination(op, out, result.device(), false);
  check_takes(op, out, result.shape(), result.dtype());
  const Tensor target = with_shape(out, result.shape());
  copy_apart(target, result);
  finish_write(op, out, target);
}

void check_no_gradient(const char* op, Inputs inputs) {
  if (!(thread_state().mode & kModeGrad)) return;
  for (const Tensor* t : inputs)
    if (t->defined() && t->requires_grad()) throw_no_gradient(op);
}

}  // namespace vellum::internal
