#ifndef VELLUM_BACKENDS_CUDA_KERNELS_FUNCTORS_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_FUNCTORS_H_

#include <cmath>
#include <concepts>
#include <type_traits>

#include "vellum/backends/cuda/kernels/element_loop.h"
#include "vellum/backends/cuda/kernels/host_device.h"
#include "vellum/tensor/kernel.h"
#include "vellum/tensor/ops/attributes.h"

// Operators on one element. Each is made from the call's context on the host and copied to the device, with
//   using Out = ...; using In = Types<...>; Out operator()(In...) const.

namespace vellum::cuda {

template <typename T>
concept ComplexNumber = requires(T z) {
  z.real();
  z.imag();
};

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

template <typename T>
T number(const Scalar& value) {
  if constexpr (ComplexNumber<T>) {
    using Real = typename T::value_type;
    return T(static_cast<Real>(value.value().real()), static_cast<Real>(value.value().imag()));
  } else {
    return value.to<T>();
  }
}

template <typename T>
VELLUM_HOST_DEVICE T multiply(T a, T b) {
  if constexpr (ComplexNumber<T>)  // the textbook product: the library's own repairs infinities in each element
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else if constexpr (std::is_unsigned_v<T> && sizeof(T) < sizeof(unsigned))  // else promoted to int, which overflows
    return static_cast<T>(1u * a * b);
  else
    return a * b;
}

// a + kSign * alpha * b. Integers wrap.
template <typename Number, int kSign>
struct AddScaled {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T>;
  T alpha;
  int unit;  // 1 or -1 where alpha is that, so that no infinity is multiplied; else 0

  explicit AddScaled(const KernelContext& context) {
    const T given = T(number<Number>(context.attributes<AlphaAttrs>().alpha));
    alpha = kSign > 0 ? given : T(-given);
    unit = alpha == T(1) ? 1 : alpha == T(-1) ? -1 : 0;
  }
  VELLUM_HOST_DEVICE T operator()(T a, T b) const {
    if (unit > 0) return T(a + b);
    if (unit < 0) return T(a - b);
    return T(a + multiply(alpha, b));
  }
};

template <typename T>
using Add = AddScaled<T, 1>;
template <typename T>
using Sub = AddScaled<T, -1>;

template <typename Number>
struct Mul {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T>;

  explicit Mul(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a, T b) const { return multiply(a, b); }
};

template <typename T>
struct Div {
  using Out = T;
  using In = Types<T, T>;

  explicit Div(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a, T b) const { return a / b; }
};

template <typename Number>
struct Neg {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T>;

  explicit Neg(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a) const { return T(-a); }
};

template <typename T>
struct Conj {
  using Out = T;
  using In = Types<T>;

  explicit Conj(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a) const { return T(a.real(), -a.imag()); }
};

template <typename T>
struct Exp {
  using Out = T;
  using In = Types<T>;

  explicit Exp(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a) const {
    using std::exp;
    return exp(a);
  }
};

template <typename T>
struct Relu {
  using Out = T;
  using In = Types<T>;

  explicit Relu(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T a) const {
    if constexpr (std::is_unsigned_v<T>)
      return a;
    else
      return a < T(0) ? T(0) : a;  // NaN stays NaN
  }
};

template <typename T>
struct ReluBackward {
  using Out = T;
  using In = Types<T, T>;

  explicit ReluBackward(const KernelContext&) {}
  VELLUM_HOST_DEVICE T operator()(T gradient, T output) const { return output > T(0) ? gradient : T(0); }
};

template <typename T, typename Relation>
struct Compare {
  using Out = bool;
  using In = Types<T, T>;

  explicit Compare(const KernelContext&) {}
  VELLUM_HOST_DEVICE bool operator()(T a, T b) const { return Relation::holds(a, b); }
};

struct Equal {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return !(a == b);
  }
};
struct Less {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return b < a;
  }
};
struct GreaterEqual {
  template <typename T>
  VELLUM_HOST_DEVICE static bool holds(T a, T b) {
    return b <= a;
  }
};

template <typename T>
using Eq = Compare<T, Equal>;
template <typename T>
using Ne = Compare<T, NotEqual>;
template <typename T>
using Lt = Compare<T, Less>;
template <typename T>
using Le = Compare<T, LessEqual>;
template <typename T>
using Gt = Compare<T, Greater>;
template <typename T>
using Ge = Compare<T, GreaterEqual>;

}  // namespace vellum::cuda

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_FUNCTORS_H_
