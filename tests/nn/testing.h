#ifndef VELLUM_TESTS_NN_TESTING_H_
#define VELLUM_TESTS_NN_TESTING_H_

#include "vellum/tests/autograd/testing.h"

namespace vellum::testing {

// The numbers of goldens/losses.py: ((5 k) mod 7 - 3) / 4 in row-major order, float64.
inline Tensor pattern(const Dims& shape) {
  std::vector<double> numbers(static_cast<size_t>(numel_of(shape)));
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = (static_cast<double>(5 * k % 7) - 3) / 4;
  return tensor(std::span<const double>(numbers), shape, kFloat64);
}

inline void expect_near(const Tensor& actual, const std::vector<double>& expected, double tolerance = 1e-12) {
  EXPECT_THAT(values(actual), Pointwise(DoubleNear(tolerance), expected));
}

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_NN_TESTING_H_
