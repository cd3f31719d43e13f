#ifndef VELLUM_BACKENDS_CUDA_KERNELS_GEMM_PLAN_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_GEMM_PLAN_H_

#include <cstdint>

#include "vellum/tensor/kernel.h"

namespace vellum::cuda {

// How cuBLAS reads the matrices of one operand. It wants one of the two dimensions without gaps; an operand that has
// neither is packed row-major into the workspace first.
struct GemmOperand {
  bool column_major = false;     // its columns have no gaps, instead of its rows
  int64_t leading = 1;           // elements from a row (or column) to the next
  int64_t batch[kMaxRank] = {};  // elements from one matrix to the next along each batch dimension; 0: the same one
  bool packed = false;
  int64_t packed_elements = 0;
  int64_t packed_sizes[kMaxRank];    // of all its dimensions; those that repeat the same matrix count as 1
  int64_t packed_strides[kMaxRank];  // row-major over these
};

// a [batch..., m, k] times b [batch..., k, n] into a row-major c [batch..., m, n].
struct GemmPlan {
  int64_t m, n, k;
  GemmOperand a, b;
  // Neighbouring batch dimensions that all three walk as one are merged. The last is for the strided-batched call, the
  // others are loops around it.
  int batch_rank = 0;
  int64_t batch_sizes[kMaxRank];
  int64_t calls = 1;  // products of the outer batch_sizes

  int64_t batch() const { return batch_rank > 0 ? batch_sizes[batch_rank - 1] : 1; }  // of each call
  bool is_empty() const { return m == 0 || n == 0 || calls == 0 || batch() == 0; }
};

// Where each operand starts in one of the calls, in elements.
struct GemmOffsets {
  int64_t a = 0, b = 0, c = 0;
};

// From the geometry alone; nothing is read. Both inputs have the same batch dimensions, some perhaps with stride 0.
GemmPlan plan_gemm(const TensorArg& a, const TensorArg& b);
GemmOffsets gemm_offsets(const GemmPlan& plan, int64_t call);

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_GEMM_PLAN_H_
