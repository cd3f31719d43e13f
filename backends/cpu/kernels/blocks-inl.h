// Per-target (included once per instruction set): loops over blocks of elements, as real numbers, and over vectors.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_BLOCKS_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_BLOCKS_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/half-inl.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

inline constexpr int64_t kBlockSize = 1024;  // elements that pass through buffers on the stack and stay in the L1 cache

// What elements are computed in.
template <typename T>
using Real = std::conditional_t<sizeof(T) == 2, float, T>;

// Up to kBlockSize elements as real numbers, where they are or in the buffer.
template <typename T>
HWY_INLINE const Real<T>* load_block(const T* x, int64_t n, Real<T>* buffer) {
  if constexpr (sizeof(T) == 2) {
    to_floats(x, buffer, n);
    return buffer;
  } else {
    return x;
  }
}

// Where to compute what goes to `out`, by store_block where that is the buffer.
template <typename T>
HWY_INLINE Real<T>* block_target(T* out, Real<T>* buffer) {
  if constexpr (sizeof(T) == 2)
    return buffer;
  else
    return out;
}

template <typename T>
HWY_INLINE void store_block(const Real<T>* values, T* out, int64_t n) {
  if constexpr (sizeof(T) == 2) from_floats(values, out, n);
}

// Calls f(at, count) for blocks of [0, n).
template <typename F>
HWY_INLINE void each_block(int64_t n, const F& f) {
  for (int64_t at = 0; at < n; at += kBlockSize) f(at, std::min(kBlockSize, n - at));
}

// Positions of a loop over vectors: a whole vector, or the last part of one, whose other lanes are zero.
template <typename R>
struct WholeVector {
  int64_t at;

  HWY_INLINE auto load(const R* x) const { return hwy::HWY_NAMESPACE::LoadU(d(), x + at); }
  template <typename V>
  HWY_INLINE void store(V v, R* out) const {
    hwy::HWY_NAMESPACE::StoreU(v, d(), out + at);
  }
  template <typename V>
  HWY_INLINE V keep(V v) const {
    return v;
  }
  static HWY_INLINE hwy::HWY_NAMESPACE::ScalableTag<R> d() { return {}; }
};

template <typename R>
struct PartVector {
  int64_t at;
  int64_t count;

  HWY_INLINE auto load(const R* x) const { return hwy::HWY_NAMESPACE::MaskedLoad(mask(), d(), x + at); }
  template <typename V>
  HWY_INLINE void store(V v, R* out) const {
    hwy::HWY_NAMESPACE::BlendedStore(v, mask(), d(), out + at);
  }
  // v with zeros in the lanes that do not count.
  template <typename V>
  HWY_INLINE V keep(V v) const {
    return hwy::HWY_NAMESPACE::IfThenElseZero(mask(), v);
  }
  HWY_INLINE auto mask() const { return hwy::HWY_NAMESPACE::FirstN(d(), static_cast<size_t>(count)); }
  static HWY_INLINE hwy::HWY_NAMESPACE::ScalableTag<R> d() { return {}; }
};

// Calls f(position) for the vectors of n elements. What f stores may be an array that it loads.
template <typename R, typename F>
HWY_INLINE void each_vector(int64_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<R>());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(WholeVector<R>{i});
  if (i < n) f(PartVector<R>{i, n - i});
}

// Adds up two terms: f(position, a, b) adds its own into the vectors a and b. Lanes that do not count must add zero.
// n is at most kBlockSize, so that a lane adds few numbers up in its own precision.
template <typename R, typename F>
HWY_INLINE void sum_pairs(int64_t n, double* first, double* second, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    f(WholeVector<R>{i}, a0, b0);
    f(WholeVector<R>{i + kLanes}, a1, b1);
    f(WholeVector<R>{i + 2 * kLanes}, a2, b2);
    f(WholeVector<R>{i + 3 * kLanes}, a3, b3);
  }
  for (; i + kLanes <= n; i += kLanes) f(WholeVector<R>{i}, a0, b0);
  if (i < n) f(PartVector<R>{i, n - i}, a1, b1);
  *first += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)))));
  *second += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)))));
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
