#ifndef VELLUM_TENSOR_REFERENCE_HELPERS_H_
#define VELLUM_TENSOR_REFERENCE_HELPERS_H_

#include <complex>

#include "vellum/tensor/reference.h"

// Builders of references from captureless lambdas.

namespace vellum::reference {

using Complex = std::complex<double>;

// Of real operands only.
template <typename F>
constexpr Reference real(F) {
  return {.element = [](const Complex* x, const RefCall&) -> Complex {
    if constexpr (std::is_invocable_v<F, double>)
      return F{}(x[0].real());
    else
      return F{}(x[0].real(), x[1].real());
  }};
}

// Of double or complex<double>, by the compute dtype.
template <typename F>
constexpr Reference real_or_complex(F) {
  return {.element = [](const Complex* x, const RefCall& call) -> Complex {
    if constexpr (std::is_invocable_v<F, double>)
      return is_complex(call.compute) ? Complex(F{}(x[0])) : Complex(F{}(x[0].real()));
    else
      return is_complex(call.compute) ? Complex(F{}(x[0], x[1])) : Complex(F{}(x[0].real(), x[1].real()));
  }};
}

// A RefTensor of zeros.
inline RefTensor zeros(const Dims& shape, DType dtype) {
  return {shape, dtype, std::vector<Complex>(static_cast<size_t>(numel_of(shape)))};
}

// The row-major index of position `flat` of `shape` in a tensor with these strides.
inline int64_t strided_index(int64_t flat, const Dims& shape, const Dims& strides) {
  int64_t index = 0;
  for (int d = shape.size() - 1; d >= 0; --d) {
    index += flat % shape[d] * strides[d];
    flat /= shape[d];
  }
  return index;
}

// A shape seen as [outer, n, inner] around dimension `dim`.
struct Split3 {
  int64_t outer = 1, n = 1, inner = 1;
  Split3(const Dims& shape, int dim) {
    for (int i = 0; i < shape.size(); ++i) (i < dim ? outer : i == dim ? n : inner) *= shape[i];
  }
};

}  // namespace vellum::reference

#endif  // VELLUM_TENSOR_REFERENCE_HELPERS_H_
