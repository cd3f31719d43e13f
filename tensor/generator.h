#ifndef VELLUM_TENSOR_GENERATOR_H_
#define VELLUM_TENSOR_GENERATOR_H_

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/tensor/kernel.h"

namespace vellum {

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four 32-bit
// numbers from a key and a counter. Being a pure function of position, it gives the same numbers for any number of
// threads.
constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32), c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// The random sequence of a device. A draw is one 32-bit lane: draw d is lane d % 4 of philox(seed, d / 4). How kernels
// turn draws into values, for element i of a row-major output and a range that starts at a multiple of 4:
//   uniform [0, 1), 32 bits and narrower: (draw i >> 8) * 2^-24
//   uniform [0, 1), float64:              ((draw 2i << 32 | draw 2i + 1) >> 11) * 2^-53
//   normal: Box-Muller on the uniforms of elements 2j and 2j + 1 (u1 = 1 - first, so that it is not 0; u2 = second):
//           element 2j = sqrt(-2 ln u1) cos(2 pi u2), element 2j + 1 = sqrt(-2 ln u1) sin(2 pi u2)
//   dropout: an element is kept when its 32-bit uniform is >= p
// Thread-safe.
class Generator {
 public:
  explicit Generator(uint64_t seed = kDefaultSeed) : state_{seed, 0} {}

  void manual_seed(uint64_t seed);
  RandomState state() const;
  void set_state(RandomState state);
  // Takes `draws` numbers, rounded up to a multiple of 4.
  RandomState reserve(uint64_t draws);

  static constexpr uint64_t kDefaultSeed = 67280421310721;

 private:
  mutable std::mutex mutex_;
  RandomState state_;
};

Generator& default_generator(Device device = {});
// Seeds the default generators of all devices.
void manual_seed(uint64_t seed);

// Puts the default generators of all devices back to where they were when it was made.
class RandomStateGuard {
 public:
  RandomStateGuard();
  ~RandomStateGuard();
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;

 private:
  std::vector<RandomState> saved_;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_GENERATOR_H_
