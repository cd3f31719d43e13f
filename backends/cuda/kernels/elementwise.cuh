#ifndef VELLUM_BACKENDS_CUDA_KERNELS_ELEMENTWISE_CUH_
#define VELLUM_BACKENDS_CUDA_KERNELS_ELEMENTWISE_CUH_

#include <algorithm>
#include <cuda/std/complex>
#include <vector>

#include "vellum/backends/cuda/device_scope.h"
#include "vellum/backends/cuda/kernels/element_loop.h"
#include "vellum/tensor/kernel.h"

// Elementwise kernels from functors (functors.h says what one is).

namespace vellum::cuda {

// std::complex does not work on a device. Same bytes.
using DeviceComplex64 = ::cuda::std::complex<float>;
using DeviceComplex128 = ::cuda::std::complex<double>;

template <typename T>
struct DeviceDType : DTypeOf<T> {};
template <>
struct DeviceDType<DeviceComplex64> : DTypeOf<complex64> {};
template <>
struct DeviceDType<DeviceComplex128> : DTypeOf<complex128> {};

inline constexpr int kThreads = 256;
inline constexpr int64_t kMaxBlocks = 1 << 16;  // beyond, a thread takes several turns

__device__ inline int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline int64_t thread_count() { return int64_t{gridDim.x} * blockDim.x; }

template <typename Loop, typename Op>
__global__ void __launch_bounds__(kThreads) vector_kernel(Op op, typename Loop::Operands operands) {
  Loop::vectors(op, operands, thread_index(), thread_count());
}

template <typename Loop, typename Op>
__global__ void __launch_bounds__(kThreads) strided_kernel(Op op, typename Loop::Operands operands) {
  Loop::strided(op, operands, thread_index(), thread_count());
}

// Enqueues the operator on the plan's operands.
template <typename Op, typename H>
Status launch(const Op& op, const LoopPlan& plan, const Stream& stream) noexcept {
  using Loop = ElementLoop<Op, H>;
  if (plan.numel == 0) return ok_status();
  const DeviceScope scope(stream.device.index);
  if (!scope.status().ok()) return scope.status();
  const typename Loop::Operands operands(plan);
  const bool vectorized = Loop::is_vectorizable(operands);
  const int64_t blocks = std::min(kMaxBlocks, (Loop::work(operands, vectorized) + kThreads - 1) / kThreads);
  if (vectorized)
    vector_kernel<Loop><<<static_cast<unsigned>(blocks), kThreads, 0, stream_of(stream.handle)>>>(op, operands);
  else
    strided_kernel<Loop><<<static_cast<unsigned>(blocks), kThreads, 0, stream_of(stream.handle)>>>(op, operands);
  return status_of(cudaGetLastError());
}

template <typename Op, typename H>
Status run_op(const KernelContext& context) noexcept {
  return launch<Op, H>(Op(context), *context.loop, context.stream);
}

// A kernel of Op<T> for each T.
template <template <typename> class Op, typename... Ts>
void append(std::vector<KernelEntry>& kernels, std::string_view name) {
  (kernels.push_back({name, DeviceDType<Ts>::value, run_op<Op<Ts>, float>}), ...);
}

template <template <typename> class Op>
void append_integers(std::vector<KernelEntry>& kernels, std::string_view name) {
  append<Op, uint8_t, int8_t, int16_t, int32_t, int64_t>(kernels, name);
}

// The half types compute with floats.
template <template <typename> class Op>
void append_floats(std::vector<KernelEntry>& kernels, std::string_view name) {
  append<Op, float, double>(kernels, name);
  kernels.push_back({name, kFloat16, run_op<Op<float>, float16>});
  kernels.push_back({name, kBFloat16, run_op<Op<float>, bfloat16>});
}

template <template <typename> class Op>
void append_complex(std::vector<KernelEntry>& kernels, std::string_view name) {
  append<Op, DeviceComplex64, DeviceComplex128>(kernels, name);
}

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_ELEMENTWISE_CUH_
