#ifndef VELLUM_BACKENDS_CPU_KERNELS_TARGETS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_TARGETS_H_

// Included before any Highway header of a kernel source: the instruction sets that kernels are compiled for. What
// remains on x86 is the compiler's baseline, AVX2 with FMA, and AVX-512; each further one would cost a sixth of the
// backend's compile time for machines that hardly exist any more.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif

// Before a loop whose iterations are independent although the compiler cannot see it: an output is either apart from
// an input or the same array. Clang checks that at run time instead, as it warns of each loop that it leaves scalar.
#if defined(__clang__)
#define VELLUM_INDEPENDENT
#else
#define VELLUM_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif  // VELLUM_BACKENDS_CPU_KERNELS_TARGETS_H_
