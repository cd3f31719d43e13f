#ifndef VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_H_
#define VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_H_

#include <cstdint>

#include "vellum/tensor/kernel.h"

namespace vellum::cpu {

inline constexpr int kMaxElementInputs = 3;
inline constexpr int64_t kElementGrain = 32768;  // elements that are not worth a second thread

// Computes n elements. Input k is an array, or one value where bit k of `single` is set; not all are single unless
// n is 1. The output is apart from each input or the same array.
using ElementBlock = void (*)(const void* op, void* out, const void* const* in, int64_t n, unsigned single) noexcept;

// Converts n elements, `from` by a stride in bytes or `to` by one.
using ConvertIn = void (*)(const void* from, int64_t stride, void* to, int64_t n) noexcept;
using ConvertOut = void (*)(const void* from, void* to, int64_t stride, int64_t n) noexcept;

// One elementwise operator on one dtype and instruction set: a loop over arrays, and how operands become arrays.
struct ElementLoop {
  ElementBlock block;
  const void* op;  // passed to block
  int inputs;
  // Bytes of an element in memory and in the arrays that block works on, the output's first.
  int64_t memory_bytes[1 + kMaxElementInputs];
  int64_t work_bytes[1 + kMaxElementInputs];
  // Where the two differ.
  ConvertIn load[kMaxElementInputs];
  ConvertOut store;
};

// Runs a loop over any plan: nested strides, broadcasts, conversions through buffers on the stack, several threads.
// Stores that bypass the caches were slower on the machines tried, also for outputs far larger than these.
void run_elements(const ElementLoop& loop, const LoopPlan& plan) noexcept;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_H_
