#include "vellum/backends/meta/meta_backend.h"

#include "gtest/gtest.h"
#include "vellum/device/device.h"

namespace vellum {
namespace {

TEST(MetaBackend, IsRegisteredByName) {
  DeviceType type;
  ASSERT_TRUE(find_device_type("meta", &type));
  EXPECT_EQ(find_backend(type), &meta_backend());
  EXPECT_NE(type, kCPU);
}

TEST(MetaBackend, HasNoMemoryAndNoKernels) {
  const DeviceApi& api = *meta_backend().device;
  EXPECT_TRUE(api.shape_only);
  EXPECT_FALSE(api.host_accessible);
  EXPECT_EQ(api.device_count(), 1);
  EXPECT_TRUE(meta_backend().kernels.empty());
  void* data = &data;
  ASSERT_TRUE(api.allocate(0, size_t{1} << 50, 64, &data).ok());
  EXPECT_EQ(data, nullptr);
  EXPECT_TRUE(api.deallocate(0, data, size_t{1} << 50).ok());
}

}  // namespace
}  // namespace vellum
