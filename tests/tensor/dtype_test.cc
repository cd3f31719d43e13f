#include "vellum/tensor/dtype.h"

#include <gtest/gtest.h>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

TEST(DType, KnowsItsSizeAndCategory) {
  EXPECT_EQ(dtype_size(kBool), 1u);
  EXPECT_EQ(dtype_size(kBFloat16), 2u);
  EXPECT_EQ(dtype_size(kComplex128), 16u);
  EXPECT_TRUE(is_integral(kBool));
  EXPECT_FALSE(is_floating(kComplex64));
  EXPECT_TRUE(is_differentiable(kComplex64));
  EXPECT_FALSE(is_differentiable(kInt64));
  EXPECT_EQ(to_real(kComplex64), kFloat32);
  EXPECT_EQ(to_complex(kFloat64), kComplex128);
  EXPECT_EQ(to_complex(kFloat16), kComplex64);
}

TEST(DType, VisitsItsType) {
  for (int t = 0; t < kDTypeCount; ++t) {
    const DType dtype = static_cast<DType>(t);
    visit_dtype(dtype, [&](auto tag) {
      EXPECT_EQ(dtype_of<decltype(tag)>, dtype);
      EXPECT_EQ(sizeof(tag), dtype_size(dtype));
    });
  }
}

TEST(DTypeSet, ContainsWhatWasPutIn) {
  const DTypeSet set = DTypeSet(kBool) | DTypeSet(kComplex128);
  EXPECT_TRUE(set.contains(kBool));
  EXPECT_TRUE(set.contains(kComplex128));
  EXPECT_FALSE(set.contains(kFloat32));
  EXPECT_FALSE(kAllDTypes.contains(DType::kUndefined));
}

TEST(Promotion, IsCommutativeAndIdempotent) {
  for (int a = 0; a < kDTypeCount; ++a) {
    const DType x = static_cast<DType>(a);
    EXPECT_EQ(promote_types(x, x), x);
    EXPECT_EQ(promote_types(x, DType::kUndefined), x);
    for (int b = 0; b < kDTypeCount; ++b)
      EXPECT_EQ(promote_types(x, static_cast<DType>(b)), promote_types(static_cast<DType>(b), x));
  }
}

TEST(Number, KeepsTheDtypeOfTheTensorUnlessItsCategoryIsHigher) {
  EXPECT_EQ((full({2}, 3, kInt8) + 1000).dtype(), kInt8);
  EXPECT_EQ((full({2}, 3, kInt8) + 0.5).dtype(), kFloat32);
  EXPECT_EQ((zeros({2}, kFloat16) * 3.5).dtype(), kFloat16);
  EXPECT_EQ((zeros({2}, kFloat64) * complex64(0, 1)).dtype(), kComplex128);
  EXPECT_EQ((zeros({2}, kBool) + 1).dtype(), kInt64);
  EXPECT_EQ((zeros({2}, kInt64) / 2).dtype(), kFloat32);
}

TEST(Refusals, NameTheOperatorAndTheDtype) {
  const Tensor z = zeros({2}, kComplex64);
  try {
    lt(z, z);
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_NE(std::string(e.what()).find("lt: not defined for dtype complex64"), std::string::npos) << e.what();
  }
  EXPECT_THROW(sub(zeros({2}, kBool), zeros({2}, kBool)), DTypeError);
  Tensor integers = zeros({2}, kInt64);
  EXPECT_THROW(integers.add_(Scalar(0.5)), DTypeError);  // the result would not fit
  EXPECT_THROW(integers.div_(Scalar(2)), DTypeError);
  EXPECT_EQ(integers.version(), 0u);
}

}  // namespace
}  // namespace vellum
