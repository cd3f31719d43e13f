#ifndef VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
#define VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_

#include <span>
#include <vector>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// The kernels of each family, for the best instruction set that this machine offers among those compiled. The choice
// is made here, once; the entries' functions belong to that set.
using KernelFamily = std::span<const KernelEntry>();

KernelFamily arithmetic_kernels;        // add, sub, mul, div, neg, conj, complex, relu, relu_backward, where
KernelFamily comparison_kernels;        // eq, ne, lt, le, gt, ge
KernelFamily copy_kernels;              // copy, fill_
KernelFamily exponential_kernels;       // exp, log and their kin, roots, reciprocal
KernelFamily trigonometric_kernels;     // sin, cos, tanh, sigmoid, erf
KernelFamily activation_kernels;        // gelu, silu, softplus, leaky_relu, elu, and their gradients
KernelFamily rounding_kernels;          // abs, sign, square, floor and its kin, minimum, maximum, clamp
KernelFamily power_kernels;             // pow
KernelFamily ternary_kernels;           // lerp, addcmul, addcdiv
KernelFamily division_kernels;          // div with rounding, fmod, remainder, angle of real numbers
KernelFamily logical_kernels;           // logical_*, isnan, isinf, isfinite, masked_fill
KernelFamily integer_function_kernels;  // what the families above offer for integers
KernelFamily complex_function_kernels;  // and for complex numbers; polar
KernelFamily reduce_kernels;            // sum, mean, amax, amin
KernelFamily plain_reduce_kernels;      // prod, any, all; sum, amax, amin of the integers that are rare
KernelFamily moments_kernels;           // var, std, vector_norm, logsumexp
KernelFamily max_kernels;               // max and min along a dimension, with indices; argmax, argmin
KernelFamily scan_kernels;              // cumsum, cumprod
KernelFamily sort_kernels;              // sort
KernelFamily topk_kernels;              // topk
KernelFamily indexing_kernels;          // gather, cat, as_strided_backward
KernelFamily scatter_kernels;           // index_*, scatter, gather_backward, positions, triangles
KernelFamily matmul_kernels;            // matmul, linear
KernelFamily softmax_kernels;           // softmax, softmax_backward
KernelFamily log_softmax_kernels;       // log_softmax, log_softmax_backward
KernelFamily nll_loss_kernels;          // nll_loss, nll_loss_backward
KernelFamily cross_entropy_kernels;     // cross_entropy, cross_entropy_backward
KernelFamily element_loss_kernels;      // mse_loss, l1_loss, smooth_l1_loss, binary_cross_entropy_with_logits
KernelFamily layer_norm_kernels;        // layer_norm, layer_norm_backward
KernelFamily batch_norm_kernels;        // batch_norm, batch_norm_backward
KernelFamily random_kernels;            // uniform_, normal_, dropout, dropout_backward

// All of them.
std::vector<KernelEntry> all_kernels();

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_FAMILIES_H_
