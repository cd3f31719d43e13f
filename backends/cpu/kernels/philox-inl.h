// Per-target (included once per instruction set): blocks of the Philox sequence.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_PHILOX_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_PHILOX_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_PHILOX_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

inline constexpr int64_t kDraws = 256;  // of a block, four for each counter

// draws[i] = draw 4 * counter + i; see tensor/generator.h. The lanes of a counter are worked on in arrays of their own.
HWY_INLINE void philox_block(uint64_t seed, uint64_t counter, uint32_t* draws) {
  constexpr int64_t kCounters = kDraws / 4;
  HWY_ALIGN uint32_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
  for (int64_t i = 0; i < kCounters; ++i) {
    const uint64_t c = counter + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(c);
    c1[i] = static_cast<uint32_t>(c >> 32);
    c2[i] = c3[i] = 0;
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < kCounters; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i], p1 = uint64_t{0xCD9E8D57u} * c2[i];
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
      c0[i] = n0;
      c2[i] = n2;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int64_t i = 0; i < kCounters; ++i) {
    draws[4 * i] = c0[i];
    draws[4 * i + 1] = c1[i];
    draws[4 * i + 2] = c2[i];
    draws[4 * i + 3] = c3[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
