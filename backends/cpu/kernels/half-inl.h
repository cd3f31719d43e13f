// Per-target (included once per instruction set): conversions between float and the half types.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_HALF_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_HALF_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_HALF_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"
#include "vellum/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE void to_floats(const bfloat16* from, float* to, int64_t n) {
  VELLUM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

HWY_INLINE void from_floats(const float* from, bfloat16* to, int64_t n) {
  VELLUM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = bfloat16(from[i]);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

HWY_INLINE void to_floats(const float16* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

HWY_INLINE void from_floats(const float* from, float16* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = float16(from[i]);
}

#else  // instruction sets that convert in hardware

HWY_INLINE void to_floats(const float16* from, float* to, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  const auto* source = reinterpret_cast<const hwy::float16_t*>(from);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, source + i)), wide, to + i);
  for (; i < n; ++i) to[i] = from[i];
}

HWY_INLINE void from_floats(const float* from, float16* to, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  auto* target = reinterpret_cast<hwy::float16_t*>(to);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(wide, from + i)), narrow, target + i);
  for (; i < n; ++i) to[i] = float16(from[i]);
}

#endif

// Strided forms, for the elementwise driver.
template <typename H>
void load_half(const void* from, int64_t stride, void* to, int64_t n) noexcept {
  float* target = static_cast<float*>(to);
  if (stride == sizeof(H)) return to_floats(static_cast<const H*>(from), target, n);
  const char* source = static_cast<const char*>(from);
  for (int64_t i = 0; i < n; ++i) {
    H value;
    std::memcpy(&value, source + i * stride, sizeof(H));
    target[i] = value;
  }
}

template <typename H>
void store_half(const void* from, void* to, int64_t stride, int64_t n) noexcept {
  const float* source = static_cast<const float*>(from);
  if (stride == sizeof(H)) return from_floats(source, static_cast<H*>(to), n);
  char* target = static_cast<char*>(to);
  for (int64_t i = 0; i < n; ++i) {
    const H value(source[i]);
    std::memcpy(target + i * stride, &value, sizeof(H));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
