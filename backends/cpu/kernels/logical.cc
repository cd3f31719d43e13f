#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "vellum/backends/cpu/kernels/targets.h"
// Highway reads the choice of targets.
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"

// Truth values, and what chooses by them. Bound by memory, so this family is compiled once.

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {
namespace {

struct And {
  static HWY_INLINE bool of(bool a, bool b) { return a & b; }
};
struct Or {
  static HWY_INLINE bool of(bool a, bool b) { return a | b; }
};
struct Xor {
  static HWY_INLINE bool of(bool a, bool b) { return a != b; }
};

template <typename T, typename F>
struct Logical {
  using Out = bool;
  using In = Types<T, T>;

  explicit Logical(const KernelContext&) {}
  HWY_INLINE bool operator()(T a, T b) const { return F::of(a != T(0), b != T(0)); }
};
template <typename T>
using LogicalAnd = Logical<T, And>;
template <typename T>
using LogicalOr = Logical<T, Or>;
template <typename T>
using LogicalXor = Logical<T, Xor>;

template <typename T>
struct LogicalNot {
  using Out = bool;
  using In = Types<T>;

  explicit LogicalNot(const KernelContext&) {}
  HWY_INLINE bool operator()(T a) const { return a == T(0); }
};

// What kind of number it is. x - x is 0 for finite numbers alone.
struct IsNan {
  template <typename R>
  static HWY_INLINE bool of(R x) {
    return x != x;
  }
  template <typename R>
  static HWY_INLINE bool of(std::complex<R> z) {
    return of(z.real()) || of(z.imag());
  }
};
struct IsInf {
  template <typename R>
  static HWY_INLINE bool of(R x) {
    return std::abs(x) == std::numeric_limits<R>::infinity();
  }
  template <typename R>
  static HWY_INLINE bool of(std::complex<R> z) {
    return of(z.real()) || of(z.imag());
  }
};
struct IsFinite {
  template <typename R>
  static HWY_INLINE bool of(R x) {
    return x - x == R(0);
  }
  template <typename R>
  static HWY_INLINE bool of(std::complex<R> z) {
    return of(z.real()) && of(z.imag());
  }
};
template <bool kAnswer>
struct Always {
  template <typename T>
  static HWY_INLINE bool of(T) {
    return kAnswer;
  }
};

template <typename T, typename F>
struct Classify {
  using Out = bool;
  using In = Types<T>;

  explicit Classify(const KernelContext&) {}
  HWY_INLINE bool operator()(T x) const { return F::of(x); }
};
template <typename F>
struct ClassifyBy {
  template <typename T>
  using Op = Classify<T, F>;
};

// Elements go by their size alone.
struct Bytes16 {
  uint64_t halves[2];
};
template <typename T>
struct MaskedFill {
  using Out = T;
  using In = Types<T, uint8_t, T>;

  explicit MaskedFill(const KernelContext&) {}
  HWY_INLINE T operator()(T x, uint8_t mask, T value) const { return mask ? value : x; }
};

template <template <typename> class Op>
constexpr auto every_entry(std::string_view name) {
  return join(entries<Op, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, complex64, complex128>(name),
              half_entries<Op>(name));
}

// Integers are all of one kind.
template <typename F, bool kOfIntegers>
constexpr auto classify_entries(std::string_view name) {
  using Integer = Always<kOfIntegers>;
  return join(entries<ClassifyBy<F>::template Op, float, double, complex64, complex128>(name),
              half_entries<ClassifyBy<F>::template Op>(name),
              std::array{KernelEntry{name, DTypeSet(kBool) | kUInt8 | kInt8, run_op<Classify<uint8_t, Integer>>},
                         KernelEntry{name, kInt16, run_op<Classify<int16_t, Integer>>},
                         KernelEntry{name, kInt32, run_op<Classify<int32_t, Integer>>},
                         KernelEntry{name, kInt64, run_op<Classify<int64_t, Integer>>}});
}

constexpr std::array kMaskedFill{
    KernelEntry{"masked_fill", DTypeSet(kBool) | kUInt8 | kInt8, run_op<MaskedFill<uint8_t>>},
    KernelEntry{"masked_fill", DTypeSet(kInt16) | kFloat16 | kBFloat16, run_op<MaskedFill<uint16_t>>},
    KernelEntry{"masked_fill", DTypeSet(kInt32) | kFloat32, run_op<MaskedFill<uint32_t>>},
    KernelEntry{"masked_fill", DTypeSet(kInt64) | kFloat64 | kComplex64, run_op<MaskedFill<uint64_t>>},
    KernelEntry{"masked_fill", kComplex128, run_op<MaskedFill<Bytes16>>}};

constexpr auto kEntries = join(every_entry<LogicalAnd>("logical_and"), every_entry<LogicalOr>("logical_or"),
                               every_entry<LogicalXor>("logical_xor"), every_entry<LogicalNot>("logical_not"),
                               classify_entries<IsNan, false>("isnan"), classify_entries<IsInf, false>("isinf"),
                               classify_entries<IsFinite, true>("isfinite"), kMaskedFill);

}  // namespace
}  // namespace HWY_NAMESPACE

std::span<const KernelEntry> logical_kernels() { return HWY_NAMESPACE::kEntries; }

}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();
