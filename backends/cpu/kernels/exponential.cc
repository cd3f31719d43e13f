#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/exponential.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_lanes(d, x);
  }
};

struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return expm1_lanes(d, x);
  }
};

struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log_lanes(d, x);
  }
};

struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log1p_lanes(d, x);
  }
};

struct Log2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log2_lanes(d, x);
  }
};

struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Sqrt(x);
  }
};

struct Rsqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    return hn::Div(hn::Set(d, R(1)), hn::Sqrt(x));
  }
};

struct Reciprocal {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    return hn::Div(hn::Set(d, R(1)), x);
  }
};

constexpr auto kEntries = join(lanes_entries<Exp>("exp"), lanes_entries<Expm1>("expm1"), lanes_entries<Log>("log"),
                               lanes_entries<Log1p>("log1p"), lanes_entries<Log2>("log2"), lanes_entries<Sqrt>("sqrt"),
                               lanes_entries<Rsqrt>("rsqrt"), lanes_entries<Reciprocal>("reciprocal"));

std::span<const KernelEntry> exponential_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(exponential_entries);
std::span<const KernelEntry> exponential_kernels() { return HWY_DYNAMIC_DISPATCH(exponential_entries)(); }
}  // namespace vellum::cpu
#endif
