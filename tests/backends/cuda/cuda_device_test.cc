// The DeviceApi of a GPU.

#include "vellum/backends/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "vellum/device/stream.h"
#include "vellum/tests/backends/cuda/require_gpu.h"

namespace vellum::cuda {
namespace {

const DeviceApi& api() { return cuda_device_api(); }

// A block of device memory.
class Block {
 public:
  explicit Block(size_t bytes) : bytes_(bytes) { EXPECT_TRUE(api().allocate(0, bytes, 64, &data).ok()); }
  ~Block() { EXPECT_TRUE(api().deallocate(0, data, bytes_).ok()); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(bytes_);
    EXPECT_TRUE(api().copy(0, bytes.data(), data, bytes_, CopyKind::kDeviceToHost, 0).ok());
    EXPECT_TRUE(api().stream_synchronize(0, 0).ok());
    return bytes;
  }

  void* data = nullptr;

 private:
  size_t bytes_;
};

class CudaDevice : public testing::GpuTest {};

TEST_F(CudaDevice, CopiesBothWaysAndWithin) {
  std::vector<unsigned char> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  const Block a(bytes.size()), b(bytes.size());
  ASSERT_TRUE(api().copy(0, a.data, bytes.data(), bytes.size(), CopyKind::kHostToDevice, 0).ok());
  ASSERT_TRUE(api().copy(0, b.data, a.data, bytes.size(), CopyKind::kDeviceToDevice, 0).ok());
  EXPECT_EQ(b.read(), bytes);
}

TEST_F(CudaDevice, SetsBytes) {
  const Block block(100);
  ASSERT_TRUE(api().memset(0, block.data, 0xab, 100, 0).ok());
  EXPECT_EQ(block.read(), std::vector<unsigned char>(100, 0xab));
}

TEST_F(CudaDevice, ReportsThatMemoryIsOutAndGoesOn) {
  void* data = nullptr;
  EXPECT_EQ(api().allocate(0, size_t{1} << 50, 64, &data).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the next launch would be blamed";
  const Block block(64);
  EXPECT_TRUE(api().memset(0, block.data, 0, 64, 0).ok());
}

TEST_F(CudaDevice, AlignsTo256BytesAndRefusesMore) {
  const Block block(1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 256, 0u);
  void* data = nullptr;
  EXPECT_EQ(api().allocate(0, 64, 512, &data).code, StatusCode::kUnsupported);
}

TEST_F(CudaDevice, CopiesFromPageLockedMemory) {
  void* host = nullptr;
  ASSERT_TRUE(api().host_allocate(0, 100, &host).ok());
  std::memset(host, 0x5a, 100);
  const Block block(100);
  ASSERT_TRUE(api().copy(0, block.data, host, 100, CopyKind::kHostToDevice, 0).ok());
  EXPECT_EQ(block.read(), std::vector<unsigned char>(100, 0x5a));
  EXPECT_TRUE(api().host_deallocate(0, host, 100).ok());
}

TEST_F(CudaDevice, AnEventOrdersTwoStreams) {
  const Device device("cuda");
  const Stream first = create_stream(device), second = create_stream(device);
  EXPECT_NE(first.handle, 0u);
  EXPECT_NE(first.handle, second.handle);
  constexpr size_t kBytes = size_t{64} << 20;
  const Block a(kBytes), b(kBytes);
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(api().memset(0, a.data, round * 10 + i, kBytes, first.handle).ok());
    Event written(device);
    written.record(first);
    written.block(second);
    ASSERT_TRUE(api().copy(0, b.data, a.data, kBytes, CopyKind::kDeviceToDevice, second.handle).ok());
    second.synchronize();
    EXPECT_TRUE(written.query());
    const std::vector<unsigned char> bytes = b.read();
    EXPECT_EQ(bytes.front(), round * 10 + 9);
    EXPECT_EQ(bytes.back(), round * 10 + 9);
  }
  destroy_stream(first);
  destroy_stream(second);
}

TEST_F(CudaDevice, AnEventIsCompleteOnceItWasWaitedFor) {
  const Device device("cuda");
  const Stream stream = create_stream(device);
  Event event(device);
  event.record(stream);
  event.synchronize();
  EXPECT_TRUE(event.query());
  destroy_stream(stream);
}

TEST_F(CudaDevice, TellsItsMemory) {
  size_t free = 0, total = 0;
  ASSERT_TRUE(api().memory_info(0, &free, &total).ok());
  EXPECT_GT(total, size_t{1} << 28);
  EXPECT_LE(free, total);
}

TEST_F(CudaDevice, RefusesADeviceThatIsNotThere) {
  const int beyond = api().device_count();
  void* data = nullptr;
  EXPECT_EQ(api().allocate(beyond, 64, 64, &data).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(api().synchronize(beyond).code, StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vellum::cuda
