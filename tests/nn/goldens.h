#ifndef VELLUM_TESTS_NN_GOLDENS_H_
#define VELLUM_TESTS_NN_GOLDENS_H_

#include <map>
#include <string>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tests/nn/testing.h"

// The values of goldens/losses_and_norms.py, by name.

namespace vellum::testing {

inline const std::vector<double>& golden(const std::string& name, int part) {
  static const std::map<std::string, std::vector<double>> table{
#include "vellum/tests/nn/goldens/losses_and_norms.inc"
  };
  const auto found = table.find(str_cat(name, "/", part));
  if (found == table.end()) throw_error<InvalidArgumentError>("no golden is named ", name, "/", part);
  return found->second;
}

// Expects that the tensors are the parts of a golden, in order.
inline void expect_golden(const std::string& name, const std::vector<Tensor>& parts) {
  SCOPED_TRACE(name);
  for (size_t i = 0; i < parts.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(parts[i], golden(name, static_cast<int>(i)));
  }
}

// The script's `pattern`: ((step k) mod of - of / 2) / 4 in row-major order, float64.
inline Tensor pattern(const Dims& shape, int64_t step, int64_t of) {
  std::vector<double> numbers(static_cast<size_t>(numel_of(shape)));
  for (size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<double>(step * static_cast<int64_t>(k) % of - of / 2) / 4;
  return tensor(std::span<const double>(numbers), shape, kFloat64);
}

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_NN_GOLDENS_H_
