// to() and copy_() across dtypes and devices.

#include <gtest/gtest.h>

#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

constexpr DType kEveryDType[] = {kBool,    kUInt8,    kInt8,    kInt16,   kInt32,     kInt64,
                                 kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128};

TEST(ToDType, KeepsSmallIntegersInEveryDtype) {
  for (const DType from : kEveryDType)
    for (const DType to : kEveryDType) {
      const Tensor x = tensor<int64_t>({0, 1, 3}).to(from);
      const int top = from == kBool || to == kBool ? 1 : 3;
      EXPECT_EQ(x.to(to).dtype(), to);
      EXPECT_EQ(x.to(to).to(kInt64).to_vector<int64_t>(), std::vector<int64_t>({0, 1, top})) << from << " to " << to;
    }
}

TEST(ToDType, TruncatesTowardsZeroAndTakesTheRealPart) {
  EXPECT_EQ(tensor({-1.75f, 2.75f}).to(kInt32).to_vector<int>(), std::vector<int>({-1, 2}));
  EXPECT_EQ(tensor<complex64>({{1.5, 9}}).to(kFloat32).to_vector<float>(), std::vector<float>({1.5}));
  EXPECT_EQ(tensor<complex64>({{0, 1}}).to(kBool).to_vector<bool>(), std::vector<bool>({true}));
  EXPECT_EQ(tensor({0.1f}).to(kBool).to_vector<bool>(), std::vector<bool>({true}));
}

TEST(ToDType, OfTheSameDtypeIsTheSameTensor) {
  const Tensor x = tensor({1.f});
  EXPECT_TRUE(x.to(kFloat32).is_same(x));
  EXPECT_TRUE(x.to(Device("cpu")).is_same(x));
  EXPECT_TRUE(x.contiguous().is_same(x));
  EXPECT_FALSE(x.clone().shares_storage_with(x));
}

TEST(ToDevice, CarriesValuesThereAndBackWhateverTheStrides) {
  const Tensor x = arange(6, kFloat32).view({2, 3});
  const Tensor there = x.t().to(Device("sim:1"));
  EXPECT_EQ(there.device(), Device("sim:1"));
  EXPECT_TRUE(there.is_contiguous());
  EXPECT_EQ(there.cpu().to_vector<float>(), x.t().to_vector<float>());
  EXPECT_EQ(there.slice(0, 1).to_vector<float>(), x.t().slice(0, 1).to_vector<float>());
}

TEST(ToDevice, BetweenTwoDevicesGoesThroughTheHost) {
  const Tensor x = tensor({1.f, 2.f}, Device("sim:0"));
  EXPECT_EQ(x.to(Device("sim:1")).to_vector<float>(), std::vector<float>({1, 2}));
}

TEST(ToDevice, WithADtypeGivesBoth) {
  const Tensor x = tensor({1.5f}).to(Device("sim"), kFloat64);
  EXPECT_EQ(x.dtype(), kFloat64);
  EXPECT_EQ(x.item<double>(), 1.5);
  EXPECT_EQ(x.to(Device("cpu"), kFloat16).dtype(), kFloat16);
}

TEST(ToDevice, MetaTakesShapesAndGivesNoValues) {
  const Tensor x = tensor({1.f, 2.f}).to(Device("meta"));
  EXPECT_EQ(x.shape(), Dims({2}));
  EXPECT_THROW(x.cpu(), DeviceError);
  EXPECT_THROW(x.item(), Error);
  EXPECT_EQ((x + x).shape(), Dims({2}));
}

TEST(ToDevice, UnknownNamesAreRefusedNamingTheTargetToLink) {
  try {
    Device("nowhere");
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("//backends/nowhere:register"), std::string::npos) << e.what();
  }
  EXPECT_THROW(Device("sim:2"), DeviceError);
  EXPECT_THROW(Device("sim:x"), DeviceError);
}

TEST(Copy, ConvertsBroadcastsAndMoves) {
  Tensor x = zeros({2, 3});
  x.copy_(tensor<int64_t>({1, 2, 3}));
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({1, 2, 3, 1, 2, 3}));
  Tensor there = zeros({3, 2}, Device("sim"));
  there.t().copy_(x);
  EXPECT_EQ(there.to_vector<int>(), std::vector<int>({1, 1, 2, 2, 3, 3}));
  x.select(0, 0).copy_(there.select(1, 1).clone());
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({1, 2, 3, 1, 2, 3}));
}

TEST(Copy, OntoAnOverlappingWindowReadsBeforeItWrites) {
  const Tensor x = arange(5);
  x.slice(0, 1).copy_(x.slice(0, 0, 4));
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({0, 0, 1, 2, 3}));
}

TEST(Copy, OfAShapeThatDoesNotFitChangesNothing) {
  Tensor x = zeros({3});
  EXPECT_THROW(x.copy_(zeros({2, 3})), ShapeError);
  EXPECT_THROW(x.copy_(zeros({2})), ShapeError);
  EXPECT_EQ(x.version(), 0u);
}

TEST(Devices, DoNotMixExceptForScalarsOfTheHost) {
  const Tensor x = tensor({1.f, 2.f}, Device("sim"));
  EXPECT_THROW(x + tensor({1.f, 2.f}), DeviceError);
  EXPECT_THROW(x + scalar_tensor(1, Device("meta")), DeviceError);
  EXPECT_EQ((x + scalar_tensor(1.f)).to_vector<float>(), std::vector<float>({2, 3}));
  EXPECT_EQ((scalar_tensor(1.f) + x).device(), Device("sim"));
  EXPECT_EQ((x * 3).to_vector<float>(), std::vector<float>({3, 6}));
}

}  // namespace
}  // namespace vellum
