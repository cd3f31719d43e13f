#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/activation.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/activation_math-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/lanes_ops-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// --- gelu

constexpr double kInverseSqrtTwoPi = 0.39894228040143268, kSqrtTwoOverPi = 0.79788456080286536, kCubic = 0.044715;

// sqrt(2 / pi) (x + 0.044715 x^3) and its slope: Hendrycks & Gimpel, "Gaussian error linear units" (2016).
template <class D, class V>
HWY_INLINE V tanh_argument(D d, V x) {
  using R = hn::TFromD<D>;
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, R(kSqrtTwoOverPi * kCubic)), hn::Set(d, R(kSqrtTwoOverPi)));
  return hn::Mul(x, cubic);
}
template <class D, class V>
HWY_INLINE V tanh_argument_slope(D d, V x) {
  using R = hn::TFromD<D>;
  return hn::MulAdd(hn::Mul(x, x), hn::Set(d, R(3 * kSqrtTwoOverPi * kCubic)), hn::Set(d, R(kSqrtTwoOverPi)));
}

struct GeluByErf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V density;
    return hn::Mul(x, normal_cdf_lanes(d, x, density));
  }
};

struct GeluByTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    const V half = hn::Mul(x, hn::Set(d, R(0.5)));
    return hn::MulAdd(half, tanh_lanes(d, tanh_argument(d, x)), half);
  }
};

template <typename T>
struct Gelu {
  using Out = T;
  using In = Types<T>;
  bool tanh;

  explicit Gelu(const KernelContext& context) : tanh(context.attributes<GeluAttrs>().tanh) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if (tanh)
      map_lanes<1>(in, out, n, single, GeluByTanh());
    else
      map_lanes<1>(in, out, n, single, GeluByErf());
  }
};

struct GeluByErfBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    V density;
    const V cdf = normal_cdf_lanes(d, x, density);
    return hn::Mul(g, hn::MulAdd(hn::Mul(x, hn::Set(d, R(kInverseSqrtTwoPi))), density, cdf));
  }
};

struct GeluByTanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    const V half = hn::Set(d, R(0.5)), one = hn::Set(d, R(1));
    const V t = tanh_lanes(d, tanh_argument(d, x));
    const V bend = hn::Mul(hn::Mul(x, hn::NegMulAdd(t, t, one)), tanh_argument_slope(d, x));
    return hn::Mul(hn::Mul(g, half), hn::Add(hn::Add(one, t), bend));
  }
};

template <typename T>
struct GeluBackward {
  using Out = T;
  using In = Types<T, T>;
  bool tanh;

  explicit GeluBackward(const KernelContext& context) : tanh(context.attributes<GeluAttrs>().tanh) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if (tanh)
      map_lanes<2>(in, out, n, single, GeluByTanhBackward());
    else
      map_lanes<2>(in, out, n, single, GeluByErfBackward());
  }
};

// --- silu, softplus

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return logistic_quotient(d, x, x);
  }
};

struct SiluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    const V s = sigmoid_lanes(d, x);
    return hn::Mul(g, hn::MulAdd(hn::Mul(x, s), hn::Sub(hn::Set(d, R(1)), s), s));
  }
};

struct Softplus {
  double beta, threshold;

  explicit Softplus(const KernelContext& context)
      : beta(context.attributes<SoftplusAttrs>().beta), threshold(context.attributes<SoftplusAttrs>().threshold) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    const V scaled = hn::Mul(x, hn::Set(d, R(beta)));
    const V curve = hn::Div(softplus_lanes(d, scaled), hn::Set(d, R(beta)));
    return hn::IfThenElse(hn::Gt(scaled, hn::Set(d, R(threshold))), x, curve);
  }
};

struct SoftplusBackward {
  double beta, threshold;

  explicit SoftplusBackward(const KernelContext& context)
      : beta(context.attributes<SoftplusAttrs>().beta), threshold(context.attributes<SoftplusAttrs>().threshold) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    const V scaled = hn::Mul(x, hn::Set(d, R(beta)));
    const V curve = hn::Mul(g, sigmoid_lanes(d, scaled));
    return hn::IfThenElse(hn::Gt(scaled, hn::Set(d, R(threshold))), g, curve);
  }
};

// --- leaky_relu, elu

struct LeakyRelu {
  double slope;

  explicit LeakyRelu(const KernelContext& context) : slope(context.attributes<LeakyReluAttrs>().negative_slope) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, R(slope))));
  }
};

struct LeakyReluBackward {
  double slope;

  explicit LeakyReluBackward(const KernelContext& context)
      : slope(context.attributes<LeakyReluAttrs>().negative_slope) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), g, hn::Mul(g, hn::Set(d, R(slope))));
  }
};

struct Elu {
  double alpha;

  explicit Elu(const KernelContext& context) : alpha(context.attributes<EluAttrs>().alpha) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    using R = hn::TFromD<D>;
    const V curve = hn::Mul(hn::Set(d, R(alpha)), expm1_lanes(d, x));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, curve);
  }
};

struct EluBackwardOfInput {
  double alpha;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    using R = hn::TFromD<D>;
    const V slope = hn::Mul(hn::Set(d, R(alpha)), exp_lanes(d, x));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), g, hn::Mul(g, slope));
  }
};

struct EluBackwardOfOutput {
  double alpha;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    using R = hn::TFromD<D>;
    const V slope = hn::Add(y, hn::Set(d, R(alpha)));
    return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), g, hn::Mul(g, slope));
  }
};

template <typename T>
struct EluBackward {
  using Out = T;
  using In = Types<T, T>;
  EluBackwardAttrs attrs;

  explicit EluBackward(const KernelContext& context) : attrs(context.attributes<EluBackwardAttrs>()) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if (attrs.is_result)
      map_lanes<2>(in, out, n, single, EluBackwardOfOutput{attrs.alpha});
    else
      map_lanes<2>(in, out, n, single, EluBackwardOfInput{attrs.alpha});
  }
};

template <template <typename> class Op>
constexpr auto float_entries(std::string_view name) {
  return join(entries<Op, float, double>(name), half_entries<Op>(name));
}

constexpr auto kEntries =
    join(float_entries<Gelu>("gelu"), float_entries<GeluBackward>("gelu_backward"), lanes_entries<Silu>("silu"),
         lanes_entries<SiluBackward, 2>("silu_backward"), lanes_entries<Softplus>("softplus"),
         lanes_entries<SoftplusBackward, 2>("softplus_backward"), lanes_entries<LeakyRelu>("leaky_relu"),
         lanes_entries<LeakyReluBackward, 2>("leaky_relu_backward"), lanes_entries<Elu>("elu"),
         float_entries<EluBackward>("elu_backward"));

std::span<const KernelEntry> activation_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(activation_entries);
std::span<const KernelEntry> activation_kernels() { return HWY_DYNAMIC_DISPATCH(activation_entries)(); }
}  // namespace vellum::cpu
#endif
