// A backend of this workspace: a device with memory of its own, which the rest of Vellum may only copy to and from, and
// kernels for two operators. Host fallback serves the others.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "vellum/device/device_api.h"
#include "vellum/tensor/backend.h"
#include "vellum/tensor/kernel.h"

namespace consumer {
namespace {

using vellum::KernelContext;
using vellum::LoopPlan;
using vellum::ok_status;
using vellum::Status;
using vellum::StatusCode;

constexpr vellum::DeviceApi kApi{
    .device_count = []() noexcept { return 1; },
    .allocate = [](int, size_t bytes, size_t alignment, void** out) noexcept -> Status {
      *out = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      return *out ? ok_status() : Status{StatusCode::kOutOfMemory, "toy: no memory"};
    },
    .deallocate = [](int, void* data, size_t) noexcept -> Status {
      std::free(data);
      return ok_status();
    },
    .copy = [](int, void* dst, const void* src, size_t bytes, vellum::CopyKind,
               vellum::StreamHandle) noexcept -> Status {
      std::memmove(dst, src, bytes);
      return ok_status();
    },
    .memset = [](int, void* dst, int byte, size_t bytes, vellum::StreamHandle) noexcept -> Status {
      std::memset(dst, byte, bytes);
      return ok_status();
    }};

// Calls `f` with the bytes of each element of each operand, output first.
template <typename F>
Status for_each_element(const LoopPlan& loop, F f) noexcept {
  for (int64_t i = 0; i < loop.numel; ++i) {
    char* at[vellum::kMaxLoopOperands];
    for (int k = 0; k < loop.operands; ++k) {
      int64_t rest = i, offset = 0;
      for (int d = 0; d < loop.ndim; ++d) {
        offset += rest % loop.sizes[d] * loop.strides[k][d];
        rest /= loop.sizes[d];
      }
      at[k] = static_cast<char*>(loop.data[k]) + offset;
    }
    f(at);
  }
  return ok_status();
}

float& value(char* at) { return *reinterpret_cast<float*>(at); }

Status run_mul(const KernelContext& context) noexcept {
  return for_each_element(*context.loop, [](char** at) { value(at[0]) = value(at[1]) * value(at[2]); });
}

Status run_cube(const KernelContext& context) noexcept {
  return for_each_element(*context.loop, [](char** at) { value(at[0]) = value(at[1]) * value(at[1]) * value(at[1]); });
}

constexpr vellum::KernelEntry kKernels[] = {{"mul", vellum::kFloat32, run_mul},
                                            {"consumer_cube", vellum::kFloat32, run_cube}};
constexpr vellum::Backend kToy{.name = "toy", .device = &kApi, .kernels = kKernels};

[[maybe_unused]] const vellum::DeviceType kRegistered = vellum::register_backend(kToy);

}  // namespace
}  // namespace consumer
