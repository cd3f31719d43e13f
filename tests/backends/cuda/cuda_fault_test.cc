// A process of its own: what follows a fault of the device stays broken until the process ends.

#include "vellum/backends/cuda/cuda_device.h"
#include "vellum/backends/cuda/kernels/copy_bits.h"
#include "vellum/device/stream.h"
#include "vellum/tests/backends/cuda/require_gpu.h"

namespace vellum::cuda {
namespace {

class CudaFault : public testing::GpuTest {};

TEST_F(CudaFault, ShowsAtTheNextSynchronisationAndInEachCallAfterIt) {
  const DeviceApi& api = cuda_device_api();
  LoopPlan plan{};
  plan.ndim = 1;
  plan.operands = 2;
  plan.numel = plan.sizes[0] = 1024;
  plan.strides[0][0] = plan.strides[1][0] = 4;
  plan.data[0] = plan.data[1] = reinterpret_cast<void*>(uintptr_t{1} << 46);  // nobody's
  EXPECT_TRUE(copy_bits(plan, 4, {Device("cuda"), 0}).ok()) << "the launch itself is in order";
  EXPECT_EQ(api.stream_synchronize(0, 0).code, StatusCode::kDeviceError);
  EXPECT_EQ(api.synchronize(0).code, StatusCode::kDeviceError);
  EXPECT_THROW(synchronize(Device("cuda")), DeviceError);
  void* data = nullptr;
  EXPECT_EQ(api.allocate(0, 64, 64, &data).code, StatusCode::kDeviceError);
}

}  // namespace
}  // namespace vellum::cuda
