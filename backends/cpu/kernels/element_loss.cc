#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/element_loss.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/blocks-inl.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Each function works on vectors: of input and target, or of gradient, input and target.

template <typename R>
struct SquaredDifference {
  explicit SquaredDifference(const KernelContext&) {}
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V difference = hn::Sub(x, target);
    return hn::Mul(difference, difference);
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Mul(hn::Mul(hn::Set(d, R(2)), g), hn::Sub(x, target));
  }
};

// 1, 0 or -1; NaN stays NaN.
template <class D, class V>
HWY_INLINE V sign_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, hn::TFromD<D>(1));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), one, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(one), x));
}

template <typename R>
struct AbsoluteDifference {
  explicit AbsoluteDifference(const KernelContext&) {}
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Abs(hn::Sub(x, target));
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Mul(g, sign_lanes(d, hn::Sub(x, target)));
  }
};

template <typename R>
struct SmoothDifference {
  R beta;

  explicit SmoothDifference(const KernelContext& context) : beta(R(context.attributes<SmoothL1LossAttrs>().beta)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V limit = hn::Set(d, beta), half = hn::Set(d, R(0.5));
    const V distance = hn::Abs(hn::Sub(x, target));
    const V near = hn::Div(hn::Mul(hn::Mul(half, distance), distance), limit);
    return hn::IfThenElse(hn::Lt(distance, limit), near, hn::Sub(distance, hn::Mul(half, limit)));
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V limit = hn::Set(d, beta), difference = hn::Sub(x, target);
    const auto is_near = hn::Lt(hn::Abs(difference), limit);
    return hn::Mul(g, hn::IfThenElse(is_near, hn::Div(difference, limit), sign_lanes(d, difference)));
  }
};

template <typename R>
struct BinaryCrossEntropy {
  explicit BinaryCrossEntropy(const KernelContext&) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    const V tail = hn::Log1p(d, exp_lanes(d, hn::Neg(hn::Abs(x))));
    const V softplus = hn::IfThenElse(hn::IsNaN(x), x, hn::Add(positive, tail));
    return hn::Sub(softplus, hn::Mul(x, target));
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x, V target) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V one = hn::Set(d, R(1));
    const V sigmoid = hn::Div(one, hn::Add(one, exp_lanes(d, hn::Neg(x))));
    return hn::Mul(g, hn::Sub(sigmoid, target));
  }
};

// Operand k as an array, or as one value that is read before anything is written.
template <typename R>
struct LossOperand {
  const R* values;
  bool single;
  R value;

  LossOperand(const void* const* in, int k, unsigned singles)
      : values(static_cast<const R*>(in[k])), single(singles >> k & 1), value(values[0]) {}
  template <typename At>
  HWY_INLINE auto at(At position) const {
    return single ? hwy::HWY_NAMESPACE::Set(At::d(), value) : position.load(values);
  }
};

template <typename R, typename F>
struct Loss {
  using Out = R;
  using In = Types<R, R>;
  F f;

  explicit Loss(const KernelContext& context) : f(context) {}
  HWY_INLINE void block(R* out, const void* const* in, int64_t n, unsigned single) const {
    const LossOperand<R> x(in, 0, single), target(in, 1, single);
    each_vector<R>(n, [&](auto v) HWY_ATTR { v.store(f(v.d(), x.at(v), target.at(v)), out); });
  }
};

template <typename R, typename F>
struct LossBackward {
  using Out = R;
  using In = Types<R, R, R>;
  F f;

  explicit LossBackward(const KernelContext& context) : f(context) {}
  HWY_INLINE void block(R* out, const void* const* in, int64_t n, unsigned single) const {
    const LossOperand<R> g(in, 0, single), x(in, 1, single), target(in, 2, single);
    each_vector<R>(n, [&](auto v) HWY_ATTR { v.store(f(v.d(), g.at(v), x.at(v), target.at(v)), out); });
  }
};

template <template <typename> class F>
struct Both {
  template <typename R>
  using Forward = Loss<R, F<R>>;
  template <typename R>
  using Backward = LossBackward<R, F<R>>;

  static constexpr auto entries_of(std::string_view name, std::string_view backward) {
    return join(entries<Forward, float, double>(name), half_entries<Forward>(name),
                entries<Backward, float, double>(backward), half_entries<Backward>(backward));
  }
};

constexpr auto kEntries = join(Both<SquaredDifference>::entries_of("mse_loss", "mse_loss_backward"),
                               Both<AbsoluteDifference>::entries_of("l1_loss", "l1_loss_backward"),
                               Both<SmoothDifference>::entries_of("smooth_l1_loss", "smooth_l1_loss_backward"),
                               Both<BinaryCrossEntropy>::entries_of("binary_cross_entropy_with_logits",
                                                                    "binary_cross_entropy_with_logits_backward"));

std::span<const KernelEntry> element_loss_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(element_loss_entries);
std::span<const KernelEntry> element_loss_kernels() { return HWY_DYNAMIC_DISPATCH(element_loss_entries)(); }
}  // namespace vellum::cpu
#endif
