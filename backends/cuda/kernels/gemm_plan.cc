#include "vellum/backends/cuda/kernels/gemm_plan.h"

#include <algorithm>

namespace vellum::cuda {
namespace {

// Packs all dimensions row-major, but a repeated matrix once.
void pack(const TensorArg& x, GemmOperand* out) {
  out->packed = true;
  int64_t stride = 1;
  for (int d = x.rank - 1; d >= 0; --d) {
    const bool repeats = d < x.rank - 2 && x.strides[d] == 0;
    out->packed_sizes[d] = repeats ? 1 : x.sizes[d];
    out->packed_strides[d] = repeats ? 0 : stride;
    stride *= out->packed_sizes[d];
  }
  out->packed_elements = stride;
  out->leading = std::max<int64_t>(1, x.sizes[x.rank - 1]);
}

// How the matrices lie in the last two dimensions. A dimension of size 1 has any stride.
GemmOperand plan_operand(const TensorArg& x) {
  GemmOperand out;
  const int r = x.rank - 2;
  const int64_t rows = x.sizes[r], columns = x.sizes[r + 1], row = x.strides[r], column = x.strides[r + 1];
  if ((column == 1 || columns <= 1) && (rows <= 1 || row >= columns)) {
    out.leading = std::max<int64_t>({1, columns, rows <= 1 ? 1 : row});
  } else if ((row == 1 || rows <= 1) && (columns <= 1 || column >= rows)) {
    out.column_major = true;
    out.leading = std::max<int64_t>({1, rows, columns <= 1 ? 1 : column});
  } else {
    pack(x, &out);
  }
  return out;
}

int64_t batch_stride(const GemmOperand& operand, const TensorArg& x, int d) {
  return operand.packed ? operand.packed_strides[d] : x.strides[d];
}

// Appends batch dimension d, or merges it with the one before. c is row-major and merges with any.
void add_batch(GemmPlan* plan, int64_t size, int64_t a, int64_t b) {
  if (size == 1) return;
  const int last = plan->batch_rank - 1;
  if (last >= 0 && plan->a.batch[last] == a * size && plan->b.batch[last] == b * size) {
    plan->batch_sizes[last] *= size;
    plan->a.batch[last] = a;
    plan->b.batch[last] = b;
    return;
  }
  plan->batch_sizes[plan->batch_rank] = size;
  plan->a.batch[plan->batch_rank] = a;
  plan->b.batch[plan->batch_rank] = b;
  ++plan->batch_rank;
}

}  // namespace

GemmPlan plan_gemm(const TensorArg& a, const TensorArg& b) {
  GemmPlan plan;
  plan.m = a.sizes[a.rank - 2];
  plan.k = a.sizes[a.rank - 1];
  plan.n = b.sizes[b.rank - 1];
  plan.a = plan_operand(a);
  plan.b = plan_operand(b);
  for (int d = 0; d < a.rank - 2; ++d)
    add_batch(&plan, a.sizes[d], batch_stride(plan.a, a, d), batch_stride(plan.b, b, d));
  for (int d = 0; d + 1 < plan.batch_rank; ++d) plan.calls *= plan.batch_sizes[d];
  return plan;
}

GemmOffsets gemm_offsets(const GemmPlan& plan, int64_t call) {
  GemmOffsets at;
  at.c = call * plan.batch() * plan.m * plan.n;
  for (int d = plan.batch_rank - 2; d >= 0; --d) {
    const int64_t i = call % plan.batch_sizes[d];
    call /= plan.batch_sizes[d];
    at.a += i * plan.a.batch[d];
    at.b += i * plan.b.batch[d];
  }
  return at;
}

}  // namespace vellum::cuda
