// Result types of mixed operands, as PyTorch has them.

#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

#include "vellum/tests/conformance/promotion_goldens.inc"

class Promotion : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    require_device();
    if (!IsSkipped() && !HasFatalFailure()) device_ = Device(target().device);
  }

  // The rule, and an operator's result on the device.
  void expect(const Tensor& a, const Tensor& b, DType golden) {
    if (golden == DType::kUndefined) return;
    const Tensor* inputs[] = {&a, &b};
    EXPECT_EQ(result_type(inputs), golden) << a.dtype() << a.shape() << ", " << b.dtype() << b.shape();
    EXPECT_EQ(mul(a, b).dtype(), golden) << a.dtype() << a.shape() << " * " << b.dtype() << b.shape();
    EXPECT_EQ(mul(b, a).dtype(), golden) << b.dtype() << b.shape() << " * " << a.dtype() << a.shape();
  }
  Tensor ones_of(const Dims& shape, DType dtype) const { return ones(shape, {dtype, device_}); }

 private:
  Device device_;
};

TEST_P(Promotion, OfTwoTensors) {
  for (const DType b : kEveryDType)
    expect(ones_of({1}, GetParam()), ones_of({1}, b), kTensorTensor[static_cast<int>(GetParam())][static_cast<int>(b)]);
}

TEST_P(Promotion, OfATensorAndOneOfRankZero) {
  for (const DType b : kEveryDType)
    expect(ones_of({1}, GetParam()), ones_of({}, b), kTensorZero[static_cast<int>(GetParam())][static_cast<int>(b)]);
}

TEST_P(Promotion, OfATensorAndANumber) {
  const Scalar numbers[] = {true, 2, 2.5, complex64(2, 1)};
  for (int k = 0; k < 4; ++k)
    for (const auto& [shape, table] : {std::pair(Dims{1}, kTensorNumber), std::pair(Dims{}, kZeroNumber)}) {
      const DType golden = table[static_cast<int>(GetParam())][k];
      if (golden == DType::kUndefined) continue;
      EXPECT_EQ(mul(ones_of(shape, GetParam()), numbers[k]).dtype(), golden)
          << GetParam() << shape << " * number " << k;
    }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Promotion, ::testing::ValuesIn(kEveryDType),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace vellum::conformance
