#ifndef VELLUM_BACKENDS_CPU_KERNELS_COMPLEX_MATH_H_
#define VELLUM_BACKENDS_CPU_KERNELS_COMPLEX_MATH_H_

#include <cmath>
#include <complex>
#include <type_traits>

namespace vellum::cpu {

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename R>
inline constexpr bool kIsComplex<std::complex<R>> = true;

// The textbook product. std::complex's own repairs infinities through a library call for every element.
template <typename R>
inline std::complex<R> multiply(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename T>
inline T multiply(T a, T b) {
  // Narrow integers would be promoted to int, which can overflow.
  if constexpr (std::is_unsigned_v<T> && sizeof(T) < sizeof(unsigned))
    return static_cast<T>(1u * a * b);
  else
    return a * b;
}

// Smith, "Algorithm 116: Complex division" (CACM 1962): no overflow in |b|^2.
template <typename R>
inline std::complex<R> divide(std::complex<R> a, std::complex<R> b) {
  const bool real_dominates = std::abs(b.real()) >= std::abs(b.imag());
  const R large = real_dominates ? b.real() : b.imag(), small = real_dominates ? b.imag() : b.real();
  if (large == R(0)) return {a.real() / R(0), a.imag() / R(0)};
  const R ratio = small / large, scale = R(1) / (large + small * ratio);
  return real_dominates ? std::complex<R>((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale)
                        : std::complex<R>((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_COMPLEX_MATH_H_
