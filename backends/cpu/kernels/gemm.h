#ifndef VELLUM_BACKENDS_CPU_KERNELS_GEMM_H_
#define VELLUM_BACKENDS_CPU_KERNELS_GEMM_H_

#include <cstddef>
#include <cstdint>

namespace vellum::cpu {

// c [m, n] = a [m, k] times b [k, n], plus bias [n] where it is not null. Strides are in elements and may be anything,
// 0 and negative included; c is row-major.
struct Gemm {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_column;
  const void* b;
  int64_t b_row, b_column;
  void* c;
  const void* bias;
};

// Blocks of b that are packed at a time: this deep and this wide in elements, so that a panel stays in the first-level
// cache and the block in the last.
inline constexpr int64_t kPackDepth = 256;
inline constexpr int64_t kPackWidth = 1024;

// Products up to here run on one thread, and without packing b where its rows are contiguous. Measured for float32:
// oneDNN is no faster below, but for few rows of a against a b that must be packed.
constexpr bool is_small_product(int64_t m, int64_t n, int64_t k, bool packs) {
  return m * n * k <= (packs && m < 16 ? 32768 : 262144);
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_GEMM_H_
