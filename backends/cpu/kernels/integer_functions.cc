#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "vellum/backends/cpu/kernels/targets.h"
// Highway reads the choice of targets.
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/wrapping.h"
#include "vellum/tensor/ops/attributes.h"

// Functions of integers, which wrap. They are rarely what a program waits for, so this family is compiled once.

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {
namespace {

// From a type with `static T of(T, ...)`.
template <typename T, typename F>
struct Unary {
  using Out = T;
  using In = Types<T>;

  explicit Unary(const KernelContext&) {}
  HWY_INLINE T operator()(T a) const { return F::of(a); }
};
template <typename T, typename F>
struct Binary {
  using Out = T;
  using In = Types<T, T>;

  explicit Binary(const KernelContext&) {}
  HWY_INLINE T operator()(T a, T b) const { return F::of(a, b); }
};

struct Abs {
  template <typename T>
  static HWY_INLINE T of(T a) {
    return a < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(a)) : a;
  }
};
struct Sign {
  template <typename T>
  static HWY_INLINE T of(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct Square {
  template <typename T>
  static HWY_INLINE T of(T a) {
    return static_cast<T>(multiply(static_cast<Wrapping<T>>(a), static_cast<Wrapping<T>>(a)));
  }
};
struct Identity {
  template <typename T>
  static HWY_INLINE T of(T a) {
    return a;
  }
};
struct Minimum {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    return std::min(a, b);
  }
};
struct Maximum {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    return std::max(a, b);
  }
};

// The exponent is a signed number of that size or a T. A negative power is 0 but for bases of magnitude 1.
struct Power {
  template <typename T>
  static HWY_INLINE T of(T number, T exponent) {
    using U = std::make_unsigned_t<T>;
    if (exponent < 0) {
      if (number == T(1)) return 1;
      return number == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
    }
    U result = 1, base = static_cast<U>(number);
    for (U rest = static_cast<U>(exponent); rest != 0; rest >>= 1) {
      if (rest & 1) result = multiply(result, base);
      base = multiply(base, base);
    }
    return static_cast<T>(result);
  }
};

// A bound beyond what a T holds is T's own.
template <typename T>
T bound(const std::optional<Scalar>& given, T none) {
  if (!given) return none;
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp<int64_t>(given->to<int64_t>(), Limits::min(), Limits::max()));
}

template <typename T>
struct Clamp {
  using Out = T;
  using In = Types<T>;
  T low, high;

  explicit Clamp(const KernelContext& context)
      : low(bound(context.attributes<ClampAttrs>().min, std::numeric_limits<T>::min())),
        high(bound(context.attributes<ClampAttrs>().max, std::numeric_limits<T>::max())) {}
  HWY_INLINE T operator()(T a) const { return std::min(std::max(a, low), high); }
};
template <typename T>
struct ClampTensor {
  using Out = T;
  using In = Types<T, T, T>;

  explicit ClampTensor(const KernelContext&) {}
  HWY_INLINE T operator()(T a, T low, T high) const { return std::min(std::max(a, low), high); }
};

template <typename Number>
struct Addcmul {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T, T>;
  T value;

  explicit Addcmul(const KernelContext& context)
      : value(static_cast<T>(context.attributes<FactorAttrs>().value.to<Number>())) {}
  HWY_INLINE T operator()(T self, T a, T b) const { return T(self + multiply(value, T(multiply(a, b)))); }
};

template <typename F>
struct Of {
  template <typename T>
  using UnaryOp = Unary<T, F>;
  template <typename T>
  using BinaryOp = Binary<T, F>;
};

template <template <typename> class Op>
constexpr auto integer_entries(std::string_view name) {
  return entries<Op, uint8_t, int8_t, int16_t, int32_t, int64_t>(name);
}
template <typename F>
constexpr auto unary_entries(std::string_view name) {
  return integer_entries<Of<F>::template UnaryOp>(name);
}
template <typename F>
constexpr auto binary_entries(std::string_view name) {
  return integer_entries<Of<F>::template BinaryOp>(name);
}
// By size alone.
constexpr auto identity_entries(std::string_view name) {
  return std::array{KernelEntry{name, DTypeSet(kUInt8) | DTypeSet(kInt8), run_op<Unary<uint8_t, Identity>>},
                    KernelEntry{name, kInt16, run_op<Unary<int16_t, Identity>>},
                    KernelEntry{name, kInt32, run_op<Unary<int32_t, Identity>>},
                    KernelEntry{name, kInt64, run_op<Unary<int64_t, Identity>>}};
}
template <template <typename, typename> class Op, typename F>
constexpr auto bool_entry(std::string_view name) {
  return std::array{KernelEntry{name, kBool, run_op<Op<uint8_t, F>>}};
}

constexpr auto kEntries =
    join(unary_entries<Abs>("abs"), unary_entries<Sign>("sign"), unary_entries<Sign>("sgn"),
         bool_entry<Unary, Identity>("sign"), bool_entry<Unary, Identity>("sgn"), unary_entries<Square>("square"),
         identity_entries("floor"), identity_entries("ceil"), identity_entries("round"), identity_entries("trunc"),
         binary_entries<Minimum>("minimum"), bool_entry<Binary, Minimum>("minimum"), binary_entries<Maximum>("maximum"),
         bool_entry<Binary, Maximum>("maximum"), binary_entries<Power>("pow"), integer_entries<Clamp>("clamp"),
         integer_entries<ClampTensor>("clamp_tensor"), integer_entries<Addcmul>("addcmul"));

}  // namespace
}  // namespace HWY_NAMESPACE

std::span<const KernelEntry> integer_function_kernels() { return HWY_NAMESPACE::kEntries; }

}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();
