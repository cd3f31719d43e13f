#ifndef VELLUM_TENSOR_OPS_LINALG_H_
#define VELLUM_TENSOR_OPS_LINALG_H_

#include <span>
#include <string_view>

#include "vellum/tensor/tensor.h"

// Products of vectors, matrices and batches of them. Dtypes promote; bool is refused.

namespace vellum {

Tensor matmul(const Tensor& a, const Tensor& b);                    // PyTorch's rules for rank 1 and for batches
Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b);  // matrices
Tensor& bmm_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor mm(const Tensor& a, const Tensor& b);     // [M, K] x [K, N]
Tensor bmm(const Tensor& a, const Tensor& b);    // [B, M, K] x [B, K, N]
Tensor mv(const Tensor& a, const Tensor& x);     // [M, K] x [K]
Tensor dot(const Tensor& a, const Tensor& b);    // [K] x [K], not conjugated: a scalar
Tensor outer(const Tensor& a, const Tensor& b);  // [M], [N]: [M, N]
// beta * input + alpha * (a x b); the input broadcasts to the product and is not read where beta is 0.
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
// x [..., K] times weight [M, K] transposed, plus bias [M] when defined: [..., M].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// Einstein's sum: einsum("bij,bjk->bik", {a, b}). Labels are letters, "..." stands for dimensions that broadcast, a
// label that the right side lacks is summed over; without "->" those that occur once stand on it in alphabetical
// order. Operands are contracted from left to right.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace vellum

#endif  // VELLUM_TENSOR_OPS_LINALG_H_
