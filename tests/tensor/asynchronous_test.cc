// Tensors on a device that works later: what the host reads is waited for, what the host gives is its own again, and
// everything goes through the current stream. The default stream is held up for ever, so that a wait for it fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/backend.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/fakes/sim.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Each test on the device with kernels and on the one without.
class Asynchronous : public ::testing::TestWithParam<const char*> {
 protected:
  ~Asynchronous() override { sim::reset(device_); }

  const Device device_{GetParam()};
  const sim::ModeScope mode_{sim::Mode::kManual};
  const sim::Gate gate_ = sim::hold({device_, 0});
  const StreamGuard stream_{create_stream(device_)};
  const Tensor x_ = tensor({1.f, 2.f, 3.f, 4.f}, device_).reshape({2, 2});
};

TEST_P(Asynchronous, ReadingAnElementWaitsForIt) { EXPECT_EQ((x_ + x_)[1][0].item(), 6); }

TEST_P(Asynchronous, ReadingAllElementsWaitsForThem) {
  EXPECT_THAT((x_ * 2).to_vector<float>(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((x_ * 2).t().to_vector<float>(), ElementsAre(2, 6, 4, 8));
  EXPECT_THAT((x_ * 2).to_vector<int>(), ElementsAre(2, 4, 6, 8));
}

TEST_P(Asynchronous, PrintingWaits) { EXPECT_THAT(to_string(x_ * 3), HasSubstr("[[ 3.,  6.],\n        [ 9., 12.]]")); }

TEST_P(Asynchronous, ACopyOnTheHostIsComplete) {
  const Tensor y = (x_ + 1).cpu(), z = (x_ + 1).t().cpu();
  EXPECT_EQ(y.data<float>()[3], 5);
  EXPECT_EQ(z.contiguous().data<float>()[1], 4);
}

TEST_P(Asynchronous, TheHostsTensorMayChangeOrGoRightAfterItWasCopied) {
  Tensor host = tensor({1.f, 2.f});
  const Tensor there = host.to(device_);
  host.fill_(9);
  Tensor target = zeros({2}, device_);
  Tensor source = tensor({5.f, 6.f});
  target.copy_(source);
  source.fill_(9);
  EXPECT_THAT(there.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(target.to_vector<float>(), ElementsAre(5, 6));
}

TEST_P(Asynchronous, CopiesBetweenDevicesWaitForBoth) {
  const Device other = Device(device_.type, 1);
  const Tensor y = (x_ + x_).to(other);
  EXPECT_EQ(y.device(), other);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 4, 6, 8));
}

TEST_P(Asynchronous, ConversionsTravelInOrder) {
  EXPECT_THAT((x_ / 4).to(Device(kCPU), kFloat64).to_vector<double>(), ElementsAre(0.25, 0.5, 0.75, 1));
  EXPECT_THAT((x_ * 2).to(kInt64).cpu().to_vector<int64_t>(), ElementsAre(2, 4, 6, 8));
}

TEST_P(Asynchronous, HostFallbackReadsWhatIsStillQueued) {
  const Tensor sums = x_ + x_;          // on the queue
  const Tensor roots = sqrt(sums + 2);  // and on the host
  EXPECT_THAT((roots * roots).round().to_vector<float>(), ElementsAre(4, 6, 8, 10));
}

TEST_P(Asynchronous, OperatorsWhoseResultsShapeDependsOnValuesReadThemInTime) {
  EXPECT_EQ(nonzero(x_ - 1).shape(), Dims({3, 2}));
  EXPECT_THAT(masked_select(x_ + x_, (x_ + x_).gt(3)).to_vector<float>(), ElementsAre(4, 6, 8));
}

TEST_P(Asynchronous, WritesInPlaceKeepTheirOrder) {
  Tensor y = x_ + 0;
  y.t().mul_(2);
  y.select(1, 0).copy_(tensor({10.f, 20.f}));
  y.add_(1);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(11, 5, 21, 9));
}

TEST_P(Asynchronous, MemoryThatGoesBackIsNotReusedTooEarly) {
  Tensor sum = zeros({2, 2}, device_);
  for (int i = 1; i <= 8; ++i) sum = sum + full({2, 2}, i, device_) * x_;
  EXPECT_THAT(sum.to_vector<float>(), ElementsAre(36, 72, 108, 144));
}

TEST_P(Asynchronous, FaultsOfEarlierWorkSurfaceWhenAValueIsRead) {
  sim::enqueue(current_stream(device_), "kernel", [] { return Status{StatusCode::kDeviceError, "illegal address"}; });
  const Tensor y = x_;
  try {
    y.cpu();
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("illegal address"));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Asynchronous, ::testing::Values("sim", "bare"),
                         [](const auto& info) { return std::string(info.param); });

// --- Memory that the host shares with a device that works later

// Copies of this device run when somebody waits for it.
std::vector<std::function<void()>>& shared_queue() {
  static std::vector<std::function<void()>>& queue = *new std::vector<std::function<void()>>;
  return queue;
}

constexpr DeviceApi kSharedApi{
    .device_count = []() noexcept { return 1; },
    .allocate = [](int, size_t bytes, size_t alignment,
                   void** out) noexcept { return device_api(kCPU).allocate(0, bytes, alignment, out); },
    .deallocate = [](int, void* data, size_t bytes) noexcept { return device_api(kCPU).deallocate(0, data, bytes); },
    .copy =
        [](int, void* dst, const void* src, size_t bytes, CopyKind, StreamHandle) noexcept {
          std::vector<char> staged(static_cast<const char*>(src), static_cast<const char*>(src) + bytes);
          shared_queue().push_back([=] { std::memcpy(dst, staged.data(), staged.size()); });
          return ok_status();
        },
    .stream_synchronize =
        [](int, StreamHandle) noexcept {
          for (const auto& work : std::exchange(shared_queue(), {})) work();
          return ok_status();
        },
    .host_accessible = true};
constexpr Backend kShared{.name = "shared", .device = &kSharedApi};
const DeviceType kSharedType = register_backend(kShared);

// A tensor {1, 2} whose values are not there yet.
Tensor on_its_way() {
  Tensor x = zeros({2}, Device(kSharedType));
  const float values[] = {1, 2};
  EXPECT_TRUE(kSharedApi.copy(0, x.impl().data, values, sizeof values, CopyKind::kHostToDevice, 0).ok());
  return x;
}

TEST(SharedMemory, IsReadByTheHostWhenTheDeviceIsDone) { EXPECT_EQ(on_its_way().data<float>()[1], 2); }

TEST(SharedMemory, IsCopiedToTheHostWhenTheDeviceIsDone) {
  EXPECT_THAT(on_its_way().to_vector<float>(), ElementsAre(1, 2));
}

// --- Several streams

class Streams : public ::testing::Test {
 protected:
  ~Streams() override { sim::reset(device_); }

  const Device device_{"sim"};
  const sim::ModeScope mode_{sim::Mode::kManual};
  const Stream a_ = create_stream(device_), b_ = create_stream(device_);
};

TEST_F(Streams, AnEventOrdersTheUseAfterTheMaking) {
  Event made(device_);
  Tensor x, y;
  {
    const StreamGuard guard(a_);
    x = full({2}, 3, device_) * 2;
    made.record(a_);
  }
  {
    const StreamGuard guard(b_);
    made.block(b_);
    y = x + 1;
    EXPECT_THAT(y.to_vector<float>(), ElementsAre(7, 7));
  }
}

TEST_F(Streams, NumbersBesideTensorsMakeNobodyWait) {
  const StreamGuard guard(a_);
  const Tensor x = full({2}, 3, device_);
  const sim::Gate gate = sim::hold(a_);
  const Tensor y = (x + 1) * scalar_tensor(0.5f);
  gate.open();
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 2));
}

TEST_F(Streams, WithoutAnEventTheUseMayComeFirst) {
  Tensor x;
  {
    const StreamGuard guard(a_);
    x = full({2}, 3, device_);
  }
  const StreamGuard guard(b_);
  EXPECT_NE((x + 1).to_vector<float>()[0], 4);
}

// The gaps between the elements of a strided tensor are others' to write, whatever serves the operator.
TEST_F(Streams, AWriteToAStridedViewLeavesWhatLiesBetweenAlone) {
  for (const char* const name : {"sim", "bare"})
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const sim::ModeScope mode(sim::Mode::kRandom, seed);
      const Device device(name);
      const StreamGuard guard(Stream{device, a_.handle});
      Tensor x = zeros({4}, device);
      synchronize(device);
      auto* const gap = static_cast<float*>(sim::reach(x.impl().data, 16)) + 1;
      for (uint64_t delay = seed % 16; delay > 0; --delay) sim::enqueue(b_, "delay", [] { return ok_status(); });
      sim::enqueue(b_, "write", [gap] { return *gap = 7, ok_status(); });
      x.slice(0, 0, 4, 2).fill_(1);
      Tensor ends = x.slice(0, 0, 4, 3);
      ends.tanh_();
      synchronize(device);
      ASSERT_THAT(x.to_vector<float>(), Pointwise(FloatNear(1e-6f), {std::tanh(1.f), 7.f, 1.f, 0.f}))
          << name << ", seed " << seed;
    }
}

// Work on each stream keeps to the memory that it got there, whichever stream is current when a tensor dies.
TEST_F(Streams, MemoryReturnsToTheStreamItWasMadeOn) {
  Tensor y;
  {
    const StreamGuard guard(a_);
    Tensor x = full({2}, 3, device_);
    y = x * 2;  // on the queue; reads x
    const StreamGuard other(b_);
    x.reset();
    const Tensor z = full({2}, 100, device_);
    EXPECT_THAT(z.to_vector<float>(), ElementsAre(100, 100));
  }
  const StreamGuard guard(a_);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(6, 6));
}

TEST_F(Streams, PinnedMemoryMayGoBeforeItsCopyRan) {
  const StreamGuard guard(a_);
  const sim::Gate gate = sim::hold(a_);
  Tensor host = tensor({1.f, 2.f}).pin_memory(device_);
  const Tensor there = host.to(device_, /*non_blocking=*/true);
  host.reset();
  const Tensor next = tensor({8.f, 9.f}).pin_memory(device_);
  gate.open();
  EXPECT_THAT(there.to_vector<float>(), ElementsAre(1, 2));
}

TEST_F(Streams, PinnedMemoryIsReadWhenItsCopyRuns) {
  const StreamGuard guard(a_);
  Tensor host = tensor({1.f, 2.f}).pin_memory(device_);
  const Tensor later = host.to(device_, /*non_blocking=*/true);
  host.fill_(9);
  EXPECT_THAT(later.to_vector<float>(), ElementsAre(9, 9)) << "it was not to be changed";
  const Tensor at_once = host.to(device_);
  host.fill_(3);
  EXPECT_THAT(at_once.to_vector<float>(), ElementsAre(9, 9));
}

TEST_F(Streams, RecordStreamRefusesAStreamOfAnotherDevice) {
  const Tensor x = zeros({2}, device_);
  try {
    x.record_stream({Device("sim:1"), 0});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("record_stream: the tensor float32[2] is on sim:0, the stream on sim:1"));
  }
}

TEST_F(Streams, RecordStreamOfBorrowedMemoryIsTheCallersConcern) {
  float data[2] = {1, 2};
  EXPECT_NO_THROW(from_blob(data, {2}, Device(kCPU)).record_stream({Device(kCPU), 0}));
}

}  // namespace
}  // namespace vellum
