// Reductions that are rare or short: compiled once, for the instruction set that every machine has.
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes.
#include <array>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/folds-inl.h"
#include "vellum/backends/cpu/kernels/plain_norm.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

constexpr int kChains = 8;  // of operations that do not wait for each other

// Floats are multiplied in double, integers in 64 bits, where products wrap.
template <typename T>
struct ProductFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = Work;
  using Total = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                   std::conditional_t<kIsComplex<T>, std::complex<double>, double>>;
  using Partial = Total;
  using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static constexpr int kParts = 1;

  static Total lane_identity() { return Total(1); }
  static Total identity() { return Total(1); }
  static Total fold(Total a, Lane x) { return multiply(a, Total(x)); }
  static Total combine(Total a, Total x) { return multiply(a, x); }
  static void fold_row(const Lane* x, int64_t n, Total* parts) {
    Total chains[kChains];
    std::fill_n(chains, kChains, Total(1));
    int64_t i = 0;
    for (; i + kChains <= n; i += kChains)
      for (int j = 0; j < kChains; ++j) chains[j] = fold(chains[j], x[i + j]);
    for (; i < n; ++i) chains[0] = fold(chains[0], x[i]);
    for (const Total chain : chains) parts[0] = multiply(parts[0], chain);
  }
  static Out finish(const Total* parts, int64_t) {
    if constexpr (std::is_integral_v<T> || kIsComplex<T>)
      return Out(parts[0]);
    else
      return T(Work(parts[0]));
  }
};

// Whether a bool is true: any, or all.
template <bool kAll>
struct TruthFold {
  using Element = bool;
  using Work = uint8_t;
  using Lane = uint8_t;
  using Partial = uint8_t;
  using Total = uint8_t;
  using Out = uint8_t;  // which is how a bool lies in memory
  static constexpr int kParts = 1;

  static Total lane_identity() { return kAll; }
  static Total identity() { return kAll; }
  static Total fold(Total a, Lane x) { return kAll ? a & x : a | x; }
  static Total combine(Total a, Total x) { return fold(a, x); }
  static void fold_row(const Lane* x, int64_t n, Total* parts) {
    Total value = kAll;
    for (int64_t i = 0; i < n; ++i) value = fold(value, x[i]);
    parts[0] = fold(parts[0], value);
  }
  static Out finish(const Total* parts, int64_t) { return parts[0]; }
};

enum class NormKind { kCount, kSum, kPower, kLargest, kSmallest };

// Magnitudes are taken and folded in double.
template <typename T>
struct NormFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = Work;
  using Total = double;
  using Out = std::conditional_t<std::is_same_v<T, complex64>, float, std::conditional_t<kIsComplex<T>, double, T>>;
  static constexpr int kParts = 1;

  NormKind kind;
  double p;

  double identity() const { return kind == NormKind::kSmallest ? std::numeric_limits<double>::infinity() : 0.0; }
  double combine(double a, double x) const {
    if (kind == NormKind::kLargest) return x > a || x != x ? x : a;
    if (kind == NormKind::kSmallest) return x < a || x != x ? x : a;
    return a + x;
  }
  void fold_row(const Lane* x, int64_t n, double* parts) const {
    with_term([&](const auto& term) {
      double chains[kChains];
      std::fill_n(chains, kChains, identity());
      int64_t i = 0;
      for (; i + kChains <= n; i += kChains)
        for (int j = 0; j < kChains; ++j) chains[j] = term(chains[j], magnitude(x[i + j]));
      for (; i < n; ++i) chains[0] = term(chains[0], magnitude(x[i]));
      for (const double chain : chains) parts[0] = combine(parts[0], chain);
    });
  }
  template <typename RowAt>
  void fold_columns(const RowAt& row_at, int64_t rows, int64_t n, double* totals) const {
    with_term([&](const auto& term) {
      for (int64_t k = 0; k < rows; ++k) {
        const Lane* x = row_at(k);
        for (int64_t j = 0; j < n; ++j) totals[j] = term(totals[j], magnitude(x[j]));
      }
    });
  }
  Out finish(const double* parts, int64_t) const {
    const double value = kind == NormKind::kPower ? std::pow(parts[0], 1 / p) : parts[0];
    if constexpr (sizeof(Out) == 8)
      return value;
    else
      return Out(static_cast<float>(value));
  }

 private:
  // Calls body with the function that a magnitude meets a total by.
  template <typename Body>
  void with_term(const Body& body) const {
    switch (kind) {
      case NormKind::kCount:
        return body([](double a, double size) { return a + (size != 0); });
      case NormKind::kSum:
        return body([](double a, double size) { return a + size; });
      case NormKind::kPower:
        return body([this](double a, double size) { return a + std::pow(size, p); });
      default:
        return body([this](double a, double size) { return combine(a, size); });
    }
  }
  static double magnitude(Lane x) {
    if constexpr (kIsComplex<T>)
      return std::abs(std::complex<double>(x));
    else
      return std::abs(static_cast<double>(x));
  }
};

template <typename T>
Status run_norm(const KernelContext& context) noexcept {
  const double p = context.attributes<VectorNormAttrs>().ord;
  const bool infinite = std::isinf(p);
  const NormKind kind = p == 0     ? NormKind::kCount
                        : p == 1   ? NormKind::kSum
                        : infinite ? (p > 0 ? NormKind::kLargest : NormKind::kSmallest)
                                   : NormKind::kPower;
  return run_reduction(context, NormFold<T>{kind, p});
}

template <bool kAll>
Status run_truth(const KernelContext& context) noexcept {
  return run_reduction(context, TruthFold<kAll>{});
}

template <typename T>
Status run_product(const KernelContext& context) noexcept {
  return run_reduction(context, ProductFold<T>{});
}

template <typename... Ts>
constexpr auto product_entries() {
  return std::array{KernelEntry{"prod", dtype_of<Ts>, run_product<Ts>}...};
}

constexpr auto kEntries =
    join(std::array{KernelEntry{"any", kBool, run_truth<false>}, KernelEntry{"all", kBool, run_truth<true>}},
         product_entries<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double, complex64,
                         complex128>(),
         sum_entries<uint8_t, int8_t, int16_t, int32_t>(), extremum_entries<bool, uint8_t, int8_t, int16_t, int32_t>());

}  // namespace HWY_NAMESPACE

std::span<const KernelEntry> plain_reduce_kernels() { return HWY_NAMESPACE::kEntries; }

Status run_plain_norm(const KernelContext& context) noexcept {
  return visit_dtype(context.compute, [&](auto tag) -> Status {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return {StatusCode::kUnsupported, "a norm of integers"};
    else
      return HWY_NAMESPACE::run_norm<T>(context);
  });
}

}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();
