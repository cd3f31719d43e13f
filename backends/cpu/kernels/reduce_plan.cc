#include "vellum/backends/cpu/kernels/reduce_plan.h"

#include <cstdlib>

namespace vellum::cpu {
namespace {

constexpr int64_t kMinColumns = 4;  // fewer are not worth a vector

}  // namespace

// Inserts by the input's stride.
void Walk::add(int64_t size, int64_t in_stride, int64_t out_stride) {
  int at = ndim++;
  for (; at > 0 && std::abs(in[at - 1]) < std::abs(in_stride); --at) {
    sizes[at] = sizes[at - 1];
    in[at] = in[at - 1];
    out[at] = out[at - 1];
  }
  sizes[at] = size;
  in[at] = in_stride;
  out[at] = out_stride;
  count *= size;
}

void Walk::remove_last() {
  --ndim;
  count /= sizes[ndim];
}

ReducePlan make_reduce_plan(const LoopPlan& plan, int64_t in_bytes, int64_t out_bytes) {
  ReducePlan p;
  for (int d = 0; d < plan.ndim; ++d) {
    const bool is_kept = plan.strides[0][d] != 0;
    (is_kept ? p.kept : p.folded).add(plan.sizes[d], plan.strides[1][d], plan.strides[0][d]);
  }
  const int last = p.kept.ndim - 1;
  const bool rows_are_contiguous = p.folded.ndim > 0 && p.folded.in[p.folded.ndim - 1] == in_bytes;
  if (last >= 0 && !rows_are_contiguous && p.kept.in[last] == in_bytes && p.kept.out[last] == out_bytes &&
      p.kept.sizes[last] >= kMinColumns) {
    p.columns = p.kept.sizes[last];
    p.kept.remove_last();
  }
  return p;
}

}  // namespace vellum::cpu
