#include <cmath>
#include <complex>

#include "vellum/backends/cpu/kernels/targets.h"
// Highway reads the choice of targets.
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/tensor/ops/attributes.h"

// Complex functions call the C library for every element: nothing to vectorise, so this family is compiled once. They
// are computed in double and rounded once.

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {
namespace {

using Wide = complex128;

// One or two operands.
template <typename T, Wide (*f)(Wide)>
struct Unary {
  using Out = T;
  using In = Types<T>;

  explicit Unary(const KernelContext&) {}
  T operator()(T z) const { return T(f(Wide(z))); }
};
template <typename T, Wide (*f)(Wide, Wide)>
struct Binary {
  using Out = T;
  using In = Types<T, T>;

  explicit Binary(const KernelContext&) {}
  T operator()(T a, T b) const { return T(f(Wide(a), Wide(b))); }
};
// With a real result.
template <typename T, double (*f)(Wide)>
struct Measure {
  using Out = typename T::value_type;
  using In = Types<T>;

  explicit Measure(const KernelContext&) {}
  Out operator()(T z) const { return static_cast<Out>(f(Wide(z))); }
};

Wide exp(Wide z) { return std::exp(z); }
Wide log(Wide z) { return std::log(z); }
Wide sqrt(Wide z) { return std::sqrt(z); }
Wide sin(Wide z) { return std::sin(z); }
Wide cos(Wide z) { return std::cos(z); }
Wide tanh(Wide z) { return std::tanh(z); }
Wide expm1(Wide z) {
  const double half = std::sin(z.imag() / 2), growth = std::expm1(z.real());
  return {growth * std::cos(z.imag()) - 2 * half * half, (growth + 1) * std::sin(z.imag())};
}
// log|1 + z| without the cancellation near 0.
Wide log1p(Wide z) {
  const double x = z.real(), y = z.imag();
  const double magnitude =
      std::abs(x) < 0.5 && std::abs(y) < 0.5 ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(1 + x, y));
  return {magnitude, std::atan2(y, 1 + x)};
}
Wide log2(Wide z) { return std::log(z) / 0.69314718055994531; }
Wide reciprocal(Wide z) { return divide(Wide(1), z); }
Wide rsqrt(Wide z) { return reciprocal(std::sqrt(z)); }
// By the exponential that does not overflow.
Wide sigmoid(Wide z) {
  const Wide e = std::exp(z.real() < 0 ? z : -z);
  return divide(z.real() < 0 ? e : Wide(1), 1.0 + e);
}
Wide square(Wide z) { return multiply(z, z); }
double abs(Wide z) { return std::hypot(z.real(), z.imag()); }
double angle(Wide z) { return std::atan2(z.imag(), z.real()); }
Wide sgn(Wide z) {
  const double magnitude = abs(z);
  return magnitude == 0 ? Wide(0) : Wide(z.real() / magnitude, z.imag() / magnitude);
}
Wide pow(Wide base, Wide exponent) {
  if (exponent == Wide(0)) return 1;
  return base == Wide(0) ? Wide(0) : std::pow(base, exponent);
}
Wide tanh_backward(Wide g, Wide y) { return multiply(g, std::conj(1.0 - multiply(y, y))); }
Wide sigmoid_backward(Wide g, Wide y) { return multiply(g, std::conj(multiply(y, 1.0 - y))); }
Wide lerp(Wide start, Wide end, Wide weight) {
  const Wide difference = end - start;
  return std::abs(weight) < 0.5 ? start + multiply(weight, difference) : end - multiply(difference, 1.0 - weight);
}

template <typename T>
struct Lerp {
  using Out = T;
  using In = Types<T, T>;
  Wide weight;

  explicit Lerp(const KernelContext& context) : weight(context.attributes<LerpAttrs>().weight.value()) {}
  T operator()(T start, T end) const { return T(lerp(Wide(start), Wide(end), weight)); }
};
template <typename T>
struct LerpTensor {
  using Out = T;
  using In = Types<T, T, T>;

  explicit LerpTensor(const KernelContext&) {}
  T operator()(T start, T end, T weight) const { return T(lerp(Wide(start), Wide(end), Wide(weight))); }
};
template <typename T, Wide (*combine)(Wide, Wide)>
struct AddCombined {
  using Out = T;
  using In = Types<T, T, T>;
  Wide value;

  explicit AddCombined(const KernelContext& context) : value(context.attributes<FactorAttrs>().value.value()) {}
  T operator()(T self, T a, T b) const { return T(Wide(self) + combine(multiply(value, Wide(a)), Wide(b))); }
};

// Two planes in polar coordinates.
template <typename R>
struct Polar {
  using Out = std::complex<R>;
  using In = Types<R, R>;

  explicit Polar(const KernelContext&) {}
  Out operator()(R magnitude, R angle) const { return Out(magnitude * std::cos(angle), magnitude * std::sin(angle)); }
};

template <Wide (*f)(Wide)>
constexpr auto unary_entries(std::string_view name) {
  return std::array{KernelEntry{name, kComplex64, run_op<Unary<complex64, f>>},
                    KernelEntry{name, kComplex128, run_op<Unary<complex128, f>>}};
}
template <Wide (*f)(Wide, Wide)>
constexpr auto binary_entries(std::string_view name) {
  return std::array{KernelEntry{name, kComplex64, run_op<Binary<complex64, f>>},
                    KernelEntry{name, kComplex128, run_op<Binary<complex128, f>>}};
}
template <double (*f)(Wide)>
constexpr auto measure_entries(std::string_view name) {
  return std::array{KernelEntry{name, kComplex64, run_op<Measure<complex64, f>>},
                    KernelEntry{name, kComplex128, run_op<Measure<complex128, f>>}};
}
template <Wide (*combine)(Wide, Wide)>
constexpr auto add_entries(std::string_view name) {
  return std::array{KernelEntry{name, kComplex64, run_op<AddCombined<complex64, combine>>},
                    KernelEntry{name, kComplex128, run_op<AddCombined<complex128, combine>>}};
}

constexpr auto kEntries = join(
    unary_entries<exp>("exp"), unary_entries<expm1>("expm1"), unary_entries<log>("log"), unary_entries<log1p>("log1p"),
    unary_entries<log2>("log2"), unary_entries<sqrt>("sqrt"), unary_entries<rsqrt>("rsqrt"),
    unary_entries<reciprocal>("reciprocal"), unary_entries<square>("square"), unary_entries<sin>("sin"),
    unary_entries<cos>("cos"), unary_entries<tanh>("tanh"), binary_entries<tanh_backward>("tanh_backward"),
    unary_entries<sigmoid>("sigmoid"), binary_entries<sigmoid_backward>("sigmoid_backward"),
    measure_entries<abs>("abs"), measure_entries<angle>("angle"), unary_entries<sgn>("sgn"), binary_entries<pow>("pow"),
    entries<Lerp, complex64, complex128>("lerp"), entries<LerpTensor, complex64, complex128>("lerp_tensor"),
    add_entries<multiply<double>>("addcmul"), add_entries<divide<double>>("addcdiv"),
    entries<Polar, float, double>("polar"));

}  // namespace
}  // namespace HWY_NAMESPACE

std::span<const KernelEntry> complex_function_kernels() { return HWY_NAMESPACE::kEntries; }

}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();
