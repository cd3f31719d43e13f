#ifndef VELLUM_BACKENDS_CPU_PARALLEL_H_
#define VELLUM_BACKENDS_CPU_PARALLEL_H_

#include <cstdint>
#include <type_traits>

namespace vellum {

// The number of threads that an operator on the CPU may use. Process-wide; at first what OpenMP offers (the CPUs that
// this process may run on, or OMP_NUM_THREADS). Thread-safe; operators that are already running keep their number.
// Throws InvalidArgumentError below 1 and above 4096.
void set_num_threads(int threads);
int get_num_threads();

namespace internal {

using RangeBody = void (*)(const void* f, int64_t begin, int64_t end);

// Whether a loop that starts here and now would run on one thread whatever its length.
bool runs_serially();
void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, const void* f);

}  // namespace internal

// Calls f(first, last) on disjoint ranges that cover [begin, end), on the threads of the pool that oneDNN shares, and
// returns when all are done. A range of at most `grain` elements, one thread, or a call from within another
// parallel_for runs f(begin, end) on the calling thread. Threads see the caller's mode word and annotations. The first
// exception that f throws is rethrown here after the other ranges have finished. Does not allocate.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (end - begin <= grain || internal::runs_serially()) {
    f(begin, end);
    return;
  }
  using Function = std::remove_reference_t<F>;
  internal::run_parallel(
      begin, end, grain,
      [](const void* g, int64_t first, int64_t last) { (*static_cast<Function*>(const_cast<void*>(g)))(first, last); },
      &f);
}

}  // namespace vellum

#endif  // VELLUM_BACKENDS_CPU_PARALLEL_H_
