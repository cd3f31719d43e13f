#include "vellum/backends/cpu/kernels/families.h"

namespace vellum::cpu {

std::vector<KernelEntry> all_kernels() {
  std::vector<KernelEntry> all;
  for (KernelFamily* family : {arithmetic_kernels,
                               comparison_kernels,
                               copy_kernels,
                               exponential_kernels,
                               trigonometric_kernels,
                               activation_kernels,
                               rounding_kernels,
                               power_kernels,
                               ternary_kernels,
                               division_kernels,
                               logical_kernels,
                               integer_function_kernels,
                               complex_function_kernels,
                               reduce_kernels,
                               plain_reduce_kernels,
                               moments_kernels,
                               max_kernels,
                               scan_kernels,
                               sort_kernels,
                               topk_kernels,
                               indexing_kernels,
                               scatter_kernels,
                               matmul_kernels,
                               softmax_kernels,
                               log_softmax_kernels,
                               nll_loss_kernels,
                               cross_entropy_kernels,
                               element_loss_kernels,
                               layer_norm_kernels,
                               batch_norm_kernels,
                               random_kernels}) {
    const std::span<const KernelEntry> kernels = family();
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  return all;
}

}  // namespace vellum::cpu
