#include "vellum/backends/cpu/kernels/families.h"

namespace vellum::cpu {

std::vector<KernelEntry> all_kernels() {
  std::vector<KernelEntry> all;
  for (KernelFamily* family :
       {arithmetic_kernels, comparison_kernels, copy_kernels, transcendental_kernels, reduce_kernels, max_kernels,
        indexing_kernels, scatter_kernels, matmul_kernels, softmax_kernels, nll_loss_kernels, random_kernels}) {
    const std::span<const KernelEntry> kernels = family();
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  return all;
}

}  // namespace vellum::cpu
