// Per-target (included once per instruction set): tanh, the logistic function, the normal distribution and erf of
// vectors, for every value. The rational functions interpolate at the zeros of Chebyshev polynomials (of x, and for the
// normal distribution of (a - k) / (a + k)), which comes near the best approximation of that degree; their errors are
// below 2e-9 for float (normal distribution: 8e-9) and 1e-16 for double.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_ACTIVATION_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_ACTIVATION_MATH_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_ACTIVATION_MATH_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_ACTIVATION_MATH_INL_H_
#endif

#include "vellum/backends/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// --- tanh

// tanh(x) / x as a function of x^2, for |x| <= 9.1; tanh is 1 beyond.
struct TanhConstants {
  static constexpr float kTop[] = {0.999999998699918253f,    0.142357897951263886f,   0.004612597865520901f,
                                   4.75315886976055418e-5f,  1.48871598332634029e-7f, 7.71060484627777686e-11f,
                                   -1.56120188150386797e-14f};
  static constexpr float kBottom[] = {1,
                                      0.475691226138903504f,
                                      0.0298430116102184553f,
                                      0.000537956436105682088f,
                                      3.13710964043837388e-6f,
                                      4.66930208756074532e-9f};
  static constexpr float kLimit = 9.1f;
};

template <class D, class V>
HWY_INLINE V tanh_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  if constexpr (sizeof(R) == 8) {
    return hn::Tanh(d, x);
  } else {
    const V limit = hn::Set(d, TanhConstants::kLimit), one = hn::Set(d, R(1));
    const V magnitude = at_most(d, hn::Abs(x), limit);
    const V square = hn::Mul(magnitude, magnitude);
    const V top = hn::Mul(magnitude, polynomial(d, square, TanhConstants::kTop));
    const V result = hn::Div(top, polynomial(d, square, TanhConstants::kBottom));
    return hn::CopySign(at_most(d, result, one), x);
  }
}

// `numerator` / (1 + exp(-x)), by exp(-|x|), which does not overflow.
template <class D, class V>
HWY_INLINE V logistic_quotient(D d, V x, V numerator) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V e = exp_lanes(d, hn::Neg(hn::Abs(x)));
  const V top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(numerator, e), numerator);
  return hn::Div(top, hn::Add(e, hn::Set(d, hn::TFromD<D>(1))));
}

// 1 / (1 + exp(-x))
template <class D, class V>
HWY_INLINE V sigmoid_lanes(D d, V x) {
  return logistic_quotient(d, x, hwy::HWY_NAMESPACE::Set(d, hwy::HWY_NAMESPACE::TFromD<D>(1)));
}

// log(1 + exp(x))
template <class D, class V>
HWY_INLINE V softplus_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V bend = hn::Log1p(d, exp_lanes(d, hn::Neg(hn::Abs(x))));
  return hn::Add(at_least(d, x, hn::Zero(d)), bend);
}

// --- The normal distribution

// exp(a^2 / 2) (1 - Phi(a)) for 0 <= a <= kLimit, where exp(-a^2 / 2) is 0. All coefficients are positive: nothing
// cancels.
template <typename R>
struct NormalConstants;
template <>
struct NormalConstants<float> {
  static constexpr float kTop[] = {0.500000002175647841f, 0.438674257382062067f, 0.183471861430168631f,
                                   0.04070006147737858f, 0.00412252820306921497f};
  static constexpr float kBottom[] = {1,
                                      1.67523341683843651f,
                                      1.20358243374087966f,
                                      0.470084305233697846f,
                                      0.102026065080089993f,
                                      0.0103335341030186088f};
  static constexpr float kLimit = 15;
};
template <>
struct NormalConstants<double> {
  static constexpr double kTop[] = {0.499999999999999985,   0.775857720903000193,    0.595444671969380317,
                                    0.290313293143354106,   0.0981308959658345121,   0.0237513508882017444,
                                    0.00411598301721242516, 0.000494150670642881566, 3.75791653587098953e-5,
                                    1.39930481186435658e-6};
  static constexpr double kBottom[] = {1,
                                       2.34960000260885916,
                                       2.56559891008297019,
                                       1.71883986481470198,
                                       0.784801316254237121,
                                       0.256106513066271508,
                                       0.0607674450510942085,
                                       0.0104114363973317166,
                                       0.0012421595801411335,
                                       9.41969984233546493e-5,
                                       3.50753700625502544e-6};
  static constexpr double kLimit = 39;
};

// Phi(-|x|), and exp(-x^2 / 2) on the way.
template <class D, class V>
HWY_INLINE V normal_tail_lanes(D d, V x, V& density) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  using Constants = NormalConstants<R>;
  const V a = at_most(d, hn::Abs(x), hn::Set(d, Constants::kLimit));
  // The rounding of a^2 would be the largest error by far.
  const V square = hn::Mul(a, a), rounding = hn::MulSub(a, a, square);
  const V half = hn::Set(d, R(0.5));
  const V e = exp_lanes(d, hn::Neg(hn::Mul(half, square)));
  density = hn::NegMulAdd(hn::Mul(half, rounding), e, e);
  return hn::Mul(density, hn::Div(polynomial(d, a, Constants::kTop), polynomial(d, a, Constants::kBottom)));
}

// Phi(x)
template <class D, class V>
HWY_INLINE V normal_cdf_lanes(D d, V x, V& density) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V tail = normal_tail_lanes(d, x, density);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, hn::TFromD<D>(1)), tail));
}

// --- erf

// erf(x) / x as a function of x^2, for |x| <= 1.
template <typename R>
struct ErfConstants;
template <>
struct ErfConstants<float> {
  static constexpr float kTop[] = {1.12837916584835095f,    -0.37612626666720331f,   0.112835947151602177f,
                                   -0.0268542120106264124f, 0.00518908742343397399f, -0.000801686428716586953f,
                                   7.87587506268548834e-5f};
};
template <>
struct ErfConstants<double> {
  static constexpr double kTop[] = {1.12837916709551257, 0.14214874428063382, 0.04530431496553584,
                                    0.00182732464063603864, 0.000194969847531789973};
  static constexpr double kBottom[] = {1,
                                       0.459309377934129555,
                                       0.0932530297396997133,
                                       0.0105823535606851839,
                                       0.000681243681978509854,
                                       2.02995552868342417e-5};
};

template <class D, class V>
HWY_INLINE V erf_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  using Constants = ErfConstants<R>;
  const V one = hn::Set(d, R(1)), magnitude = hn::Abs(x);
  const V clamped = at_most(d, magnitude, one), square = hn::Mul(clamped, clamped);
  V near = hn::Mul(clamped, polynomial(d, square, Constants::kTop));
  if constexpr (sizeof(R) == 8) near = hn::Div(near, polynomial(d, square, Constants::kBottom));
  V density;
  const V tail = normal_tail_lanes(d, hn::Mul(magnitude, hn::Set(d, R(1.4142135623730951))), density);
  const V far = hn::NegMulAdd(hn::Set(d, R(2)), tail, one);
  return hn::CopySign(hn::IfThenElse(hn::Gt(magnitude, one), far, near), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
