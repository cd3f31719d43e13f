#include "vellum/backends/cuda/kernels/cublas.h"

#include "vellum/backends/cuda/device_scope.h"
#include "vellum/backends/cuda/status.h"

namespace vellum::cuda {
namespace {

constexpr int kMaxDevices = 16;  // as many as can have a current stream

struct Handles {
  cublasHandle_t of[kMaxDevices] = {};

  ~Handles() {
    for (int device = 0; device < kMaxDevices; ++device) {
      if (!of[device]) continue;
      const DeviceScope scope(device);
      (void)cublasDestroy(of[device]);
    }
  }
};

Status make_handle(cublasHandle_t* handle) {
  if (const Status status = status_of(cublasCreate(handle)); !status.ok()) {
    *handle = nullptr;
    return status;
  }
  // Sums of halves stay floats until the last, as on the other devices.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  return status_of(cublasSetMathMode(*handle, mode));
}

}  // namespace

Status cublas_handle(const Stream& stream, void* workspace, cublasHandle_t* out) noexcept {
  thread_local Handles handles;
  const int device = stream.device.index;
  if (device >= kMaxDevices) return {StatusCode::kUnsupported, "cuBLAS is used on the first 16 devices only"};
  cublasHandle_t& handle = handles.of[device];
  if (!handle)
    if (const Status status = make_handle(&handle); !status.ok()) return status;
  // In this order: a new stream makes cuBLAS forget the workspace.
  if (const Status status = status_of(cublasSetStream(handle, stream_of(stream.handle))); !status.ok()) return status;
  *out = handle;
  return status_of(cublasSetWorkspace(handle, workspace, kCublasWorkspace));
}

}  // namespace vellum::cuda
