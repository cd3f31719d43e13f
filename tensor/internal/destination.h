#ifndef VELLUM_TENSOR_INTERNAL_DESTINATION_H_
#define VELLUM_TENSOR_INTERNAL_DESTINATION_H_

#include <span>
#include <string_view>

#include "vellum/tensor/op_def.h"

// What may be written into, and how: the rules of in-place and out= forms. `op` names the operator in errors.

namespace vellum::internal {

// Throws InvalidArgumentError where several elements share memory.
void check_writable(std::string_view op, const Tensor& out);
// Throws DTypeError where the category would fall: PyTorch's rule.
void check_result_dtype(std::string_view op, DType result, DType out);
// What can be said of an `out` before the result is known. Throws InvalidArgumentError, AutogradError or DeviceError.
void check_destination(std::string_view op, const Tensor& out, Device device, bool operand_needs_grad);
// Throws InvalidArgumentError where two results share storage: each is written as if it were alone.
void check_apart(std::string_view op, std::span<Tensor* const> outs);
// Throws ShapeError, DTypeError or InvalidArgumentError where `out` cannot take a result like this.
void check_takes(std::string_view op, const Tensor& out, const Dims& shape, DType dtype);

// `out` itself, or fresh memory where it is to be resized: it may be an operand too.
Tensor with_shape(const Tensor& out, const Dims& shape);
// Makes `out` refer to its target and bumps the version.
void finish_write(std::string_view op, Tensor& out, const Tensor& target);
// copy_values, also where both lie in one storage.
void copy_apart(const Tensor& to, const Tensor& from);

// --- For functions that are made of several operators.

// Writes a finished result, which may be an expanded view, into `out` by the rules of call_out.
void write_result(const char* op, Tensor& out, const Tensor& result);
// Throws AutogradError where a form with `out` would have to record.
void check_no_gradient(const char* op, Inputs inputs);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_DESTINATION_H_
