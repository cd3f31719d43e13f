#include "vellum/backends/cuda/kernels/copy_bits.h"
#include "vellum/backends/cuda/kernels/elementwise.cuh"

namespace vellum::cuda {
namespace {

struct alignas(16) Bytes16 {
  uint64_t halves[2];
};

template <typename T>
struct Identity {
  using Out = T;
  using In = Types<T>;
  VELLUM_HOST_DEVICE T operator()(T x) const { return x; }
};

template <typename T>
Status copy_as(const LoopPlan& plan, const Stream& stream) noexcept {
  return launch<Identity<T>, float>({}, plan, stream);
}

}  // namespace

Status copy_bits(const LoopPlan& plan, size_t bytes, const Stream& stream) noexcept {
  switch (bytes) {
    case 1:
      return copy_as<uint8_t>(plan, stream);
    case 2:
      return copy_as<uint16_t>(plan, stream);
    case 4:
      return copy_as<uint32_t>(plan, stream);
    case 8:
      return copy_as<uint64_t>(plan, stream);
    default:
      return copy_as<Bytes16>(plan, stream);
  }
}

}  // namespace vellum::cuda
