#include "vellum/backends/cpu/cpu_backend.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

const DeviceApi& api() { return *cpu_backend().device; }

TEST(CpuBackend, IsRegistered) {
  EXPECT_EQ(find_backend(kCPU), &cpu_backend());
  EXPECT_EQ(cpu_backend().name, "cpu");
  EXPECT_EQ(cpu_backend().api_version, kBackendApiVersion);
}

TEST(CpuBackend, HasOneKernelForEachOperatorAndType) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const KernelEntry& entry : cpu_backend().kernels) {
    EXPECT_NE(entry.run, nullptr) << entry.op;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (!entry.dtypes.contains(dtype)) continue;
      EXPECT_TRUE(seen.emplace(entry.op, t).second) << entry.op << ' ' << dtype_name(dtype);
    }
  }
}

class TargetTest : public testing::KernelTest {};
VELLUM_ON_EACH_INSTRUCTION_SET(TargetTest);

// Without this the suites that run on each instruction set might all run on one.
TEST_P(TargetTest, InstructionSetsHaveKernelsOfTheirOwn) {
  static std::set<const void*> functions;
  EXPECT_TRUE(functions.insert(reinterpret_cast<const void*>(kernel("add", kFloat32).run)).second);
}

TEST(CpuDevice, WorksAtOnceOnHostMemory) {
  EXPECT_EQ(api().device_count(), 1);
  EXPECT_TRUE(api().host_accessible);
  EXPECT_FALSE(api().shape_only);
  EXPECT_EQ(api().stream_create, nullptr);
  EXPECT_TRUE(api().synchronize(0).ok());
}

TEST(CpuDevice, AllocatesAligned) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20, size_t{64} << 20})
    for (const size_t alignment : {size_t{64}, size_t{4096}}) {
      void* data = nullptr;
      ASSERT_TRUE(api().allocate(0, bytes, alignment, &data).ok());
      const size_t least = bytes >= (size_t{2} << 20) ? size_t{2} << 20 : alignment;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % least, 0u);
      std::memset(data, 1, bytes);
      EXPECT_TRUE(api().deallocate(0, data, bytes).ok());
    }
}

TEST(CpuDevice, ReportsWhatItCannotAllocate) {
  for (const size_t bytes : {size_t{1} << 60, SIZE_MAX, SIZE_MAX - 100}) {
    void* data = nullptr;
    EXPECT_EQ(api().allocate(0, bytes, 64, &data).code, StatusCode::kOutOfMemory);
    EXPECT_EQ(data, nullptr);
  }
}

TEST(CpuDevice, BacksReservedAddressesPageByPage) {
  const size_t page = api().granularity, bytes = size_t{64} << 30;
  void* data = nullptr;
  ASSERT_TRUE(api().reserve(0, bytes, &data).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % page, 0u);
  char* const second = static_cast<char*>(data) + page;
  ASSERT_TRUE(api().map(0, second, 2 * page).ok());
  std::memset(second, 7, 2 * page);
  ASSERT_TRUE(api().unmap(0, second, page).ok());
  EXPECT_EQ(second[page], 7);  // the other page stays
  ASSERT_TRUE(api().map(0, second, page).ok());
  EXPECT_EQ(second[0], 0);  // the memory went back, this is other
  EXPECT_TRUE(api().unmap(0, second, 2 * page).ok());
  EXPECT_TRUE(api().release(0, data, bytes).ok());
}

TEST(CpuDeviceDeathTest, WhatIsNotMappedCannotBeTouched) {
  void* data = nullptr;
  ASSERT_TRUE(api().reserve(0, api().granularity, &data).ok());
  EXPECT_DEATH(*static_cast<volatile char*>(data) = 1, "");
  ASSERT_TRUE(api().map(0, data, api().granularity).ok());
  ASSERT_TRUE(api().unmap(0, data, api().granularity).ok());
  EXPECT_DEATH(*static_cast<volatile char*>(data) = 1, "");
  EXPECT_TRUE(api().release(0, data, api().granularity).ok());
}

TEST(CpuDevice, ReportsAddressesItDoesNotHave) {
  void* data = nullptr;
  EXPECT_EQ(api().reserve(0, size_t{1} << 60, &data).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(api().reserve(0, SIZE_MAX, &data).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(data, nullptr);
}

TEST(CpuDevice, CopiesAndSets) {
  char from[100], to[100];
  ASSERT_TRUE(api().memset(0, from, 7, sizeof from, 0).ok());
  ASSERT_TRUE(api().copy(0, to, from, sizeof to, CopyKind::kDeviceToDevice, 0).ok());
  EXPECT_EQ(to[99], 7);
  EXPECT_TRUE(api().copy(0, nullptr, nullptr, 0, CopyKind::kHostToDevice, 0).ok());
}

TEST(CpuDevice, TellsItsMemory) {
  size_t free = 0, total = 0;
  ASSERT_TRUE(api().memory_info(0, &free, &total).ok());
  EXPECT_GT(free, 0u);
  EXPECT_GE(total, free);
}

}  // namespace
}  // namespace vellum
