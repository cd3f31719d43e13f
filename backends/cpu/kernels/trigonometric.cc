#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/trigonometric.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/activation_math-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Sin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sin_lanes(d, x);
  }
};

struct Cos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return cos_lanes(d, x);
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh_lanes(d, x);
  }
};

struct TanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    using R = hn::TFromD<D>;
    return hn::Mul(g, hn::NegMulAdd(y, y, hn::Set(d, R(1))));
  }
};

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sigmoid_lanes(d, x);
  }
};

struct SigmoidBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    using R = hn::TFromD<D>;
    return hn::Mul(g, hn::Mul(y, hn::Sub(hn::Set(d, R(1)), y)));
  }
};

struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return erf_lanes(d, x);
  }
};

constexpr auto kEntries = join(lanes_entries<Sin>("sin"), lanes_entries<Cos>("cos"), lanes_entries<Tanh>("tanh"),
                               lanes_entries<TanhBackward, 2>("tanh_backward"), lanes_entries<Sigmoid>("sigmoid"),
                               lanes_entries<SigmoidBackward, 2>("sigmoid_backward"), lanes_entries<Erf>("erf"));

std::span<const KernelEntry> trigonometric_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(trigonometric_entries);
std::span<const KernelEntry> trigonometric_kernels() { return HWY_DYNAMIC_DISPATCH(trigonometric_entries)(); }
}  // namespace vellum::cpu
#endif
