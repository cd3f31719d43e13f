// Gradients lie where their inputs lie, also when the graph crosses devices.

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

const Device kHost(kCPU);
Device sim() { return Device("sim"); }

TEST(Devices, GradientReturnsToTheDeviceOfALeafThatWasMoved) {
  Tensor x = leaf({1, 2});
  (x.to(sim()) * 3).sum().backward();
  EXPECT_EQ(x.grad().device(), kHost);
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 3));
}

TEST(Devices, GradientOfAHostScalarBesideADeviceTensorLiesOnTheHost) {
  Tensor scale = scalar_tensor(2., kFloat64).requires_grad_();
  Tensor x = constant({1, 2}).to(sim()).requires_grad_();
  (x * scale).sum().backward();
  EXPECT_EQ(scale.grad().device(), kHost);
  EXPECT_EQ(scale.grad().item(), 3);
  EXPECT_EQ(x.grad().device(), sim());
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2));
}

TEST(Devices, SecondDerivativesCrossTheDevicesToo) {
  Tensor x = leaf({3});
  const Tensor y = x.to(sim());
  const Tensor g = grad({(y * y * y).sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(g.device(), kHost);
  EXPECT_THAT(values(grad({g.sum()}, {x})[0]), ElementsAre(18));
}

TEST(Devices, AGradientWithoutValuesCannotReturn) {
  Tensor x = leaf({1, 2});
  EXPECT_THAT(message_of<DeviceError>([&] { x.to(Device("meta")).sum().backward(); }),
              HasSubstr("has a shape and a dtype but no values"));
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace vellum
