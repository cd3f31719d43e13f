// Per-target (included once per instruction set): elementary functions of vectors, for every value.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// x where it is at most (at least) `limit`, else `limit`. NaN stays NaN: x86's instructions return the second operand
// then, other implementations of Highway's functions the number.
template <class D, class V>
HWY_INLINE V at_most(D, V x, V limit) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}
template <class D, class V>
HWY_INLINE V at_least(D, V x, V limit) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(limit, x);
#else
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#endif
}

// --- Polynomials

template <class D, class V, size_t kTerms, size_t... kStep>
HWY_INLINE V horner(D d, V x, const hwy::HWY_NAMESPACE::TFromD<D> (&c)[kTerms], std::index_sequence<kStep...>) {
  namespace hn = hwy::HWY_NAMESPACE;
  V sum = hn::Set(d, c[kTerms - 1]);
  ((sum = hn::MulAdd(sum, x, hn::Set(d, c[kTerms - 2 - kStep]))), ...);
  return sum;
}

// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V, size_t kTerms>
HWY_INLINE V polynomial(D d, V x, const hwy::HWY_NAMESPACE::TFromD<D> (&c)[kTerms]) {
  return horner(d, x, c, std::make_index_sequence<kTerms - 1>());
}

// --- exp

// x 2^n for whole n between -2100 and 1100.
template <class D, class V>
HWY_INLINE V scale_by_power_of_two(D d, V x, V n) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<V, hn::Vec512<float>>) return V{_mm512_scalef_ps(x.raw, n.raw)};
  if constexpr (std::is_same_v<V, hn::Vec512<double>>) return V{_mm512_scalef_pd(x.raw, n.raw)};
#endif
  // In two steps, as 2^n itself may be out of range. Adding 1.5 * 2^(bits of the mantissa) leaves n in the lowest bits.
  using R = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  constexpr int kMantissa = sizeof(R) == 4 ? 23 : 52;
  const V shift = hn::Set(d, R(sizeof(R) == 4 ? 0x1.8p23 : 0x1.8p52));
  const auto bias = hn::Set(di, sizeof(R) == 4 ? 127 : 1023);
  const auto whole = hn::Sub(hn::BitCast(di, hn::Add(n, shift)), hn::BitCast(di, shift));
  const auto half = hn::Sub(hn::BitCast(di, hn::MulAdd(n, hn::Set(d, R(0.5)), shift)), hn::BitCast(di, shift));
  const auto power = [&](auto e) HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<kMantissa>(hn::Add(e, bias))); };
  return hn::Mul(hn::Mul(x, power(half)), power(hn::Sub(whole, half)));
}

// (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2, interpolated at the zeros of a Chebyshev polynomial, and log(2) in two
// parts of which the first has zeros at its end.
template <typename R>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kPolynomial[] = {0.500000001353872989f,   0.16666666681704215f,    0.0416664641974056923f,
                                          0.00833331084464786256f, 0.00139337307157920825f, 0.00019891080463998842f};
  static constexpr float kLn2High = 0x1.63p-1f, kLn2Low = -0x1.bd0106p-13f;
  static constexpr float kLimit = 150;  // beyond it results are 0 or infinite
};
template <>
struct ExpConstants<double> {
  static constexpr double kPolynomial[] = {0.500000000000000103,   0.166666666666666675,   0.0416666666666238205,
                                           0.0083333333333300382,  0.00138888889173670806, 0.00019841269863171556,
                                           2.48015210578682052e-5, 2.75572682769056962e-6, 2.76202015910315488e-7,
                                           2.5100472505694996e-8};
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kLimit = 1000;
};

template <class D, class V>
HWY_INLINE V exp_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  using Constants = ExpConstants<R>;
  const V limit = hn::Set(d, Constants::kLimit);
  x = at_least(d, at_most(d, x, limit), hn::Neg(limit));
  const V shift = hn::Set(d, R(sizeof(R) == 4 ? 0x1.8p23 : 0x1.8p52));  // rounds what it is added to
  const V n = hn::Sub(hn::MulAdd(x, hn::Set(d, R(1.4426950408889634)), shift), shift);
  const V r = hn::NegMulAdd(n, hn::Set(d, Constants::kLn2Low), hn::NegMulAdd(n, hn::Set(d, Constants::kLn2High), x));
  const V tail = polynomial(d, r, Constants::kPolynomial);
  return scale_by_power_of_two(d, hn::Add(hn::MulAdd(tail, hn::Mul(r, r), r), hn::Set(d, R(1))), n);
}

// Keeps zeros with their sign.
template <class D, class V>
HWY_INLINE V expm1_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  const V limit = hn::Set(d, R(sizeof(R) == 4 ? 100 : 720));  // far enough for infinity, near enough for the exponent
  const V result = hn::Expm1(d, hn::Min(limit, x));
  return hn::IfThenElse(hn::Or(hn::Eq(x, hn::Zero(d)), hn::IsNaN(x)), x, result);
}

// --- log

// `f` on positive finite numbers, extended to the others as a logarithm.
template <class D, class V, class F>
HWY_INLINE V extended_log(D d, V x, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<R>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<R>::quiet_NaN());
  const auto regular = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Gt(x, zero), x, nan));
  return hn::IfThenElse(regular, f(x), special);
}

template <class D, class V>
HWY_INLINE V log_lanes(D d, V x) {
  return extended_log(d, x, [d](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Log(d, v); });
}

template <class D, class V>
HWY_INLINE V log2_lanes(D d, V x) {
  return extended_log(d, x, [d](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Log2(d, v); });
}

// The special cases are those of log(1 + x); a small x is its own logarithm.
template <class D, class V>
HWY_INLINE V log1p_lanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  return extended_log(d, hn::Add(x, hn::Set(d, R(1))), [d, x](auto) HWY_ATTR { return hn::Log1p(d, x); });
}

// --- sin and cos

// Highway's functions hold up to 39000; beyond it the C library's reduce by a longer pi.
template <class D, class V, class Fast, class Slow>
HWY_INLINE V periodic_lanes(D d, V x, const Fast& fast, const Slow& slow) {
  namespace hn = hwy::HWY_NAMESPACE;
  using R = hn::TFromD<D>;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, R(39000)))))) return fast(x);
  HWY_ALIGN R values[hn::MaxLanes(D())];
  hn::Store(x, d, values);
  for (R& value : values) value = slow(value);
  return hn::Load(d, values);
}

template <class D, class V>
HWY_INLINE V sin_lanes(D d, V x) {
  using R = hwy::HWY_NAMESPACE::TFromD<D>;
  return periodic_lanes(
      d, x, [d](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Sin(d, v); }, [](R v) { return std::sin(v); });
}

template <class D, class V>
HWY_INLINE V cos_lanes(D d, V x) {
  using R = hwy::HWY_NAMESPACE::TFromD<D>;
  return periodic_lanes(
      d, x, [d](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Cos(d, v); }, [](R v) { return std::cos(v); });
}

// --- Loops

template <typename R, typename F, size_t... k>
HWY_INLINE void map_operands(const void* const* in, R* out, int64_t n, unsigned single, const F& f,
                             std::index_sequence<k...>) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<R> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  // A single value becomes a vector that is read again and again.
  HWY_ALIGN R repeated[sizeof...(k)][kLanes];
  const R* from[] = {static_cast<const R*>(in[k])...};
  int64_t step[] = {(single >> k & 1 ? 0 : kLanes)...};
  if (sizeof...(k) > 1)
    ((step[k] ? void() : (hn::Store(hn::Set(d, *from[k]), d, repeated[k]), void(from[k] = repeated[k]))), ...);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(f(d, hn::LoadU(d, from[k])...), d, out + i);
    ((from[k] += step[k]), ...);
  }
  if (i == n) return;
  const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
  hn::BlendedStore(f(d, hn::MaskedLoad(rest, d, from[k])...), rest, d, out + i);
}

// out[i] = f(d, in[0][i], in[1][i], ...) for vectors of a tag d; `single` as in ElementBlock. The last one may be part
// of a vector, so that a value does not depend on its position.
template <size_t kInputs, typename R, typename F>
HWY_INLINE void map_lanes(const void* const* in, R* out, int64_t n, unsigned single, const F& f) {
  map_operands(in, out, n, single, f, std::make_index_sequence<kInputs>());
}

// out[i] = f(d, x[i]).
template <typename R, typename F>
HWY_INLINE void map_lanes(const R* x, R* out, int64_t n, const F& f) {
  const void* const in[] = {x};
  map_lanes<1>(in, out, n, 0, f);
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
