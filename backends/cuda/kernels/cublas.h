#ifndef VELLUM_BACKENDS_CUDA_KERNELS_CUBLAS_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_CUBLAS_H_

#include <cublas_v2.h>

#include <cstddef>

#include "vellum/device/status.h"
#include "vellum/device/stream.h"

namespace vellum::cuda {

// Scratch memory that cuBLAS is given, in bytes and with its alignment. NVIDIA advises 32 MiB for Hopper; with less it
// leaves out algorithms.
inline constexpr size_t kCublasWorkspace = size_t{32} << 20;
inline constexpr size_t kCublasAlignment = 256;

// This thread's handle for the stream's device, which must be current, working on that stream with `workspace` of
// kCublasWorkspace bytes, so that what a product needs is what the allocator sees. The handle is made at first use, and
// destroyed with the thread.
Status cublas_handle(const Stream& stream, void* workspace, cublasHandle_t* out) noexcept;

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_CUBLAS_H_
