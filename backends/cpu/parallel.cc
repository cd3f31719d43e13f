#include "vellum/backends/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"

namespace vellum {
namespace {

constexpr int kMaxThreads = 4096;

std::atomic<int> chosen_threads{0};  // 0: not chosen yet

// The first exception of a parallel region.
class FirstError {
 public:
  void capture() noexcept {
    if (!taken_.exchange(true)) error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

}  // namespace

void set_num_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads)
    throw_error<InvalidArgumentError>("set_num_threads: ", threads, " threads; give 1 to ", kMaxThreads);
  chosen_threads.store(threads, std::memory_order_relaxed);
}

int get_num_threads() {
  const int threads = chosen_threads.load(std::memory_order_relaxed);
  if (threads > 0) return threads;
  int none = 0;
  chosen_threads.compare_exchange_strong(none, std::clamp(omp_get_max_threads(), 1, kMaxThreads));
  return chosen_threads.load(std::memory_order_relaxed);
}

namespace internal {

bool runs_serially() { return get_num_threads() == 1 || omp_in_parallel(); }

void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, const void* f) {
  const int64_t count = end - begin;
  const int64_t ranges = std::min<int64_t>(get_num_threads(), (count - 1) / std::max<int64_t>(grain, 1) + 1);
  const ThreadState caller = thread_state();
  FirstError error;
#pragma omp parallel num_threads(static_cast <int>(ranges))
  {
    // OpenMP may give fewer threads than asked for.
    const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t step = count / threads, extra = count % threads;
    const int64_t first = begin + me * step + std::min(me, extra);
    const int64_t last = first + step + (me < extra ? 1 : 0);
    ThreadState& state = thread_state();
    const ThreadState own = state;
    state = caller;
    try {
      if (first < last) body(f, first, last);
    } catch (...) {
      error.capture();
    }
    state = own;
  }
  error.rethrow();
}

}  // namespace internal
}  // namespace vellum
