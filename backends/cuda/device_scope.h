#ifndef VELLUM_BACKENDS_CUDA_DEVICE_SCOPE_H_
#define VELLUM_BACKENDS_CUDA_DEVICE_SCOPE_H_

#include <cuda_runtime_api.h>

#include "vellum/backends/cuda/status.h"
#include "vellum/device/device_api.h"

namespace vellum::cuda {

// Makes a device the CUDA runtime's current one on this thread for a scope. Whoever called the library finds its own
// choice as it was.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    cudaError_t error = cudaGetDevice(&saved_);
    if (error == cudaSuccess && saved_ != device) {
      error = cudaSetDevice(device);
      changed_ = error == cudaSuccess;
    }
    status_ = take_status(error);
  }
  ~DeviceScope() {
    if (changed_) (void)cudaSetDevice(saved_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  // Why the device could not be chosen. Nothing must be called on it then.
  Status status() const { return status_; }

 private:
  int saved_ = 0;
  bool changed_ = false;
  Status status_;
};

inline cudaStream_t stream_of(StreamHandle handle) { return reinterpret_cast<cudaStream_t>(handle); }
inline cudaEvent_t event_of(EventHandle handle) { return reinterpret_cast<cudaEvent_t>(handle); }

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_DEVICE_SCOPE_H_
