#include "vellum/benchmarks/work.h"

#include <cmath>

namespace vellum::benchmarks {
namespace {

// SplitMix64's finalizer (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t draw(uint32_t seed, int64_t position) {
  return mix((static_cast<uint64_t>(seed) << 32) + static_cast<uint64_t>(position));
}

}  // namespace

Digest digest(const std::vector<float>& values) {
  Digest result{.count = static_cast<int64_t>(values.size())};
  for (int64_t i = 0; i < result.count; ++i) {
    const double weighted = values[i] * (1 + static_cast<double>(draw(0, i) >> 11) * 0x1p-53);
    result.sum += weighted;
    result.scale += std::abs(weighted);
  }
  return result;
}

std::vector<float> uniform(int64_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(draw(seed, i) >> 40) * 0x1p-23f - 1;
  return values;
}

std::vector<int64_t> indices(int64_t count, int64_t end, uint32_t seed) {
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(draw(seed, i) % static_cast<uint64_t>(end));
  return values;
}

}  // namespace vellum::benchmarks
