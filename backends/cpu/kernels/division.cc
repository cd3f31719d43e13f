#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "vellum/backends/cpu/kernels/targets.h"
// Highway reads the choice of targets.
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/wrapping.h"

// Division with rounding, remainders, and the angle of real numbers. Floats call the C library for every element, so
// this family is compiled once.

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {
namespace {

// The smallest integer has no positive twin: divided by -1 it wraps.
template <typename T>
HWY_INLINE bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}
template <typename T>
HWY_INLINE T quotient(T a, T b) {
  return is_minus_one(b) ? static_cast<T>(-static_cast<Wrapping<T>>(a)) : static_cast<T>(a / b);
}
template <typename T>
HWY_INLINE T rest(T a, T b) {
  return is_minus_one(b) ? T(0) : static_cast<T>(a % b);
}

struct Trunc {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::trunc(a / b);
    else
      return quotient(a, b);
  }
};

// The C library's, which divides bit by bit, only where it must be: below 2^29 a quotient of floats is never rounded up
// to a whole number in double (they are at least 2^-24 / quotient apart), and its product with b is exact.
HWY_INLINE float modulo(float a, float b) {
  const double q = static_cast<double>(a) / static_cast<double>(b);
  if (!(std::abs(q) < 0x1p29) || std::isinf(b)) return std::fmod(a, b);
  return std::copysign(static_cast<float>(a - static_cast<double>(static_cast<int32_t>(q)) * b), a);
}
HWY_INLINE double modulo(double a, double b) { return std::fmod(a, b); }

struct Fmod {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return modulo(a, b);
    else
      return rest(a, b);
  }
};

// With the divisor's sign.
struct Remainder {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    const T r = Fmod::of(a, b);
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  }
};

// Python's: a whole number by way of the remainder, as the rounding of a / b could carry it over the next one.
template <typename T>
T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T r = std::fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  if (q == 0) return std::copysign(T(0), a / b);
  const T below = std::floor(q);
  return q - below > T(0.5) ? below + 1 : below;
}

struct Floor {
  static HWY_INLINE double of(double a, double b) { return floor_quotient(a, b); }
  // Without the remainder where modulo does without the C library.
  static HWY_INLINE float of(float a, float b) {
    const double q = static_cast<double>(a) / static_cast<double>(b);
    if (!(std::abs(q) < 0x1p29) || std::isinf(b)) return floor_quotient(a, b);
    const auto whole = static_cast<int32_t>(q);
    return q == 0 ? static_cast<float>(q) : static_cast<float>(whole - (static_cast<double>(whole) > q));
  }
  template <std::integral T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(quotient(a, b) - (rest(a, b) != 0 && (a < 0) != (b < 0)));
  }
};

template <typename T, typename F>
struct Division {
  using Out = T;
  using In = Types<T, T>;

  explicit Division(const KernelContext&) {}
  HWY_INLINE T operator()(T a, T b) const { return F::of(a, b); }
};
template <typename F>
struct By {
  template <typename T>
  using Op = Division<T, F>;
};

template <typename T>
struct Angle {
  using Out = T;
  using In = Types<T>;

  explicit Angle(const KernelContext&) {}
  HWY_INLINE T operator()(T x) const { return x != x ? x : x < 0 ? T(3.14159265358979324) : T(0); }
};

// Whether an integer divisor is 0 anywhere; asked before anything is written.
template <typename T>
bool has_zero(const LoopPlan& plan, const char* data, int d) {
  if (d == plan.ndim) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return value == 0;
  }
  const int64_t stride = plan.strides[2][d], count = stride == 0 ? 1 : plan.sizes[d];
  for (int64_t i = 0; i < count; ++i)
    if (has_zero<T>(plan, data + i * stride, d + 1)) return true;
  return false;
}

// Looks at all divisors before it writes anything.
template <typename T, typename F>
Status run_checked(const KernelContext& context) noexcept {
  const LoopPlan& plan = *context.loop;
  if (plan.numel == 0 || !has_zero<T>(plan, static_cast<const char*>(plan.data[2]), 0))
    return run_op<Division<T, F>>(context);
  return {StatusCode::kInvalidArgument, "ZeroDivisionError: an integer divisor is 0; divide floats for infinities"};
}

template <typename F, typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> checked_entries(std::string_view name) {
  return {KernelEntry{name, dtype_of<Ts>, run_checked<Ts, F>}...};
}
template <typename F>
constexpr auto division_entries(std::string_view name) {
  return join(checked_entries<F, uint8_t, int8_t, int16_t, int32_t, int64_t>(name),
              entries<By<F>::template Op, float, double>(name), half_entries<By<F>::template Op>(name));
}

constexpr auto kEntries = join(division_entries<Trunc>("div_trunc"), division_entries<Floor>("div_floor"),
                               division_entries<Fmod>("fmod"), division_entries<Remainder>("remainder"),
                               entries<Angle, float, double>("angle"), half_entries<Angle>("angle"));

}  // namespace
}  // namespace HWY_NAMESPACE

std::span<const KernelEntry> division_kernels() { return HWY_NAMESPACE::kEntries; }

}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();
