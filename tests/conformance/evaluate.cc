#include <algorithm>

#include "vellum/device/error.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tests/conformance/values.h"

namespace vellum::conformance {
namespace {

// NumPy's rule, stated once more so that the core's is checked.
Dims broadcast(const std::vector<RefTensor>& inputs, size_t first) {
  Dims shape;
  for (size_t i = first; i < inputs.size(); ++i) {
    const Dims& s = inputs[i].shape;
    while (shape.size() < s.size()) shape.insert(0, 1);
    for (int d = 0; d < s.size(); ++d) {
      int64_t& n = shape[d + shape.size() - s.size()];
      if (n == 1) n = s[d];
    }
  }
  return shape;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
  Dims strides = Dims::filled(to.size(), 0);
  const Dims own = contiguous_strides(from);
  for (int d = 0; d < from.size(); ++d)
    if (from[d] != 1) strides[d + to.size() - from.size()] = own[d];
  return strides;
}

RefTensor evaluate_elements(const OpDef& op, const RefCall& call, const std::vector<RefTensor>& inputs, DType dtype) {
  const Dims shape = op.overwrites ? inputs[0].shape : broadcast(inputs, 0);
  RefTensor out = reference::zeros(shape, dtype);
  std::vector<Dims> strides;
  for (const RefTensor& t : inputs) strides.push_back(broadcast_strides(t.shape, shape));
  std::vector<Complex> operands(inputs.size());
  for (size_t i = 0; i < out.values.size(); ++i) {
    for (size_t k = 0; k < inputs.size(); ++k)
      operands[k] =
          inputs[k].values[static_cast<size_t>(reference::strided_index(static_cast<int64_t>(i), shape, strides[k]))];
    out.values[i] = op.reference.element(operands.data(), call);
  }
  return out;
}

}  // namespace

std::vector<RefTensor> evaluate(const OpDef& op, const std::vector<RefTensor>& inputs, const void* attrs, DTypes types,
                                RandomState random) {
  std::vector<RefTensor> outputs = evaluate_all(op, inputs, attrs, types, random);
  if (op.outputs != kVariadic && outputs.size() > static_cast<size_t>(op.outputs))
    outputs.resize(static_cast<size_t>(op.outputs));
  return outputs;
}

std::vector<RefTensor> evaluate_all(const OpDef& op, const std::vector<RefTensor>& inputs, const void* attrs,
                                    DTypes types, RandomState random) {
  if (!op.reference.element && !op.reference.tensors)
    throw_error<NotImplementedError>(op.name, ": no reference to judge it by; give its OpDef a .reference");
  std::vector<RefTensor> prepared;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool kept = (op.overwrites && i == 0) || (i < 8 && !(op.cast_inputs >> i & 1));
    prepared.push_back(kept ? inputs[i] : cast(inputs[i], types.compute));
  }
  const RefCall call{prepared, attrs, random, types.compute};
  std::vector<RefTensor> outputs;
  if (op.reference.element)
    outputs.push_back(evaluate_elements(op, call, prepared, types.output));
  else
    outputs = op.reference.tensors(call);
  if (!outputs.empty()) outputs[0].dtype = types.output;
  if (op.outputs == kVariadic)
    for (RefTensor& t : outputs) t.dtype = types.output;
  for (RefTensor& t : outputs) t = cast(t, t.dtype);
  return outputs;
}

Tolerance tolerance(std::string_view op, DType dtype) {
  struct Wider {
    std::string_view op;
    DType dtype;
    Tolerance tolerance;
  };
  // Sums of 67 and more products or terms, of magnitude up to 4, in another order than the reference's.
  static constexpr Wider kWider[] = {
      {"matmul", kFloat32, {1.3e-6, 1e-4}},
      {"matmul", kComplex64, {1.3e-6, 1e-4}},
      {"linear", kFloat32, {1.3e-6, 1e-4}},
      {"linear", kComplex64, {1.3e-6, 1e-4}},
      // A result near zero of terms near 4 keeps an error of their last bit.
      {"matmul", kFloat16, {1e-3, 1e-3}},
      {"linear", kFloat16, {1e-3, 1e-3}},
      {"log_softmax_backward", kFloat16, {1e-3, 1e-3}},
      {"log_softmax_backward", kBFloat16, {1.6e-2, 1e-2}},
      // Added up in the tensor's own dtype, as PyTorch's scatter_add does.
      {"gather_backward", kFloat16, {1e-3, 5e-3}},
      {"gather_backward", kBFloat16, {1.6e-2, 4e-2}},
      {"index_select_backward", kFloat16, {1e-3, 5e-3}},
      {"index_select_backward", kBFloat16, {1.6e-2, 4e-2}},
      {"index_add", kFloat16, {1e-3, 5e-3}},
      {"index_add", kBFloat16, {1.6e-2, 4e-2}},
      {"scatter_add", kFloat16, {1e-3, 5e-3}},
      {"scatter_add", kBFloat16, {1.6e-2, 4e-2}},
      {"as_strided_backward", kFloat16, {1e-3, 5e-3}},
      {"as_strided_backward", kBFloat16, {1.6e-2, 4e-2}},
  };
  for (const Wider& w : kWider)
    if (w.op == op && w.dtype == dtype) return w.tolerance;
  switch (to_real(dtype)) {
    case kFloat16:
      return {1e-3, 1e-5};
    case kBFloat16:
      return {1.6e-2, 1e-5};
    case kFloat32:
      return {1.3e-6, 1e-5};
    case kFloat64:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

}  // namespace vellum::conformance
