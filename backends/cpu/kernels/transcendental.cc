#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/transcendental.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/backends/cpu/kernels/wrapping.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Complex functions are computed in double and rounded once.
template <typename T, typename F>
HWY_INLINE T in_double(T x, const F& f) {
  return T(f(complex128(x)));
}

template <typename T>
struct Exp {
  using Out = T;
  using In = Types<T>;

  explicit Exp(const KernelContext&) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned) const {
    const T* x = static_cast<const T*>(in[0]);
    if constexpr (kIsComplex<T>) {
      for (int64_t i = 0; i < n; ++i) out[i] = in_double(x[i], [](complex128 z) { return std::exp(z); });
    } else {
      map_lanes(x, out, n, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
    }
  }
};

template <typename T>
struct Log {
  using Out = T;
  using In = Types<T>;

  explicit Log(const KernelContext&) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned) const {
    const T* x = static_cast<const T*>(in[0]);
    if constexpr (kIsComplex<T>) {
      for (int64_t i = 0; i < n; ++i) out[i] = in_double(x[i], [](complex128 z) { return std::log(z); });
    } else {
      map_lanes(x, out, n, [](auto d, auto v) HWY_ATTR { return log_lanes(d, v); });
    }
  }
};

template <typename T>
struct Sqrt {
  using Out = T;
  using In = Types<T>;

  explicit Sqrt(const KernelContext&) {}
  HWY_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return in_double(x, [](complex128 z) { return std::sqrt(z); });
    else
      return std::sqrt(x);
  }
};

// T is unsigned and wraps; the exponent is a signed number of that size or a T. A negative power is 0 but for bases of
// magnitude 1.
template <typename T, typename Exponent>
HWY_INLINE T integer_power(T base, Exponent exponent) {
  if constexpr (std::is_signed_v<Exponent>) {
    if (exponent < 0) {
      if (base == T(1)) return 1;
      return base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
    }
  }
  T result = 1;
  for (auto rest = static_cast<std::make_unsigned_t<Exponent>>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

template <typename T>
HWY_INLINE T complex_power(T base, T exponent) {
  if (exponent == T(0)) return T(1);
  if (base == T(0)) return T(0);
  return T(std::pow(complex128(base), complex128(exponent)));
}

template <typename Number>
struct Pow {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T>;

  explicit Pow(const KernelContext&) {}
  HWY_INLINE T operator()(T base, T exponent) const {
    if constexpr (kIsComplex<T>)
      return complex_power(base, exponent);
    else if constexpr (std::is_floating_point_v<T>)
      return std::pow(base, exponent);
    else
      return integer_power(base, static_cast<Number>(exponent));
  }

  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if constexpr (std::is_floating_point_v<T>)
      if (single == 2 && by_constant(out, static_cast<const T*>(in[0]), *static_cast<const T*>(in[1]), n)) return;
    apply(*this, In{}, out, in, n, single);
  }

 private:
  template <typename F>
  static HWY_INLINE bool each(T* out, const T* x, int64_t n, const F& f) {
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
    return true;
  }
  // The powers that have cheap forms.
  static HWY_INLINE bool by_constant(T* out, const T* x, T exponent, int64_t n) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (exponent == T(2)) return each(out, x, n, [](T v) HWY_ATTR { return v * v; });
    if (exponent == T(1)) return each(out, x, n, [](T v) HWY_ATTR { return v; });
    if (exponent == T(3)) return each(out, x, n, [](T v) HWY_ATTR { return v * v * v; });
    if (exponent == T(-1)) return each(out, x, n, [](T v) HWY_ATTR { return T(1) / v; });
    if (exponent == T(0.5))  // unlike sqrt, pow takes -0 to 0 and -infinity to infinity
      return each(out, x, n, [](T v) HWY_ATTR { return v == -kInfinity ? kInfinity : std::sqrt(v + T(0)); });
    return false;
  }
};

template <template <typename> class Op>
constexpr auto differentiable_entries(std::string_view name) {
  return join(entries<Op, float, double, complex64, complex128>(name), half_entries<Op>(name));
}

constexpr auto kEntries =
    join(differentiable_entries<Exp>("exp"), differentiable_entries<Log>("log"), differentiable_entries<Sqrt>("sqrt"),
         differentiable_entries<Pow>("pow"), entries<Pow, uint8_t, int8_t, int16_t, int32_t, int64_t>("pow"));

std::span<const KernelEntry> transcendental_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(transcendental_entries);
std::span<const KernelEntry> transcendental_kernels() { return HWY_DYNAMIC_DISPATCH(transcendental_entries)(); }
}  // namespace vellum::cpu
#endif
