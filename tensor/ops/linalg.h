#ifndef VELLUM_TENSOR_OPS_LINALG_H_
#define VELLUM_TENSOR_OPS_LINALG_H_

#include <span>
#include <string_view>

#include "vellum/tensor/tensor.h"

// Products of vectors, matrices and batches of them. Dtypes promote; bool is refused.

namespace vellum {

Tensor matmul(const Tensor& a, const Tensor& b);  // PyTorch's rules for rank 1 and for batches
Tensor mm(const Tensor& a, const Tensor& b);      // [M, K] x [K, N]
Tensor bmm(const Tensor& a, const Tensor& b);     // [B, M, K] x [B, K, N]
Tensor mv(const Tensor& a, const Tensor& x);      // [M, K] x [K]
Tensor dot(const Tensor& a, const Tensor& b);     // [K] x [K], not conjugated: a scalar
Tensor outer(const Tensor& a, const Tensor& b);   // [M], [N]: [M, N]
// beta * input + alpha * (a x b); the input broadcasts to the product and is not read where beta is 0. The factors are
// of the product's category or a lower one.
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
// x [..., K] times weight [M, K] transposed, plus bias [M] when defined: [..., M].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// Einstein's sum: einsum("bij,bjk->bik", {a, b}). Labels are letters, "..." stands for dimensions that broadcast, a
// label that the right side lacks is summed over; without "->" those that occur once stand on it in alphabetical
// order. Operands are contracted from left to right.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// --- Forms that write into `out`, of the result's shape or without elements; see ops.h. Those of matrices and batches
// of matrices compute there, the others aside.
Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& mm_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& bmm_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& mv_out(Tensor& out, const Tensor& a, const Tensor& x);
Tensor& dot_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& outer_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& addmm_out(Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                  const Scalar& alpha = 1);
Tensor& baddbmm_out(Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1);

}  // namespace vellum

#endif  // VELLUM_TENSOR_OPS_LINALG_H_
