#include "vellum/tensor/internal/loop_plan.h"

#include <utility>

namespace vellum::internal {
namespace {

// Outer dimensions first: by the output's stride, then by the inputs'. Keeps the order of equals.
bool walks_outside(const LoopPlan& p, int a, int b) {
  for (int k = 0; k < p.operands; ++k) {
    const int64_t sa = p.strides[k][a], sb = p.strides[k][b];
    if (sa == 0 || sb == 0) continue;  // broadcast: no opinion
    if (sa != sb) return sa > sb;
  }
  return false;
}

void swap_dims(LoopPlan& p, int a, int b) {
  std::swap(p.sizes[a], p.sizes[b]);
  for (int k = 0; k < p.operands; ++k) std::swap(p.strides[k][a], p.strides[k][b]);
}

void sort_dims(LoopPlan& p) {
  for (int i = 1; i < p.ndim; ++i)
    for (int j = i; j > 0 && walks_outside(p, j, j - 1); --j) swap_dims(p, j, j - 1);
}

// Drops sizes of 1 and merges neighbours that every operand walks as one.
void coalesce(LoopPlan& p) {
  int kept = 0;
  for (int i = 0; i < p.ndim; ++i) {
    if (p.sizes[i] == 1) continue;
    bool merge = kept > 0;
    for (int k = 0; merge && k < p.operands; ++k) merge = p.strides[k][kept - 1] == p.strides[k][i] * p.sizes[i];
    if (merge) {
      p.sizes[kept - 1] *= p.sizes[i];
      for (int k = 0; k < p.operands; ++k) p.strides[k][kept - 1] = p.strides[k][i];
      continue;
    }
    p.sizes[kept] = p.sizes[i];
    for (int k = 0; k < p.operands; ++k) p.strides[k][kept] = p.strides[k][i];
    ++kept;
  }
  p.ndim = kept;
}

void set_operand(LoopPlan& p, int k, const TensorImpl& t) {
  const int64_t bytes = static_cast<int64_t>(dtype_size(t.dtype));
  const int shift = p.ndim - t.rank;
  p.data[k] = t.data;
  for (int i = 0; i < p.ndim; ++i) {
    const bool broadcast = i < shift || t.sizes[i - shift] != p.sizes[i];
    p.strides[k][i] = broadcast ? 0 : t.strides[i - shift] * bytes;
  }
}

}  // namespace

void plan_elementwise(LoopPlan& p, const TensorImpl& out, std::span<const TensorImpl* const> inputs) {
  p.ndim = out.rank;
  p.operands = 1 + static_cast<int>(inputs.size());
  p.numel = out.numel;
  p.reduction = false;
  p.reduced = 1;
  for (int i = 0; i < p.ndim; ++i) p.sizes[i] = out.sizes[i];
  set_operand(p, 0, out);
  for (size_t k = 0; k < inputs.size(); ++k) set_operand(p, static_cast<int>(k) + 1, *inputs[k]);
  if (!out.is_contiguous()) sort_dims(p);
  coalesce(p);
}

void plan_reduction(LoopPlan& p, const TensorImpl& out, const TensorImpl& in, uint32_t reduced) {
  p.ndim = in.rank;
  p.operands = 2;
  p.numel = in.numel;
  p.reduction = true;
  p.reduced = 1;
  p.data[0] = out.data;
  const int64_t out_bytes = static_cast<int64_t>(dtype_size(out.dtype));
  const bool keepdim = out.rank == in.rank;
  int o = 0;
  for (int i = 0; i < in.rank; ++i) {
    p.sizes[i] = in.sizes[i];
    const bool folded = reduced >> i & 1;
    if (folded) p.reduced *= in.sizes[i];
    p.strides[0][i] = folded ? 0 : out.strides[keepdim ? i : o] * out_bytes;
    if (!folded) ++o;
  }
  set_operand(p, 1, in);
  coalesce(p);
}

}  // namespace vellum::internal
