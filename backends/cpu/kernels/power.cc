#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/power.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <int kExponent>
struct WholePower {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kExponent < 0) {
      return hn::Div(hn::Set(d, hn::TFromD<D>(1)), WholePower<-kExponent>()(d, x));
    } else if constexpr (kExponent == 0) {
      return hn::Set(d, hn::TFromD<D>(1));
    } else if constexpr (kExponent == 1) {
      return x;
    } else {
      const V half = WholePower<kExponent / 2>()(d, x);
      return kExponent % 2 ? hn::Mul(hn::Mul(half, half), x) : hn::Mul(half, half);
    }
  }
};

// Unlike sqrt, pow takes -0 to 0 and -infinity to infinity.
struct HalfPower {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
    return hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), infinity, hn::Sqrt(hn::Add(x, hn::Zero(d))));
  }
};

constexpr bool kHasLanes = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

// By way of double, which leaves one rounding. What is not a finite power of a positive number goes to the C library.
template <class D, class V>
HWY_INLINE V pow_lanes(D d, V base, V exponent) {
  const hn::Rebind<float, D> narrow;
  const V infinity = hn::Set(narrow, std::numeric_limits<float>::infinity());
  const auto regular =
      hn::And(hn::And(hn::Gt(base, hn::Zero(narrow)), hn::Lt(base, infinity)), hn::Lt(hn::Abs(exponent), infinity));
  if (HWY_LIKELY(hn::AllTrue(narrow, regular))) {
    const auto logarithm = hn::Log(d, hn::PromoteTo(d, base));
    return hn::DemoteTo(narrow, exp_lanes(d, hn::Mul(hn::PromoteTo(d, exponent), logarithm)));
  }
  HWY_ALIGN float bases[hn::MaxLanes(D())], exponents[hn::MaxLanes(D())];
  hn::Store(base, narrow, bases);
  hn::Store(exponent, narrow, exponents);
  for (size_t i = 0; i < hn::Lanes(d); ++i) bases[i] = std::pow(bases[i], exponents[i]);
  return hn::Load(narrow, bases);
}

HWY_INLINE void pow_floats(float* out, const void* const* in, int64_t n, unsigned single) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  HWY_ALIGN float repeated[2][kLanes];
  const float* from[] = {static_cast<const float*>(in[0]), static_cast<const float*>(in[1])};
  for (int k = 0; k < 2; ++k) {
    if (!(single >> k & 1)) continue;
    hn::Store(hn::Set(narrow, *from[k]), narrow, repeated[k]);
    from[k] = repeated[k];
  }
  const int64_t step[] = {single & 1 ? 0 : kLanes, single & 2 ? 0 : kLanes};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(pow_lanes(d, hn::LoadU(narrow, from[0]), hn::LoadU(narrow, from[1])), narrow, out + i);
    for (int k = 0; k < 2; ++k) from[k] += step[k];
  }
  if (i == n) return;
  const auto rest = hn::FirstN(narrow, static_cast<size_t>(n - i));
  const auto one = hn::Set(narrow, 1.0f);  // where nothing is
  const auto base = hn::IfThenElse(rest, hn::MaskedLoad(rest, narrow, from[0]), one);
  const auto exponent = hn::IfThenElse(rest, hn::MaskedLoad(rest, narrow, from[1]), one);
  hn::BlendedStore(pow_lanes(d, base, exponent), rest, narrow, out + i);
}

template <typename T>
struct Pow {
  using Out = T;
  using In = Types<T, T>;

  explicit Pow(const KernelContext&) {}
  HWY_INLINE T operator()(T base, T exponent) const { return std::pow(base, exponent); }
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if (single == 2 && by_constant(out, static_cast<const T*>(in[0]), *static_cast<const T*>(in[1]), n)) return;
    if constexpr (kHasLanes && sizeof(T) == 4)
      pow_floats(out, in, n, single);
    else
      apply(*this, In{}, out, in, n, single);
  }

 private:
  template <typename Function>
  static HWY_INLINE bool each(T* out, const T* x, int64_t n, const Function& f) {
    map_lanes(x, out, n, f);
    return true;
  }
  // The powers that have cheap forms, precise to a few bits of the last place.
  static HWY_INLINE bool by_constant(T* out, const T* x, T exponent, int64_t n) {
    if (exponent == T(0.5)) return each(out, x, n, HalfPower());
    if (exponent != std::trunc(exponent) || exponent < T(-2) || exponent > T(6)) return false;
    switch (static_cast<int>(exponent)) {
      case -2:
        return each(out, x, n, WholePower<-2>());
      case -1:
        return each(out, x, n, WholePower<-1>());
      case 0:
        return each(out, x, n, WholePower<0>());
      case 1:
        return each(out, x, n, WholePower<1>());
      case 2:
        return each(out, x, n, WholePower<2>());
      case 3:
        return each(out, x, n, WholePower<3>());
      case 4:
        return each(out, x, n, WholePower<4>());
      case 5:
        return each(out, x, n, WholePower<5>());
      default:
        return each(out, x, n, WholePower<6>());
    }
  }
};

constexpr auto kEntries = join(entries<Pow, float, double>("pow"), half_entries<Pow>("pow"));

std::span<const KernelEntry> power_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(power_entries);
std::span<const KernelEntry> power_kernels() { return HWY_DYNAMIC_DISPATCH(power_entries)(); }
}  // namespace vellum::cpu
#endif
