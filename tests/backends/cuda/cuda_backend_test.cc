// What holds on every machine, and what a program meets on one without a GPU.

#include "vellum/backends/cuda/cuda_backend.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>

#include "vellum/allocator/memory.h"
#include "vellum/device/device.h"
#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CudaBackend, IsRegisteredByNameWhetherOrNotThereIsAGpu) {
  DeviceType type;
  ASSERT_TRUE(find_device_type("cuda", &type));
  EXPECT_EQ(find_backend(type), &cuda_backend());
  EXPECT_NE(type, kCPU);
}

TEST(CudaBackend, ListsEachKernelOnceAndForOperatorsAndDTypesThatExist) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const KernelEntry& kernel : cuda_backend().kernels) {
    const OpSlot* slot = find_operator(kernel.op);
    ASSERT_TRUE(slot) << kernel.op;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (!kernel.dtypes.contains(dtype)) continue;
      EXPECT_TRUE(slot->def().domain.contains(dtype)) << kernel.op << " of " << dtype;
      EXPECT_TRUE(seen.emplace(kernel.op, t).second) << kernel.op << " of " << dtype << " twice";
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

TEST(CudaBackend, LeavesToTheHostWhatItHasNoKernelFor) {
  DeviceType cuda;
  ASSERT_TRUE(find_device_type("cuda", &cuda));
  OpSlot& matmul = *find_operator("matmul");
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128})
    EXPECT_EQ(matmul.provenance(cuda, dtype), Provenance::kNative) << dtype;
  EXPECT_EQ(matmul.provenance(cuda, kInt64), Provenance::kHostFallback);
  EXPECT_EQ(find_operator("add")->provenance(cuda, kBFloat16), Provenance::kNative);
  EXPECT_EQ(find_operator("log")->provenance(cuda, kFloat32), Provenance::kHostFallback);
}

// --- Without a GPU

class WithoutGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const int count = cuda_backend().device->device_count(); count > 0)
      GTEST_SKIP() << "this machine has " << count << " CUDA devices; hide them with CUDA_VISIBLE_DEVICES=";
  }

  template <typename F>
  static std::string device_error(F f) {
    try {
      f();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "no DeviceError was thrown";
  }

  const Device cuda_{"cuda"};
  const ::testing::Matcher<std::string> says_why_ = AnyOf(HasSubstr("no NVIDIA driver"), HasSubstr("finds no GPU"));
};

TEST_F(WithoutGpu, MakingATensorSaysWhatIsMissing) {
  EXPECT_THAT(device_error([&] { empty({2}, cuda_); }), says_why_);
  EXPECT_THAT(device_error([&] { ones({2, 3}, {kFloat64, cuda_}); }), says_why_);
  EXPECT_THAT(device_error([&] { tensor({1.f, 2.f}).to(cuda_); }), says_why_);
  EXPECT_THAT(device_error([&] { empty({2}, cuda_); }), HasSubstr("cuda:0"));
}

TEST_F(WithoutGpu, NamingADeviceByIndexSaysWhatIsMissing) {
  EXPECT_THAT(device_error([] { Device("cuda:0"); }), says_why_);
  EXPECT_THAT(device_error([] { Device("cuda:3"); }), says_why_);
}

TEST_F(WithoutGpu, EachFunctionOfTheDeviceReportsIt) {
  const DeviceApi& api = *cuda_backend().device;
  void* data = &data;
  EXPECT_EQ(api.allocate(0, 64, 64, &data).code, StatusCode::kDeviceError);
  EXPECT_EQ(data, nullptr);
  StreamHandle stream = 1;
  EXPECT_EQ(api.stream_create(0, &stream).code, StatusCode::kDeviceError);
  EXPECT_EQ(stream, 0u);
  EventHandle event = 1;
  EXPECT_EQ(api.event_create(0, &event).code, StatusCode::kDeviceError);
  EXPECT_EQ(event, 0u);
  EXPECT_EQ(api.host_allocate(0, 64, &data).code, StatusCode::kDeviceError);
  EXPECT_EQ(api.synchronize(0).code, StatusCode::kDeviceError);
  EXPECT_THAT(std::string(api.synchronize(0).message), says_why_);
}

TEST_F(WithoutGpu, TheHostGoesOnWorking) {
  const int64_t before = memory_allocated(Device(kCPU));
  EXPECT_THROW(tensor({1.f}).to(cuda_), DeviceError);
  EXPECT_EQ(memory_allocated(Device(kCPU)), before);
  EXPECT_THAT((tensor({1.f, 2.f}) * 2).to_vector<float>(), ElementsAre(2, 4));
}

}  // namespace
}  // namespace vellum
