// The most that this machine does, measured: machine_limits --threads=N read:BYTES copy:BYTES add:BYTES product ...
// prints for each what a second holds, bytes moved or floating-point operations of float32. BYTES is all memory that is
// touched, by all threads together; a copy writes one half of it and an addition one third.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/benchmarks/machine_limits.cc"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::benchmarks {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent sums to hide the latency of a multiply-add; together with its operands they fit 16 registers.
constexpr size_t kSums = 12;

// `count` floats at `from`, a multiple of 4 vectors of 64 bytes.
float read_all(const float* HWY_RESTRICT from, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i < count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::Load(d, from + i));
    s1 = hn::Add(s1, hn::Load(d, from + i + lanes));
    s2 = hn::Add(s2, hn::Load(d, from + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(d, from + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// Writes past the caches.
void stream_copy(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

// a + b; `past_caches` says where it is written to.
void add_all(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT to, size_t count,
             bool past_caches) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  if (past_caches) {
    for (size_t i = 0; i < count; i += lanes) hn::Stream(hn::Add(hn::Load(d, a + i), hn::Load(d, b + i)), d, to + i);
    hwy::FlushStream();
  } else {
    for (size_t i = 0; i < count; i += lanes) hn::Store(hn::Add(hn::Load(d, a + i), hn::Load(d, b + i)), d, to + i);
  }
}

// Returns how many operations it has done.
double multiply_add(size_t times, float factor, float* HWY_RESTRICT result) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, factor), b = hn::Set(d, 1 - factor);
  decltype(hn::Zero(d)) s[kSums];
  for (size_t k = 0; k < kSums; ++k) s[k] = hn::Set(d, static_cast<float>(k));
  for (size_t i = 0; i < times; ++i) {
    for (size_t k = 0; k < kSums; ++k) s[k] = hn::MulAdd(s[k], a, b);
  }
  for (size_t k = 1; k < kSums; ++k) s[0] = hn::Add(s[0], s[k]);
  *result = hn::GetLane(hn::SumOfLanes(d, s[0]));
  return 2. * static_cast<double>(kSums * hn::Lanes(d) * times);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::benchmarks
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "vellum/benchmarks/work.h"

namespace vellum::benchmarks {
namespace {

HWY_EXPORT(read_all);
HWY_EXPORT(stream_copy);
HWY_EXPORT(add_all);
HWY_EXPORT(multiply_add);

// What else goes on only ever makes a pass slower, so that the best of many comes closest to what the machine can do.
constexpr int kPasses = 25;
constexpr double kShortestPass = 2e-3;  // seconds

// `pass(times)` does its work on this thread so many times.
using Pass = std::function<void(int64_t times, int thread)>;

// For how long the calling thread has had a processor: other programs may take it away, in every pass.
double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Those of the thread that takes longest when all work at once.
double longest_seconds(int threads, int64_t times, const Pass& pass) {
  std::vector<double> seconds(threads);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    const double start = processor_seconds();
    pass(times, thread);
    seconds[thread] = processor_seconds() - start;
  }
  return *std::max_element(seconds.begin(), seconds.end());
}

// What all threads do in a second, in units of one time.
double best_rate(int threads, const Pass& pass) {
  int64_t times = 1;
  while (longest_seconds(1, times, pass) < kShortestPass) times *= 2;
  double best = 0;
  for (int i = 0; i < kPasses; ++i)
    best = std::max(best, threads * static_cast<double>(times) / longest_seconds(threads, times, pass));
  return best;
}

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;

// One array for each thread, with every page present. Large pages where the system has them, as allocators that are to
// be fast ask for, too.
std::vector<Floats> arrays(int threads, size_t count) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = (count * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  std::vector<Floats> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
    if (!all.back()) throw std::bad_alloc();
    madvise(all.back().get(), bytes, MADV_HUGEPAGE);
    std::fill_n(all.back().get(), count, 1.f);
  }
  return all;
}

// Rounded down to what read_all and the widest vectors take.
size_t floats_per_thread(int64_t bytes, int threads) {
  const size_t kStep = 4 * HWY_MAX_BYTES / sizeof(float);
  return std::max<size_t>(static_cast<size_t>(bytes) / sizeof(float) / threads / kStep, 1) * kStep;
}

double read_rate(int64_t bytes, int threads) {
  const size_t count = floats_per_thread(bytes, threads);
  const std::vector<Floats> from = arrays(threads, count);
  const double rate = best_rate(threads, [&](int64_t times, int thread) {
    for (; times > 0; --times) keep(HWY_DYNAMIC_DISPATCH(read_all)(from[thread].get(), count));
  });
  return rate * static_cast<double>(count * sizeof(float));
}

double copy_rate(int64_t bytes, int threads) {
  const size_t count = floats_per_thread(bytes / 2, threads);
  const std::vector<Floats> from = arrays(threads, count), to = arrays(threads, count);
  const double through_caches = best_rate(threads, [&](int64_t times, int thread) {
    for (; times > 0; --times) {
      std::memcpy(to[thread].get(), from[thread].get(), count * sizeof(float));
      keep(to[thread][0]);
    }
  });
  const double past_caches = best_rate(threads, [&](int64_t times, int thread) {
    for (; times > 0; --times) HWY_DYNAMIC_DISPATCH(stream_copy)(from[thread].get(), to[thread].get(), count);
  });
  return std::max(through_caches, past_caches) * static_cast<double>(2 * count * sizeof(float));
}

double add_rate(int64_t bytes, int threads) {
  const size_t count = floats_per_thread(bytes / 3, threads);
  const std::vector<Floats> a = arrays(threads, count), b = arrays(threads, count), to = arrays(threads, count);
  double best = 0;
  for (const bool past_caches : {false, true}) {
    best = std::max(best, best_rate(threads, [&](int64_t times, int thread) {
                      for (; times > 0; --times) HWY_DYNAMIC_DISPATCH(add_all)
                      (a[thread].get(), b[thread].get(), to[thread].get(), count, past_caches);
                    }));
  }
  return best * static_cast<double>(3 * count * sizeof(float));
}

double product_rate(int threads) {
  constexpr size_t kBatch = 1000;
  float unused;
  const double per_batch = HWY_DYNAMIC_DISPATCH(multiply_add)(kBatch, 0.5f, &unused);
  return per_batch * best_rate(threads, [&](int64_t times, int) {
           float result;
           HWY_DYNAMIC_DISPATCH(multiply_add)(kBatch * times, 0.5f, &result);
           keep(result);
         });
}

int main_of(int argc, char** argv) {
  const auto operand = [](const std::string& text, const std::string& name) -> int64_t {
    return text.rfind(name, 0) == 0 ? std::stoll(text.substr(name.size())) : 0;
  };
  int threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (const int64_t n = operand(text, "--threads="); n > 0) {
      threads = static_cast<int>(n);
    } else if (const int64_t copied = operand(text, "copy:"); copied > 0) {
      std::printf("%.6g\n", copy_rate(copied, threads));
    } else if (const int64_t read = operand(text, "read:"); read > 0) {
      std::printf("%.6g\n", read_rate(read, threads));
    } else if (const int64_t added = operand(text, "add:"); added > 0) {
      std::printf("%.6g\n", add_rate(added, threads));
    } else if (text == "product") {
      std::printf("%.6g\n", product_rate(threads));
    } else {
      std::fprintf(stderr, "machine_limits: cannot measure '%s'\n", argv[i]);
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace vellum::benchmarks

int main(int argc, char** argv) { return vellum::benchmarks::main_of(argc, argv); }

#endif  // HWY_ONCE
