#include "vellum/backends/cuda/cuda_backend.h"

#include <vector>

#include "vellum/backends/cuda/cuda_device.h"
#include "vellum/backends/cuda/kernels/families.h"

namespace vellum {

const Backend& cuda_backend() {
  // Leaked: kernels may be called while statics are destroyed.
  static const std::vector<KernelEntry>& kernels = *new std::vector<KernelEntry>(cuda::all_kernels());
  static const Backend backend{.name = "cuda", .device = &cuda::cuda_device_api(), .kernels = kernels};
  return backend;
}

}  // namespace vellum
