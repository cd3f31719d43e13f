#ifndef VELLUM_TESTS_CONFORMANCE_VALUES_H_
#define VELLUM_TESTS_CONFORMANCE_VALUES_H_

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/reference.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {

using Complex = std::complex<double>;

// The nearest value of a dtype: integers truncate and wrap.
Complex rounded(Complex value, DType dtype);
RefTensor cast(const RefTensor& t, DType dtype);

// The values of an operand in row-major order, the same for the same seed.
RefTensor make_values(const Operand& operand, DType dtype, uint64_t seed);

// A row-major tensor of these values on a device, and the values of any tensor. Host tensors are read through their
// strides, so that no kernel under test takes part.
Tensor to_tensor(const RefTensor& values, Device device);
RefTensor read(const Tensor& tensor);

// A tensor of these values that lies as `layout` says. What lies between the elements of a sliced one is NaN.
Tensor arrange(const RefTensor& values, Layout layout, Device device);

// A sample's operands, ready to be called.
struct Operands {
  std::vector<RefTensor> values;
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> pointers;

  Inputs inputs() const { return pointers; }
  void point();  // after a change to `tensors`
};

// None where the sample cannot lie like that.
std::optional<Operands> make_operands(const Sample& sample, DType dtype, Layout layout, Device device, uint64_t seed);

// The operator's reference on these operands: casts and broadcasts them. Values are rounded to the outputs' dtypes.
std::vector<RefTensor> evaluate(const OpDef& op, const std::vector<RefTensor>& inputs, const void* attrs, DTypes types,
                                RandomState random = {});
// The same with the by-products behind the outputs, where the reference gives them.
std::vector<RefTensor> evaluate_all(const OpDef& op, const std::vector<RefTensor>& inputs, const void* attrs,
                                    DTypes types, RandomState random);

struct Tolerance {
  double relative, absolute;
};
// That of torch.testing for a dtype, or a wider one with a reason for single operators.
Tolerance tolerance(std::string_view op, DType dtype);

// Empty when shape, dtype and values agree, else what differs.
std::string difference(const Tensor& actual, const RefTensor& expected, Tolerance tolerance);
bool is_close(Complex actual, Complex expected, Tolerance tolerance);

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_VALUES_H_
