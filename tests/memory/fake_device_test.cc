#include "vellum/memory/fake_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "vellum/device/error.h"

namespace vellum::internal {
namespace {

// As a strategy sees it.
struct Api {
  explicit Api(const FakeDevice& fake) : device(fake.device()), api(device_api(device.type)) {}

  void* allocate(size_t bytes, size_t alignment = 64) const {
    void* data = nullptr;
    const Status status = api.allocate(device.index, bytes, alignment, &data);
    EXPECT_EQ(status.ok(), data != nullptr);
    EXPECT_TRUE(status.ok() || status.code == StatusCode::kOutOfMemory);
    return data;
  }
  void deallocate(void* data, size_t bytes) const { EXPECT_TRUE(api.deallocate(device.index, data, bytes).ok()); }

  Device device;
  const DeviceApi& api;
};

TEST(FakeDevice, GivesDistinctAlignedAddresses) {
  FakeDevice first(kCPU, 0), second(kCPU, 0);
  std::set<uintptr_t> ends{0};
  for (const FakeDevice* fake : {&first, &second})
    for (const size_t alignment : {64, 4096, 2 << 20})
      for (const size_t bytes : {1, 1000, 5 << 20}) {
        const auto start = reinterpret_cast<uintptr_t>(Api(*fake).allocate(bytes, alignment));
        EXPECT_EQ(start % alignment, 0);
        EXPECT_GE(start, *ends.rbegin());
        ends.insert(start + bytes);
      }
}

TEST(FakeDevice, GivesMoreThanAnyMachineHas) {
  FakeDevice fake(kCPU, 0);
  EXPECT_NE(Api(fake).allocate(size_t{1} << 42), nullptr);
}

TEST(FakeDevice, UsesAddressesAgainForTheSameSize) {
  FakeDevice fake(kCPU, 0);
  const Api api(fake);
  void* const a = api.allocate(1000);
  void* const b = api.allocate(1000);
  api.deallocate(a, 1000);
  api.deallocate(b, 1000);
  EXPECT_NE(api.allocate(1001), b);
  EXPECT_EQ(api.allocate(1000), b);
  EXPECT_EQ(api.allocate(1000), a);
}

TEST(FakeDevice, ReservesReleasedAddressesAgain) {
  FakeDevice fake(kCPU, 0);
  constexpr size_t kBytes = size_t{1} << 43;  // half of what there is
  for (int i = 0; i < 5; ++i) {
    void* data = nullptr;
    ASSERT_TRUE(fake.reserve(kBytes, &data).ok());
    fake.release(data, kBytes);
  }
}

TEST(FakeDevice, HasNoMoreThanItsBudget) {
  FakeDevice fake(kCPU, 1000);
  const Api api(fake);
  void* const most = api.allocate(900);
  EXPECT_NE(most, nullptr);
  EXPECT_EQ(api.allocate(101), nullptr);
  EXPECT_NE(api.allocate(100), nullptr);
  EXPECT_EQ(api.allocate(1), nullptr);
  api.deallocate(most, 900);
  EXPECT_NE(api.allocate(900), nullptr);
}

TEST(FakeDevice, MayBeGoneBeforeItsMemoryIsGivenBack) {
  auto fake = std::make_unique<FakeDevice>(kCPU, 0);
  const Api api(*fake);
  void* const data = api.allocate(1000);
  fake.reset();
  api.deallocate(data, 1000);
  FakeDevice next(kCPU, 1000);
  api.deallocate(data, 1000);  // the index is the next one's by now, the address is not
  EXPECT_NE(Api(next).allocate(1000), nullptr);
  EXPECT_EQ(Api(next).allocate(1), nullptr);
}

TEST(FakeDevice, IsNotMadeOfAnUnknownModel) {
  EXPECT_THROW(FakeDevice(Device(device_type("unheard of")), 0), DeviceError);
}

TEST(FakeDevice, RefusesMoreThanCanBeTold) {
  std::vector<std::unique_ptr<FakeDevice>> all;
  EXPECT_THROW(for (int i = 0; i < 300; ++i) all.push_back(std::make_unique<FakeDevice>(kCPU, 0)), DeviceError);
  EXPECT_EQ(all.size(), 256);
}

}  // namespace
}  // namespace vellum::internal
