#ifndef VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
#define VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_

#include <span>
#include <vector>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// The kernels of each family, for the best instruction set that this machine offers among those compiled. The choice
// is made here, once; the entries' functions belong to that set.
std::span<const KernelEntry>
arithmetic_kernels();  // add, sub, mul, div, neg, conj, complex, relu, relu_backward, where
std::span<const KernelEntry> comparison_kernels();  // eq, ne, lt, le, gt, ge
std::span<const KernelEntry> copy_kernels();        // copy, fill_

std::span<const KernelEntry> matmul_kernels();  // matmul, linear

std::span<const KernelEntry> reduce_kernels();  // sum, mean, amax

std::span<const KernelEntry> indexing_kernels();  // cat, gather, gather_backward, as_strided_backward, max

std::span<const KernelEntry> random_kernels();          // uniform_, normal_, dropout, dropout_backward
std::span<const KernelEntry> transcendental_kernels();  // exp, log, sqrt, pow
std::span<const KernelEntry> softmax_kernels();         // log_softmax and its backward
std::span<const KernelEntry> nll_loss_kernels();        // nll_loss and its backward
std::span<const KernelEntry> indexing_kernels();        // gather, cat, as_strided_backward and their like
std::span<const KernelEntry> max_kernels();             // max along a dimension, with indices
std::span<const KernelEntry> random_kernels();          // uniform_, normal_, dropout and its backward

std::vector<KernelEntry> all_kernels();

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
