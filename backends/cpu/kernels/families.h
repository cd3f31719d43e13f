#ifndef VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
#define VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_

#include <span>
#include <vector>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// The kernels of each family, for the best instruction set that this machine offers among those compiled. The choice
// is made here, once; the entries' functions belong to that set.
using KernelFamily = std::span<const KernelEntry>();

KernelFamily arithmetic_kernels;      // add, sub, mul, div, neg, conj, complex, relu, relu_backward, where
KernelFamily comparison_kernels;      // eq, ne, lt, le, gt, ge
KernelFamily copy_kernels;            // copy, fill_
KernelFamily transcendental_kernels;  // exp, log, sqrt, pow
KernelFamily reduce_kernels;          // sum, mean, amax
KernelFamily max_kernels;             // max along a dimension, with indices
KernelFamily indexing_kernels;        // gather, gather_backward, cat, as_strided_backward
KernelFamily scatter_kernels;         // index_select, index_add, index_copy, scatter, positions, triangles
KernelFamily matmul_kernels;          // matmul, linear
KernelFamily softmax_kernels;         // log_softmax, log_softmax_backward
KernelFamily nll_loss_kernels;        // nll_loss, nll_loss_backward
KernelFamily random_kernels;          // uniform_, normal_, dropout, dropout_backward

// All of them.
std::vector<KernelEntry> all_kernels();

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
