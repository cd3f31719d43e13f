#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

#include "vellum/tests/tensor/print_goldens.inc"

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(int64_t n) { return arange(n, kFloat32); }

// The tensors of make_print_goldens.py.
std::map<std::string_view, Tensor> tensors() {
  return {
      {"scalar", scalar_tensor(1.5)},
      {"integer scalar", scalar_tensor(7)},
      {"bool scalar", scalar_tensor(true)},
      {"whole", tensor({1.f, 2.f, 3.f})},
      {"mixed", tensor({1.5f, -2.25f, 100.125f})},
      {"integers", tensor<int64_t>({1, -20, 300})},
      {"bools", tensor({true, false})},
      {"matrix", floats(6).view({2, 3})},
      {"rank 3", floats(8).view({2, 2, 2})},
      {"rank 4", arange(16).view({2, 2, 2, 2})},
      {"no elements", zeros({0})},
      {"no columns", zeros({2, 0})},
      {"not finite", tensor({kNan, kInf, -kInf, 1.5f})},
      {"whole and infinite", tensor({kInf, 1.f, 2.f})},
      {"only nan", tensor({kNan, kNan})},
      {"large whole", tensor({1e9f, 1.f})},
      {"large", tensor({123456789.5f, 0.5f})},
      {"small", tensor({1e-5f, 1.f})},
      {"wide range", tensor({0.01f, 100.f})},
      {"negative small", tensor({-1e-6f, 2e-6f})},
      {"zeros", zeros({3})},
      {"negative zero", tensor({-0.f, 0.5f})},
      {"float64", tensor({1.25}, kFloat64)},
      {"float16", tensor({1.25}, kFloat16)},
      {"bfloat16", tensor({1.25}, kBFloat16)},
      {"uint8", tensor<uint8_t>({200})},
      {"int32", tensor<int32_t>({1, -2}).view({2, 1})},
      {"complex", tensor<complex64>({{1, 2}, {-3.5, -0.25}})},
      {"whole complex", tensor<complex64>({{1, 2}, {-3, -4}})},
      {"complex scalar", scalar_tensor(complex128(0.5, -1.5), kComplex128)},
      {"complex matrix", tensor<complex64>({{1, 1}, {10.5, -2}, {0, 0}, {-1, 100}}).view({2, 2})},
      {"row that wraps", arange(30)},
      {"real row that wraps", floats(30) / 8},
      {"summarized", arange(1001)},
      {"summarized real", floats(1001)},
      {"summarized matrix", arange(1200).view({40, 30})},
      {"summarized long row", floats(2000).view({2, 1000}) / 8},
      {"requires grad", tensor({1.f, 2.f}).requires_grad_()},
      {"one row of many", ones({2, 12}) / 3},
  };
}

TEST(Print, IsThatOfPyTorch) {
  const auto made = tensors();
  for (const auto& [name, golden] : kPrinted) {
    ASSERT_TRUE(made.count(name)) << name;
    EXPECT_EQ(to_string(made.at(name)), golden) << name;
  }
}

TEST(Print, NamesTheNodeThatMadeIt) {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  EXPECT_EQ(to_string(x * x), "tensor([1., 4.], grad_fn=<MulBackward>)");
}

TEST(Print, OfAnUndefinedTensorSaysSo) { EXPECT_EQ(to_string(Tensor()), "tensor(undefined)"); }

TEST(Print, OfATensorWithoutValuesGivesItsSize) {
  EXPECT_EQ(to_string(empty({2, 3}, Device("meta"))), "tensor(..., device='meta:0', size=(2, 3))");
}

TEST(Print, OfADeviceTensorGivesValuesAndDevice) {
  EXPECT_EQ(to_string(tensor({1.f, 2.f}, Device("sim"))), "tensor([1., 2.], device='sim:0')");
}

}  // namespace
}  // namespace vellum
