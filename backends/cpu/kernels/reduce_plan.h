#ifndef VELLUM_BACKENDS_CPU_KERNELS_REDUCE_PLAN_H_
#define VELLUM_BACKENDS_CPU_KERNELS_REDUCE_PLAN_H_

#include <cstdint>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

// A few dimensions, outermost first, walked by a flat index.
struct Walk {
  int ndim = 0;
  int64_t count = 1;  // of positions
  int64_t sizes[kMaxRank];
  int64_t in[kMaxRank], out[kMaxRank];  // bytes

  void add(int64_t size, int64_t in_stride, int64_t out_stride);
  void remove_last();
  // Byte offsets at position `index`.
  int64_t in_offset(int64_t index) const { return offset(index, in); }
  int64_t out_offset(int64_t index) const { return offset(index, out); }

 private:
  int64_t offset(int64_t index, const int64_t* strides) const {
    int64_t total = 0;
    for (int d = ndim - 1; d > 0; --d) {
      total += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return ndim > 0 ? total + index * strides[0] : 0;
  }
};

// A reduction, taken apart: for each position of `kept`, all positions of `folded` are folded into one element. In both
// the input's smallest stride is innermost. With `columns` > 0 the folds of that many neighbours in memory, along a
// dimension taken out of `kept`, go on side by side.
struct ReducePlan {
  Walk kept, folded;
  int64_t columns = 0;
};

// `in_bytes`, `out_bytes`: of an element of the input and of the output.
ReducePlan make_reduce_plan(const LoopPlan& plan, int64_t in_bytes, int64_t out_bytes);

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_REDUCE_PLAN_H_
