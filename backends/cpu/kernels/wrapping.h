#ifndef VELLUM_BACKENDS_CPU_KERNELS_WRAPPING_H_
#define VELLUM_BACKENDS_CPU_KERNELS_WRAPPING_H_

#include <concepts>
#include <type_traits>

namespace vellum::cpu {

namespace internal {
template <typename T>
struct WrappingOf {
  using type = T;
};
template <std::signed_integral T>
struct WrappingOf<T> {
  using type = std::make_unsigned_t<T>;
};
}  // namespace internal

// The type with the same bytes in which addition and multiplication of a T wrap instead of being undefined.
template <typename T>
using Wrapping = typename internal::WrappingOf<T>::type;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_WRAPPING_H_
