#ifndef VELLUM_BACKENDS_CUDA_KERNELS_ELEMENT_LOOP_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_ELEMENT_LOOP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "vellum/backends/cuda/kernels/host_device.h"
#include "vellum/tensor/half.h"
#include "vellum/tensor/kernel.h"
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

// What one thread of an elementwise kernel does, apart from the launch: plain C++, so that the host can run it too.

namespace vellum::cuda {

inline constexpr size_t kVectorBytes = 16;  // the widest load that the hardware has

// The compute types of an operator's inputs.
template <typename... Ts>
struct Types {};

// A LoopPlan with as many operands as a kernel has: what is passed to it by value. Strides in bytes.
template <int kOperands>
struct Layout {
  int64_t numel;
  int ndim;
  char* data[kOperands];
  int64_t sizes[kMaxRank];
  int64_t strides[kOperands][kMaxRank];

  explicit Layout(const LoopPlan& plan) : numel(plan.numel), ndim(plan.ndim) {
    for (int k = 0; k < kOperands; ++k) {
      data[k] = static_cast<char*>(plan.data[k]);
      for (int d = 0; d < ndim; ++d) strides[k][d] = plan.strides[k][d];
    }
    for (int d = 0; d < ndim; ++d) sizes[d] = plan.sizes[d];
  }
};

// index / size, and the rest. Most indices fit 32 bits, in which a GPU divides several times faster.
VELLUM_HOST_DEVICE inline int64_t divide(int64_t index, int64_t size, int64_t* rest) {
  if (((index | size) >> 32) == 0) {
    const uint32_t i = static_cast<uint32_t>(index), s = static_cast<uint32_t>(size);
    *rest = i % s;
    return i / s;
  }
  *rest = index % size;
  return index / size;
}

// How many bytes after data[k] each operand has element `index` of the row-major index space.
template <int kOperands>
VELLUM_HOST_DEVICE void locate(const Layout<kOperands>& layout, int64_t index, int64_t* offsets) {
  for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
  for (int d = layout.ndim - 1; d >= 0; --d) {
    int64_t at = index;
    if (d > 0) index = divide(index, layout.sizes[d], &at);
    for (int k = 0; k < kOperands; ++k) offsets[k] += at * layout.strides[k][d];
  }
}

// --- Half types are floats in computations.

VELLUM_HOST_DEVICE inline float widened(float16 x) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(x.bits));
#else
  return x;
#endif
}

VELLUM_HOST_DEVICE inline float widened(bfloat16 x) { return x; }

template <typename T>
VELLUM_HOST_DEVICE T widened(T x) {
  return x;
}

template <typename To, typename From>
VELLUM_HOST_DEVICE To narrowed(From x) {
#ifdef __CUDA_ARCH__
  To out;
  if constexpr (std::is_same_v<To, float16>)
    out.bits = __half_as_ushort(__float2half_rn(x));
  else if constexpr (std::is_same_v<To, bfloat16>)
    out.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
  else
    out = x;
  return out;
#else
  return To(x);
#endif
}

// The type that a T of the computation has in memory when floats are kept as H.
template <typename H, typename T>
using MemoryOf = std::conditional_t<std::is_same_v<T, float>, H, T>;

template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  T items[kWidth];
};

template <typename Op, typename H = float, typename In = typename Op::In>
struct ElementLoop;

// The loops of an operator whose floats are kept as H. Thread `first` of `step` takes every step-th element or vector.
// The output may be the same array as an input, or apart from it.
template <typename Op, typename H, typename... In>
struct ElementLoop<Op, H, Types<In...>> {
  static constexpr int kInputs = sizeof...(In);
  static constexpr int kOperands = 1 + kInputs;
  using Out = MemoryOf<H, typename Op::Out>;
  using Operands = Layout<kOperands>;

  static constexpr size_t kBytes[] = {sizeof(Out), sizeof(MemoryOf<H, In>)...};
  // Elements that a thread loads at once.
  static constexpr int kWidth = static_cast<int>(kVectorBytes / std::max({sizeof(Out), sizeof(MemoryOf<H, In>)...}));

  // Whether vectors() may run: each operand is an array that is aligned to its vectors, or one value.
  static bool is_vectorizable(const Operands& l) {
    if (l.ndim > 1) return false;
    for (int k = 0; k < kOperands; ++k) {
      const int64_t stride = l.ndim == 1 ? l.strides[k][0] : 0;
      const bool is_array = stride == static_cast<int64_t>(kBytes[k]) &&
                            reinterpret_cast<uintptr_t>(l.data[k]) % (kBytes[k] * kWidth) == 0;
      if (!is_array && (k == 0 || stride != 0)) return false;
    }
    return true;
  }

  // Threads that have something to do.
  static int64_t work(const Operands& l, bool vectorized) {
    return vectorized ? std::max(l.numel / kWidth, l.numel % kWidth) : l.numel;
  }

  VELLUM_HOST_DEVICE static void strided(const Op& op, const Operands& l, int64_t first, int64_t step) {
    for (int64_t i = first; i < l.numel; i += step) {
      int64_t offsets[kOperands];
      locate(l, i, offsets);
      compute(op, l, offsets, std::index_sequence_for<In...>());
    }
  }

  VELLUM_HOST_DEVICE static void vectors(const Op& op, const Operands& l, int64_t first, int64_t step) {
    for (int64_t i = first; i < l.numel / kWidth; i += step) compute_vector(op, l, i, std::index_sequence_for<In...>());
    const int64_t last = l.numel - l.numel % kWidth + first;
    if (first < l.numel % kWidth) {
      int64_t offsets[kOperands];
      locate(l, last, offsets);
      compute(op, l, offsets, std::index_sequence_for<In...>());
    }
  }

 private:
  template <typename T>
  VELLUM_HOST_DEVICE static T load(const Operands& l, const int64_t* offsets, size_t k) {
    return widened(*reinterpret_cast<const MemoryOf<H, T>*>(l.data[k] + offsets[k]));
  }

  template <size_t... k>
  VELLUM_HOST_DEVICE static void compute(const Op& op, const Operands& l, const int64_t* offsets,
                                         std::index_sequence<k...>) {
    *reinterpret_cast<Out*>(l.data[0] + offsets[0]) = narrowed<Out>(op(load<In>(l, offsets, k + 1)...));
  }

  // Vector `at` of an array, or one value repeated.
  template <typename T>
  VELLUM_HOST_DEVICE static Vector<T, kWidth> load_vector(const Operands& l, int64_t at, size_t k) {
    if (l.strides[k][0] != 0) return reinterpret_cast<const Vector<T, kWidth>*>(l.data[k])[at];
    Vector<T, kWidth> out;
    const T value = *reinterpret_cast<const T*>(l.data[k]);
    for (int i = 0; i < kWidth; ++i) out.items[i] = value;
    return out;
  }

  template <size_t... k>
  VELLUM_HOST_DEVICE static void compute_vector(const Op& op, const Operands& l, int64_t at,
                                                std::index_sequence<k...> indices) {
    apply(op, l, at, load_vector<MemoryOf<H, In>>(l, at, k + 1)...);
  }

  template <typename... Vectors>
  VELLUM_HOST_DEVICE static void apply(const Op& op, const Operands& l, int64_t at, const Vectors&... in) {
    Vector<Out, kWidth> out;
    for (int i = 0; i < kWidth; ++i) out.items[i] = narrowed<Out>(op(widened(in.items[i])...));
    reinterpret_cast<Vector<Out, kWidth>*>(l.data[0])[at] = out;
  }
};

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_ELEMENT_LOOP_H_
