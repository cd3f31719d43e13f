#ifndef VELLUM_BACKENDS_CPU_KERNELS_DIM_SPLIT_H_
#define VELLUM_BACKENDS_CPU_KERNELS_DIM_SPLIT_H_

#include <cstdint>

namespace vellum::cpu {

// A row-major shape as [outer, n, inner] around one dimension. A scalar is [1, 1, 1].
struct DimSplit {
  int64_t outer = 1, n = 1, inner = 1;

  DimSplit(const int64_t* sizes, int rank, int dim) {
    for (int d = 0; d < rank; ++d) (d < dim ? outer : d == dim ? n : inner) *= sizes[d];
  }
};

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_DIM_SPLIT_H_
