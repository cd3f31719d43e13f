#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/rounding.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/bounds.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The smaller and the larger of two; NaN wins.
template <class D, class V>
HWY_INLINE V minimum_lanes(D, V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}
template <class D, class V>
HWY_INLINE V maximum_lanes(D, V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}

struct Abs {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Abs(x);
  }
};

struct Sign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    const V one = hn::Set(d, R(1)), zero = hn::Zero(d);
    return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), zero));
  }
};

struct Square {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, x);
  }
};

struct Floor {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Floor(x);
  }
};

struct Ceil {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Ceil(x);
  }
};

struct Trunc {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Trunc(x);
  }
};

// Half to even.
struct RoundWhole {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Round(x);
  }
};

// To a multiple of 1 / scale, or of scale.
struct RoundFraction {
  double scale;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V factor = hn::Set(d, hn::TFromD<D>(scale));
    return hn::Div(hn::Round(hn::Mul(x, factor)), factor);
  }
};
struct RoundMultiple {
  double scale;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V factor = hn::Set(d, hn::TFromD<D>(scale));
    return hn::Mul(hn::Round(hn::Div(x, factor)), factor);
  }
};

template <typename T>
struct Round {
  using Out = T;
  using In = Types<T>;
  int64_t decimals;

  explicit Round(const KernelContext& context) : decimals(context.attributes<RoundAttrs>().decimals) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
    if (decimals == 0)
      map_lanes<1>(in, out, n, single, RoundWhole());
    else if (decimals > 0)
      map_lanes<1>(in, out, n, single, RoundFraction{scale});
    else
      map_lanes<1>(in, out, n, single, RoundMultiple{scale});
  }
};

struct Minimum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return minimum_lanes(d, a, b);
  }
};

struct Maximum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return maximum_lanes(d, a, b);
  }
};

// The share of an operand `a` in the gradient of maximum(a, b).
struct MaximumBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V a, V b) const {
    using R = hn::TFromD<D>;
    const V half = hn::Mul(g, hn::Set(d, R(0.5)));
    return hn::IfThenElse(hn::Eq(a, b), half, hn::IfThenElse(hn::Lt(a, b), hn::Zero(d), g));
  }
};

// A bound that is NaN makes everything NaN.
struct Clamp {
  double low, high;
  bool bounded;

  explicit Clamp(const KernelContext& context)
      : low(lower_bound(context.attributes<ClampAttrs>())),
        high(upper_bound(context.attributes<ClampAttrs>())),
        bounded(!std::isnan(low) && !std::isnan(high)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    const V clamped = at_most(d, at_least(d, x, hn::Set(d, R(low))), hn::Set(d, R(high)));
    return bounded ? clamped : hn::Set(d, std::numeric_limits<R>::quiet_NaN());
  }
};

struct ClampBackward {
  double low, high;

  explicit ClampBackward(const KernelContext& context)
      : low(lower_bound(context.attributes<ClampAttrs>())), high(upper_bound(context.attributes<ClampAttrs>())) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    const auto inside = hn::And(hn::Ge(x, hn::Set(d, R(low))), hn::Le(x, hn::Set(d, R(high))));
    return hn::IfThenElse(inside, g, hn::Zero(d));
  }
};

struct ClampBetween {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V low, V high) const {
    return minimum_lanes(d, maximum_lanes(d, x, low), high);
  }
};

constexpr auto kEntries =
    join(lanes_entries<Abs>("abs"), lanes_entries<Sign>("sign"), lanes_entries<Sign>("sgn"),
         lanes_entries<Square>("square"), lanes_entries<Floor>("floor"), lanes_entries<Ceil>("ceil"),
         lanes_entries<Trunc>("trunc"), entries<Round, float, double>("round"), half_entries<Round>("round"),
         lanes_entries<Minimum, 2>("minimum"), lanes_entries<Maximum, 2>("maximum"),
         lanes_entries<MaximumBackward, 3>("maximum_backward"), lanes_entries<Clamp>("clamp"),
         lanes_entries<ClampBackward, 2>("clamp_backward"), lanes_entries<ClampBetween, 3>("clamp_tensor"));

std::span<const KernelEntry> rounding_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(rounding_entries);
std::span<const KernelEntry> rounding_kernels() { return HWY_DYNAMIC_DISPATCH(rounding_entries)(); }
}  // namespace vellum::cpu
#endif
