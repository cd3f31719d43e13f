#ifndef VELLUM_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define VELLUM_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstdint>

#include "vellum/backends/cpu/kernels/gemm.h"
#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// The matrix products that one call of matmul or linear stands for: `first`, and others at batch strides from it.
struct Product {
  Gemm first;
  int64_t batch = 1;
  int batch_rank = 0;
  const int64_t* batch_sizes = nullptr;
  const int64_t* a_strides = nullptr;  // elements
  const int64_t* b_strides = nullptr;

  // Product number `index`, of elements of `bytes`.
  Gemm at(int64_t index, int64_t bytes) const {
    Gemm g = first;
    g.c = static_cast<char*>(g.c) + index * g.m * g.n * bytes;
    int64_t a = 0, b = 0;
    for (int d = batch_rank - 1; d >= 0; --d) {
      const int64_t i = index % batch_sizes[d];
      index /= batch_sizes[d];
      a += i * a_strides[d];
      b += i * b_strides[d];
    }
    g.a = static_cast<const char*>(g.a) + a * bytes;
    g.b = static_cast<const char*>(g.b) + b * bytes;
    return g;
  }
};

// a [batch..., M, K] times b [batch..., K, N].
inline Product matmul_product(const KernelContext& context) {
  const TensorArg &a = context.inputs[0], &b = context.inputs[1], &c = context.outputs[0];
  const int r = a.rank - 2;
  Product p{{a.sizes[r], b.sizes[r + 1], a.sizes[r + 1], a.data, a.strides[r], a.strides[r + 1], b.data, b.strides[r],
             b.strides[r + 1], c.data, nullptr}};
  p.batch_rank = r;
  p.batch_sizes = a.sizes;
  p.a_strides = a.strides;
  p.b_strides = b.strides;
  for (int d = 0; d < r; ++d) p.batch *= a.sizes[d];
  return p;
}

// x [..., K] times weight [M, K] transposed, plus bias [M]; all row-major.
inline Product linear_product(const KernelContext& context) {
  const TensorArg &x = context.inputs[0], &weight = context.inputs[1];
  const bool has_bias = context.inputs.size() > 2 && context.inputs[2].defined;
  const int64_t m = weight.sizes[0], k = weight.sizes[1];
  const int64_t rows = m > 0 ? context.outputs[0].numel / m : 0;
  return {{rows, m, k, x.data, k, 1, weight.data, 1, k, context.outputs[0].data,
           has_bias ? context.inputs[2].data : nullptr}};
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_PRODUCT_H_
