// Per-target (included once per instruction set): exp and log of vectors, for every value.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Highway's exp, extended to arguments that overflow and to NaN.
template <class D, class V>
HWY_INLINE V exp_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  const V limit = hn::Set(d, R(sizeof(R) == 4 ? 100 : 720));  // far enough for infinity, near enough for the exponent
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, limit)));
}

// Highway's log, extended to 0, negative numbers, infinity and NaN.
template <class D, class V>
HWY_INLINE V log_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<R>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<R>::quiet_NaN());
  const auto regular = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Gt(x, zero), x, nan));
  return hn::IfThenElse(regular, hn::Log(d, x), special);
}

// out[i] = f(d, x[i]) for vectors of a tag d. The last one may be part of a vector, so that a value does not depend on
// its position.
template <typename R, typename F>
HWY_INLINE void map_lanes(const R* x, R* out, int64_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
  hn::BlendedStore(f(d, hn::MaskedLoad(rest, d, x + i)), rest, d, out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
