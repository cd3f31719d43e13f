#include "vellum/backends/cuda/kernels/families.h"

namespace vellum::cuda {

std::vector<KernelEntry> all_kernels() {
  std::vector<KernelEntry> all;
  for (const auto family : {pointwise_kernels, comparison_kernels, matmul_kernels}) {
    const std::vector<KernelEntry> kernels = family();
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  return all;
}

}  // namespace vellum::cuda
