#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/arithmetic.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/wrapping.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

template <typename T>
struct Sum {
  using Out = T;
  using In = Types<T, T>;
  HWY_INLINE T operator()(T a, T b) const { return T(a + b); }
};

template <typename T>
struct Difference {
  using Out = T;
  using In = Types<T, T>;
  HWY_INLINE T operator()(T a, T b) const { return T(a - b); }
};

template <typename T>
struct ScaledSum {
  using Out = T;
  using In = Types<T, T>;
  T alpha;
  HWY_INLINE T operator()(T a, T b) const { return T(a + multiply(alpha, b)); }
};

// a + kSign * alpha * b. Integers wrap.
template <typename Number, int kSign>
struct AddScaled {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T>;
  T alpha;

  explicit AddScaled(const KernelContext& context) {
    const T given = T(context.attributes<AlphaAttrs>().alpha.to<Number>());
    alpha = kSign > 0 ? given : T(-given);
  }
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    if (alpha == T(1))
      apply(Sum<T>{}, In{}, out, in, n, single);
    else if (alpha == T(-1))
      apply(Difference<T>{}, In{}, out, in, n, single);
    else
      apply(ScaledSum<T>{alpha}, In{}, out, in, n, single);
  }
};

template <typename T>
using Add = AddScaled<T, 1>;
template <typename T>
using Sub = AddScaled<T, -1>;

struct Or {
  using Out = uint8_t;
  using In = Types<uint8_t, uint8_t>;
  uint8_t mask;

  explicit Or(const KernelContext& context) : mask(context.attributes<AlphaAttrs>().alpha.to<bool>()) {}
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return a | (b & mask); }
};

template <typename Number>
struct Mul {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T, T>;

  explicit Mul(const KernelContext&) {}
  HWY_INLINE T operator()(T a, T b) const { return T(multiply(a, b)); }
};

struct And {
  using Out = uint8_t;
  using In = Types<uint8_t, uint8_t>;

  explicit And(const KernelContext&) {}
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};

template <typename T>
struct Div {
  using Out = T;
  using In = Types<T, T>;

  explicit Div(const KernelContext&) {}
  HWY_INLINE T operator()(T a, T b) const {
    if constexpr (kIsComplex<T>)
      return divide(a, b);
    else
      return a / b;
  }
};

template <typename Number>
struct Neg {
  using T = Wrapping<Number>;
  using Out = T;
  using In = Types<T>;

  explicit Neg(const KernelContext&) {}
  HWY_INLINE T operator()(T a) const { return T(-a); }
};

template <typename T>
struct Conj {
  using Out = T;
  using In = Types<T>;

  explicit Conj(const KernelContext&) {}
  HWY_INLINE T operator()(T a) const { return T(a.real(), -a.imag()); }
};

template <typename T>
struct Complex {
  using Out = std::complex<T>;
  using In = Types<T, T>;

  explicit Complex(const KernelContext&) {}
  HWY_INLINE Out operator()(T re, T im) const { return Out(re, im); }
};

template <typename T>
struct Relu {
  using Out = T;
  using In = Types<T>;

  explicit Relu(const KernelContext&) {}
  HWY_INLINE T operator()(T a) const { return a < T(0) ? T(0) : a; }  // NaN stays NaN
};

template <typename T>
struct ReluBackward {
  using Out = T;
  using In = Types<T, T>;

  explicit ReluBackward(const KernelContext&) {}
  HWY_INLINE T operator()(T g, T output) const { return output > T(0) ? g : T(0); }
};

template <typename T>
struct Where {
  using Out = T;
  using In = Types<uint8_t, T, T>;

  explicit Where(const KernelContext&) {}
  HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
    const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
    const T* a = static_cast<const T*>(in[1]);
    const T* b = static_cast<const T*>(in[2]);
    if (single & 1) return take(out, condition[0] ? a : b, n, single & (condition[0] ? 2 : 4));
    switch (single >> 1) {
      case 0:
        return select<false, false>(out, condition, a, b, n);
      case 1:
        return select<true, false>(out, condition, a, b, n);
      case 2:
        return select<false, true>(out, condition, a, b, n);
      default:
        return select<true, true>(out, condition, a, b, n);
    }
  }

 private:
  static HWY_INLINE void take(T* out, const T* from, int64_t n, bool single) {
    const T first = from[0];
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = single ? first : from[i];
  }
  template <bool kSingleA, bool kSingleB>
  static HWY_INLINE void select(T* out, const uint8_t* condition, const T* a, const T* b, int64_t n) {
    const T a0 = a[0], b0 = b[0];
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T yes = kSingleA ? a0 : a[i], no = kSingleB ? b0 : b[i];
      out[i] = condition[i] ? yes : no;
    }
  }
};

template <template <typename> class Op>
constexpr auto integer_entries(std::string_view name) {
  return entries<Op, uint8_t, int8_t, int16_t, int32_t, int64_t>(name);
}

template <template <typename> class Op>
constexpr auto float_entries(std::string_view name) {
  return join(entries<Op, float, double>(name), half_entries<Op>(name));
}

template <template <typename> class Op>
constexpr auto numeric_entries(std::string_view name) {
  return join(integer_entries<Op>(name), float_entries<Op>(name), entries<Op, complex64, complex128>(name));
}

template <typename Op>
constexpr auto bool_entry(std::string_view name) {
  return std::array{KernelEntry{name, kBool, run_op<Op>}};
}

constexpr auto kEntries =
    join(numeric_entries<Add>("add"), bool_entry<Or>("add"), numeric_entries<Sub>("sub"), numeric_entries<Mul>("mul"),
         bool_entry<And>("mul"), float_entries<Div>("div"), entries<Div, complex64, complex128>("div"),
         numeric_entries<Neg>("neg"), entries<Conj, complex64, complex128>("conj"),
         entries<Complex, float, double>("complex"), integer_entries<Relu>("relu"), float_entries<Relu>("relu"),
         integer_entries<ReluBackward>("relu_backward"), float_entries<ReluBackward>("relu_backward"),
         numeric_entries<Where>("where"), bool_entry<Where<uint8_t>>("where"));

std::span<const KernelEntry> arithmetic_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(arithmetic_entries);
std::span<const KernelEntry> arithmetic_kernels() { return HWY_DYNAMIC_DISPATCH(arithmetic_entries)(); }
}  // namespace vellum::cpu
#endif
