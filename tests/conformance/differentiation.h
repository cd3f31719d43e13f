#ifndef VELLUM_TESTS_CONFORMANCE_DIFFERENTIATION_H_
#define VELLUM_TESTS_CONFORMANCE_DIFFERENTIATION_H_

#include <functional>
#include <vector>

#include "vellum/tests/conformance/cases.h"

namespace vellum::conformance {

// One operator with its other operands held fixed, as a function that can be differentiated.
class Function {
 public:
  // `in_place` calls the in-place form on a clone of operand 0.
  Function(OpSlot& slot, const Sample& sample, Operands operands, bool in_place = false);

  // The operands that can carry a gradient.
  const std::vector<int>& variables() const { return variables_; }
  std::vector<RefTensor> variable_values() const;
  // Leaves of these values; those not in `wanted` (bit mask over variables) require no gradient.
  std::vector<Tensor> leaves(const std::vector<RefTensor>& values, uint32_t wanted = ~0u) const;
  // The outputs that can carry a gradient.
  std::vector<Tensor> operator()(const std::vector<Tensor>& variables) const;

 private:
  OpSlot& slot_;
  const Sample& sample_;
  Operands operands_;
  bool in_place_;
  std::vector<int> variables_;
};

// dL/dvariables for L = sum over k of Re(sum(conj(cotangents[k]) * output[first + k])), zeros where none arrives.
std::vector<RefTensor> gradients(const Function& f, const std::vector<RefTensor>& variables, size_t first,
                                 const std::vector<RefTensor>& cotangents, uint32_t wanted = ~0u);

// The value of L itself.
double pairing(const std::vector<RefTensor>& cotangents, const std::vector<RefTensor>& outputs);

// dL/dpoint by central differences, in each part of a complex element: dL/dRe + i dL/dIm.
std::vector<RefTensor> finite_differences(const std::function<double(const std::vector<RefTensor>&)>& loss,
                                          std::vector<RefTensor> point);

// Random values of the shapes and dtypes of `like`.
std::vector<RefTensor> random_like(const std::vector<RefTensor>& like, uint64_t seed);

// Zeros of the shape and dtype of `like` where the gradient is undefined.
RefTensor read_gradient(const Tensor& gradient, const RefTensor& like);

// Empty where both lists agree, else where they differ.
std::string differ(const std::vector<RefTensor>& actual, const std::vector<RefTensor>& expected, Tolerance tolerance);

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_DIFFERENTIATION_H_
