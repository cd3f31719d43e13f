#include "vellum/backends/cuda/status.h"

namespace vellum::cuda {
namespace {

StatusCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return StatusCode::kOutOfMemory;
    case cudaErrorNotReady:
      return StatusCode::kNotReady;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
      return StatusCode::kInvalidArgument;
    case cudaErrorNotSupported:
      return StatusCode::kUnsupported;
    default:
      return StatusCode::kDeviceError;
  }
}

const char* message_of(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "there is no NVIDIA driver, or it is older than the CUDA runtime that this program was built with; "
             "install "
             "a newer one or use 'cpu'";
    case cudaErrorNoDevice:
      return "the NVIDIA driver finds no GPU, or CUDA_VISIBLE_DEVICES hides all; use 'cpu'";
    case cudaErrorNoKernelImageForDevice:
      return "the kernels were not built for this GPU; build with --//bazel/cuda:architectures for it";
    default:
      return cudaGetErrorString(error);
  }
}

}  // namespace

Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return ok_status();
  return {code_of(error), message_of(error)};
}

Status status_of(cublasStatus_t error) {
  switch (error) {
    case CUBLAS_STATUS_SUCCESS:
      return ok_status();
    case CUBLAS_STATUS_ALLOC_FAILED:
      return {StatusCode::kOutOfMemory, "cuBLAS has no memory for its own use"};
    case CUBLAS_STATUS_INVALID_VALUE:
      return {StatusCode::kInvalidArgument, cublasGetStatusString(error)};
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return {StatusCode::kUnsupported, cublasGetStatusString(error)};
    default:
      return {StatusCode::kDeviceError, cublasGetStatusString(error)};
  }
}

Status take_status(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return status_of(error);
}

}  // namespace vellum::cuda
