#ifndef VELLUM_BACKENDS_CPU_KERNELS_COPY_RUNS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_COPY_RUNS_H_

#include <cstdint>

namespace vellum::cpu {

inline constexpr int64_t kCopyGrain = 256 << 10;  // bytes that are not worth a second thread

// Copies bytes to where they do not lie; threads share them.
void copy_bytes(void* to, const void* from, int64_t bytes) noexcept;

// Bytes of a source, of which each row takes the next `bytes`.
struct Run {
  const char* from;
  int64_t bytes;
};

// Writes `rows` rows, `stride` bytes from one to the next, of `count` runs each, one behind the other. On the calling
// thread; moves the runs on.
void interleave_runs(char* to, int64_t stride, Run* runs, int count, int64_t rows) noexcept;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_COPY_RUNS_H_
