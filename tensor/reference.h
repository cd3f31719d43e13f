#ifndef VELLUM_TENSOR_REFERENCE_H_
#define VELLUM_TENSOR_REFERENCE_H_

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/kernel.h"

// References are the independent oracle: scalar definitions in double precision, written for clarity. No kernel is
// compiled from them.

namespace vellum {

// A tensor as a reference sees it: row-major values in double precision.
struct RefTensor {
  Dims shape;
  DType dtype = DType::kFloat64;
  std::vector<std::complex<double>> values;
};

struct RefCall {
  std::span<const RefTensor> inputs;  // already cast to the compute dtype
  const void* attrs;
  RandomState random;
  DType compute;

  template <typename Attrs>
  const Attrs& attributes() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// Either a scalar function of the operands of one element, or a function of whole tensors, which gives the outputs and
// may give the by-products behind them.
struct Reference {
  std::complex<double> (*element)(const std::complex<double>* operands, const RefCall& call) = nullptr;
  std::vector<RefTensor> (*tensors)(const RefCall& call) = nullptr;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_REFERENCE_H_
