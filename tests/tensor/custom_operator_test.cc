// Operators and a backend as another workspace would add them: nothing upstream knows of them.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "vellum/autograd/autograd.h"
#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- A composite: its gradient keeps the output alone.

constexpr OpDef kSigmoid{
    .name = "test_sigmoid",
    .kind = OpKind::kComposite,
    .dtypes = dtype_rules::promote_integers_to_float,
    .domain = kFloatingDTypes,
    .saves = {saves_output()},
    .vjp =
        [](Vjp& v) {
          const Tensor& y = v.output();
          v.grad() = mul(v.cotangent(), mul(y, Scalar(1) - y));
        },
    .composite = [](const OpCall& call,
                    std::span<Tensor> outputs) { outputs[0] = Scalar(1) / (exp(neg(call.input(0))) + 1); }};
OpSlot sigmoid_slot{kSigmoid, "test"};
Tensor own_sigmoid(const Tensor& x) { return call(sigmoid_slot, {&x}); }

TEST(CompositeOperator, RunsOnEveryDeviceWithoutAKernel) {
  for (const char* device : {"cpu", "sim"})
    EXPECT_NEAR(own_sigmoid(tensor({1.f}, Device(device))).item(), 1 / (1 + std::exp(-1.0)), 1e-6) << device;
  EXPECT_EQ(own_sigmoid(empty({2, 3}, Device("meta"))).shape(), Dims({2, 3}));
}

TEST(CompositeOperator, IsOneNodeAndHasItsOwnGradient) {
  const Tensor x = tensor({0.5}, kFloat64).requires_grad_();
  const Tensor y = own_sigmoid(x);
  EXPECT_EQ(y.grad_fn().name(), "TestSigmoidBackward");
  y.sum().backward();
  const double s = 1 / (1 + std::exp(-0.5));
  EXPECT_NEAR(x.grad().item(), s * (1 - s), 1e-12);
}

TEST(CompositeOperator, CanBeDifferentiatedTwice) {
  const Tensor x = tensor({0.5}, kFloat64).requires_grad_();
  const Tensor first = grad({own_sigmoid(x)}, {x}, {ones({1}, kFloat64)}, {.create_graph = true})[0];
  const double s = 1 / (1 + std::exp(-0.5));
  EXPECT_NEAR(grad({first.sum()}, {x})[0].item(), s * (1 - s) * (1 - 2 * s), 1e-12);
}

TEST(CompositeOperator, WritesInPlaceAndIntoADestination) {
  const double s = 1 / (1 + std::exp(-0.5));
  Tensor out = empty({0}, kFloat64);
  const Tensor x = tensor({0.5}, kFloat64);
  const Tensor* inputs[] = {&x};
  call_out(sigmoid_slot, out, inputs);
  EXPECT_NEAR(out.item(), s, 1e-12);
  const Tensor leaf = tensor({0.5}, kFloat64).requires_grad_();
  Tensor y = leaf.clone();
  const Tensor* self[] = {&y};
  call_in_place(sigmoid_slot, y, self);
  EXPECT_NEAR(y.item(), s, 1e-12);
  y.sum().backward();
  EXPECT_NEAR(leaf.grad().item(), s * (1 - s), 1e-12);
}

// --- A kernel of one's own backend.

struct ScaleAttrs {
  double factor;
};

constexpr OpDef kScale{.name = "test_scale",
                       .dtypes = dtype_rules::same,
                       .domain = kFloat32,
                       .attrs = attrs_type<ScaleAttrs>,
                       .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), v.attributes<ScaleAttrs>().factor); }};
OpSlot scale_slot{kScale, "test"};

Tensor scale(const Tensor& x, double factor) {
  const ScaleAttrs attrs{factor};
  return call(scale_slot, {&x}, &attrs);
}

Stream last_stream;  // of the last call of the kernel

Status run_scale(const KernelContext& context) noexcept {
  last_stream = context.stream;
  const LoopPlan& loop = *context.loop;
  const float factor = static_cast<float>(context.attributes<ScaleAttrs>().factor);
  if (loop.ndim > 1) return {StatusCode::kUnsupported, "rows only"};
  for (int64_t i = 0; i < loop.numel; ++i) {
    const auto at = [&](int k) {
      return reinterpret_cast<float*>(static_cast<char*>(loop.data[k]) + (loop.ndim ? i * loop.strides[k][0] : 0));
    };
    *at(0) = factor * *at(1);
  }
  return ok_status();
}

constexpr KernelEntry kKernels[] = {{"test_scale", kFloat32, run_scale}};

// A device in host memory, with one kernel.
const DeviceApi kHostApi{
    .device_count = []() noexcept { return 1; },
    .allocate = [](int, size_t bytes, size_t alignment, void** out) noexcept -> Status {
      *out = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      return *out ? ok_status() : Status{StatusCode::kOutOfMemory, "no memory"};
    },
    .deallocate = [](int, void* data, size_t) noexcept -> Status {
      std::free(data);
      return ok_status();
    },
    .copy = [](int, void* dst, const void* src, size_t bytes, CopyKind, StreamHandle) noexcept -> Status {
      std::memmove(dst, src, bytes);
      return ok_status();
    },
    .memset = [](int, void* dst, int byte, size_t bytes, StreamHandle) noexcept -> Status {
      std::memset(dst, byte, bytes);
      return ok_status();
    },
    .host_accessible = true};
const Backend kOwnBackend{.name = "own", .device = &kHostApi, .kernels = kKernels};
const DeviceType kOwn = register_backend(kOwnBackend);

TEST(KernelOfAnotherBackend, ServesItsDevice) {
  const Tensor x = tensor({1.f, 2.f}, Device(kOwn));
  EXPECT_EQ(scale_slot.provenance(kOwn, kFloat32), Provenance::kNative);
  EXPECT_THAT(scale(x, 3).to_vector<float>(), ElementsAre(3, 6));
  const Tensor base = tensor({1.f, 2.f, 3.f}, Device(kOwn));
  EXPECT_THAT(scale(base.slice(0, 0, {}, 2), 3).to_vector<float>(), ElementsAre(3, 9));
}

TEST(KernelOfAnotherBackend, IsToldItsDeviceAndTheCurrentStream) {
  const Device own(kOwn);
  const Tensor x = tensor({1.f, 2.f, 3.f}, own);
  const Tensor row_major_and_not[] = {x, x.slice(0, 0, {}, 2)};
  for (const Tensor& t : row_major_and_not) {
    scale(t, 3);
    EXPECT_EQ(last_stream, (Stream{own, 0}));
    const StreamGuard guard({own, 5});
    scale(t, 3);
    EXPECT_EQ(last_stream, (Stream{own, 5}));
  }
}

TEST(KernelOfAnotherBackend, HasGradients) {
  const Tensor x = tensor({1.f, 2.f}, Device(kOwn)).requires_grad_();
  scale(x, 3).sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(3, 3));
}

TEST(KernelOfAnotherBackend, WhoseStatusIsAFailureThrowsNamingTheOperator) {
  try {
    scale(arange(4, {kFloat32, Device(kOwn)}).view({2, 2}).t(), 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("test_scale"));
    EXPECT_THAT(e.what(), HasSubstr("rows only"));
  }
}

TEST(KernelThatIsMissing, IsReportedWithTheDeviceAndTheMend) {
  try {
    scale(tensor({1.f}), 3);  // the CPU has none, so there is nothing to fall back to
    FAIL();
  } catch (const NotImplementedError& e) {
    EXPECT_THAT(e.what(), HasSubstr("test_scale: no kernel for float32 on cpu"));
  }
  EXPECT_THROW(scale(tensor({1.0}, kFloat64), 3), DTypeError);
}

// --- Strict dispatch and registration

TEST(StrictDispatch, TurnsTheHostFallbackIntoAnError) {
  const Tensor x = tensor({1.f}, Device("bare"));
  EXPECT_EQ((x + x).item(), 2);
  set_strict_dispatch(true);
  EXPECT_THROW(x + x, NotImplementedError);
  EXPECT_NO_THROW(tensor({1.f}) + tensor({1.f}));
  set_strict_dispatch(false);
  EXPECT_EQ((x + x).item(), 2);
}

TEST(Registration, RefusesASecondBackendOfThatName) {
  static const Backend again{.name = "own", .device = &kHostApi};
  static const DeviceApi other_api = kHostApi;
  static const Backend other{.name = "own", .device = &other_api};
  for (const Backend* b : {&again, &other}) {
    try {
      register_backend(*b);
      FAIL();
    } catch (const DeviceError& e) {
      EXPECT_THAT(e.what(), HasSubstr("'own' is registered twice"));
    }
  }
  EXPECT_EQ(register_backend(kOwnBackend), kOwn);  // the same one again is no harm
}

TEST(Registration, RefusesOtherVersionsNamingBoth) {
  static const Backend old{.api_version = 99, .name = "old", .device = &kHostApi};
  try {
    register_backend(old);
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("Backend version 99, this library has 1"));
  }
  static const DeviceApi old_api{.api_version = 98};
  static const Backend old_device{.name = "old device", .device = &old_api};
  EXPECT_THROW(register_backend(old_device), DeviceError);
  static const Backend none{.name = "none"};
  EXPECT_THROW(register_backend(none), DeviceError);
  DeviceType type;
  EXPECT_FALSE(find_device_type("old", &type));
}

TEST(Registration, FindsOperatorsByName) {
  EXPECT_EQ(find_operator("test_scale"), &scale_slot);
  EXPECT_EQ(find_operator("no such operator"), nullptr);
}

}  // namespace
}  // namespace vellum
