#ifndef VELLUM_ALLOCATOR_SPINNING_MUTEX_H_
#define VELLUM_ALLOCATOR_SPINNING_MUTEX_H_

#include <mutex>

namespace vellum::internal {

// A mutex that is mostly held for less time than it takes to put a thread to sleep: whoever finds it locked looks again
// some times, for a microsecond or two, before it sleeps.
class SpinningMutex {
 public:
  void lock() {
    for (int i = 0; i < kSpins; ++i) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kSpins = 64;
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::mutex mutex_;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_SPINNING_MUTEX_H_
