#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/ternary.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Exact at both ends.
template <class D, class V>
HWY_INLINE V lerp_lanes(D d, V start, V end, V weight) {
  using R = hn::TFromD<D>;
  const V difference = hn::Sub(end, start);
  const V from_start = hn::MulAdd(weight, difference, start);
  const V from_end = hn::NegMulAdd(difference, hn::Sub(hn::Set(d, R(1)), weight), end);
  return hn::IfThenElse(hn::Lt(hn::Abs(weight), hn::Set(d, R(0.5))), from_start, from_end);
}

struct Lerp {
  double value;

  explicit Lerp(const KernelContext& context) : value(context.attributes<LerpAttrs>().weight.to<double>()) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V start, V end) const {
    using R = hn::TFromD<D>;
    return lerp_lanes(d, start, end, hn::Set(d, R(value)));
  }
};

struct LerpTensor {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V start, V end, V weight) const {
    return lerp_lanes(d, start, end, weight);
  }
};

struct Addcmul {
  double value;

  explicit Addcmul(const KernelContext& context) : value(context.attributes<FactorAttrs>().value.to<double>()) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V a, V b) const {
    using R = hn::TFromD<D>;
    return hn::MulAdd(hn::Mul(hn::Set(d, R(value)), a), b, self);
  }
};

struct Addcdiv {
  double value;

  explicit Addcdiv(const KernelContext& context) : value(context.attributes<FactorAttrs>().value.to<double>()) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V self, V a, V b) const {
    using R = hn::TFromD<D>;
    return hn::Add(self, hn::Div(hn::Mul(hn::Set(d, R(value)), a), b));
  }
};

constexpr auto kEntries = join(lanes_entries<Lerp, 2>("lerp"), lanes_entries<LerpTensor, 3>("lerp_tensor"),
                               lanes_entries<Addcmul, 3>("addcmul"), lanes_entries<Addcdiv, 3>("addcdiv"));

std::span<const KernelEntry> ternary_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(ternary_entries);
std::span<const KernelEntry> ternary_kernels() { return HWY_DYNAMIC_DISPATCH(ternary_entries)(); }
}  // namespace vellum::cpu
#endif
