#ifndef VELLUM_BACKENDS_CPU_KERNELS_CONVERT_H_
#define VELLUM_BACKENDS_CPU_KERNELS_CONVERT_H_

#include <concepts>
#include <cstdint>
#include <limits>

#include "vellum/backends/cpu/kernels/complex_math.h"

namespace vellum::cpu {

// Truncates. Defined for every value: what lies outside saturates at the ends of Int that F can represent, and NaN is
// 0.
template <typename Int, std::floating_point F>
inline Int truncate(F x) {
  constexpr F kLow = static_cast<F>(std::numeric_limits<Int>::min());
  // The largest F below 2^(bits - 1).
  constexpr F kHigh = -kLow - -kLow * (std::numeric_limits<F>::epsilon() / 2);
  constexpr bool kExact = std::numeric_limits<F>::digits >= std::numeric_limits<Int>::digits;
  constexpr F kTop = kExact ? static_cast<F>(std::numeric_limits<Int>::max()) : kHigh;
  const F number = x == x ? x : F(0);
  const F above = number < kLow ? kLow : number;
  return static_cast<Int>(above > kTop ? kTop : above);
}

// The value of x as a To: complex to real drops the imaginary part, anything to bool is whether it is not 0, integers
// keep their low bits, real to integer truncates through int32 (int64 for int64), so that -1.0 becomes 255 as a uint8.
template <typename To, typename From>
inline To convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (kIsComplex<To> && kIsComplex<From>) {
    return {static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag())};
  } else if constexpr (kIsComplex<From>) {
    return convert<To>(x.real());
  } else if constexpr (kIsComplex<To>) {
    return {static_cast<typename To::value_type>(x), 0};
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    return static_cast<To>(truncate<std::conditional_t<sizeof(To) == 8, int64_t, int32_t>>(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_CONVERT_H_
