// Tensors in pinned memory, on a machine whose only device works at once. What an asynchronous device does with them is
// in tests/allocator/pinned_test.cc.

#include "vellum/allocator/pinned.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

PinnedAllocator& pinned() { return pinned_allocator(Device(kCPU)); }

TEST(PinMemory, CopiesTheValuesIntoPinnedMemory) {
  const Tensor x = arange(6).view({2, 3}).t();
  const Tensor p = x.pin_memory();
  EXPECT_FALSE(x.is_pinned());
  EXPECT_TRUE(p.is_pinned());
  EXPECT_TRUE(p.is_contiguous());
  EXPECT_EQ(p.dtype(), kInt64);
  EXPECT_EQ(p.device(), Device(kCPU));
  EXPECT_EQ(values(p), values(x));
}

TEST(PinMemory, LeavesAPinnedTensorAsItIs) {
  const Tensor p = ones({2}).pin_memory();
  EXPECT_EQ(p.pin_memory().impl().data, p.impl().data);
  EXPECT_TRUE(p.view({2, 1}).is_pinned());
  EXPECT_FALSE((p + 1).is_pinned());
}

TEST(PinMemory, IsDifferentiable) {
  Tensor x = leaf({1, 2});
  (x.pin_memory() * 3).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 3));
}

TEST(PinMemory, HoldsItsBytesInThePinnedAllocatorAlone) {
  const int64_t before = live_bytes(), pinned_before = pinned().stats().active.current;
  {
    const Tensor p = internal::make_pinned(std::vector<int64_t>{1000}, kFloat32, Device(kCPU));
    EXPECT_EQ(live_bytes(), before);
    EXPECT_EQ(pinned().stats().active.current - pinned_before, 4096);
  }
  EXPECT_EQ(pinned().stats().active.current, pinned_before);
}

TEST(PinMemory, KeepsEmptyAndScalarTensors) {
  EXPECT_EQ(zeros({0, 3}).pin_memory().shape(), (Dims{0, 3}));
  EXPECT_EQ(scalar_tensor(2.5).pin_memory().item(), 2.5);
}

TEST(PinMemory, RefusesMoreBytesThanCanBeCounted) {
  const Tensor huge = ones({1}).expand({int64_t{1} << 62});
  EXPECT_THAT(message_of<ShapeError>([&] { huge.pin_memory(); }), HasSubstr("more bytes than 63 bits can count"));
}

TEST(PinMemory, IsForTensorsOfTheHost) {
  const std::string message = message_of<DeviceError>([] { ones({2}).to(Device("sim")).pin_memory(); });
  EXPECT_THAT(message, HasSubstr("only tensors on the CPU"));
  EXPECT_THAT(message, HasSubstr("cpu()"));
}

TEST(PinMemory, IsNotThereForADeviceWithoutPageLockedMemory) {
  EXPECT_THAT(message_of<NotImplementedError>([] { ones({2}).pin_memory(Device("meta")); }),
              HasSubstr("no page-locked host memory"));
}

TEST(NonBlocking, GivesTheSameValues) {
  const Device sim("sim");
  for (const Tensor& x : {constant({1, 2, 3}), constant({1, 2, 3}).pin_memory()}) {
    const Tensor there = x.to(sim, true);
    const Tensor back = there.to(Device(kCPU), true);
    synchronize(sim);
    EXPECT_EQ(values(back), values(x));
    EXPECT_EQ(values(there.to(Device(kCPU), kFloat32, true)), values(x));
    EXPECT_EQ(values(zeros({3}, kFloat64).copy_(there, true)), values(x));
  }
}

}  // namespace
}  // namespace vellum
