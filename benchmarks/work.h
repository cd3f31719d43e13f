#ifndef VELLUM_BENCHMARKS_WORK_H_
#define VELLUM_BENCHMARKS_WORK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What a comparison of two libraries is made of. Stands on neither, for it is compiled into the program of each.

namespace vellum::benchmarks {

// A result in short, so that two processes can find out whether they computed the same. The sum is weighted by
// position: an exchange of elements shows.
struct Digest {
  int64_t count = 0;
  double sum = 0;
  double scale = 0;  // the sum of magnitudes: what a difference of sums is to be measured by
};

Digest digest(const std::vector<float>& values);

// The same numbers in every process: uniform in [-1, 1), indices in [0, end).
std::vector<float> uniform(int64_t count, uint32_t seed);
std::vector<int64_t> indices(int64_t count, int64_t end, uint32_t seed);

// Inputs, and what is done with them. Destroying it frees the inputs.
struct Work {
  std::function<void(int64_t times)> repeat;
  std::function<std::vector<Digest>()> check;  // does it once and returns the results in short
};

struct Row {
  std::string name;  // family/operator/size; "memory/..." is measured in bytes, all others in seconds
  double bytes_read = 0, bytes_written = 0;  // at the least, were every operand touched once; 0: no limit is known
  double flops = 0;                          // floating-point operations, of real numbers
  int64_t parts = 1;                         // the figure shown is that of one part of the work
  double tolerance = 1e-5;                   // of digests, relative to their scale
  std::function<Work()> prepare;
};

// Keeps the compiler from leaving out what made `value`.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

}  // namespace vellum::benchmarks

#endif  // VELLUM_BENCHMARKS_WORK_H_
