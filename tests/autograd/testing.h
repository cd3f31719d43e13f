#ifndef VELLUM_TESTS_AUTOGRAD_TESTING_H_
#define VELLUM_TESTS_AUTOGRAD_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/tensor.h"

namespace vellum::testing {

// What blocks of the CPU occupy at the moment.
inline int64_t live_bytes() { return memory_allocated(); }

inline std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
inline std::vector<complex128> complex_values(const Tensor& t) { return t.to_vector<complex128>(); }

// A float64 leaf, so that comparisons are exact where the arithmetic is.
inline Tensor leaf(std::initializer_list<double> v) { return tensor<double>(v, kFloat64).requires_grad_(); }
inline Tensor constant(std::initializer_list<double> v) { return tensor<double>(v, kFloat64); }

inline Tensor complex_leaf(std::initializer_list<complex128> v) {
  return tensor<complex128>(v, kComplex128).requires_grad_();
}

// What the thrown error says.
template <typename E, typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error was thrown: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

}  // namespace vellum::testing

#define EXPECT_AUTOGRAD_ERROR(statement, phrase)                                                             \
  EXPECT_THAT(::vellum::testing::message_of<::vellum::AutogradError>([&] { static_cast<void>(statement); }), \
              ::testing::HasSubstr(phrase))

#endif  // VELLUM_TESTS_AUTOGRAD_TESTING_H_
