#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/moments.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/plain_norm.h"
#include "vellum/backends/cpu/kernels/reduce-inl.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

template <typename T>
using RealOut = std::conditional_t<kIsComplex<T>, typename LaneOf<WorkOf<T>>::type, T>;

// --- var, std. A block's mean is found first and its squares are taken about that; blocks meet by the rule of Chan,
// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).

struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: the sum of (x - mean)^2
};

template <typename T>
struct MomentsFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = typename LaneOf<Work>::type;
  using Total = Moments;
  using Out = RealOut<T>;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;

  double correction;
  bool root;

  static Moments identity() { return {}; }
  static HWY_INLINE Moments combine(const Moments& a, const Moments& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return {count, a.mean + apart * (b.count / count),
            a.squares + b.squares + apart * apart * (a.count * b.count / count)};
  }
  // From the number of values and the sums of their differences to a shift, and of the squares of those.
  static HWY_INLINE Moments about(double shift, double count, double differences, double squares) {
    return {count, shift + differences / count, squares - differences * differences / count};
  }

  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Moments* parts) {
    Lane difference[kFoldBlock * kParts], square[kFoldBlock * kParts], shift[2];
    double sums[kParts] = {}, differences[kParts] = {}, squares[kParts] = {};
    const double count = static_cast<double>(n / kParts);
    sum_lanes<kParts>(x, n, sums);
    for (int j = 0; j < 2; ++j) shift[j] = Lane(sums[j % kParts] / count);
    for (int64_t i = 0; i < n; ++i) {
      const Lane apart = x[i] - (kParts == 2 && i % 2 ? shift[1] : shift[0]);
      difference[i] = apart;
      square[i] = apart * apart;
    }
    sum_lanes<kParts>(difference, n, differences);
    sum_lanes<kParts>(square, n, squares);
    for (int j = 0; j < kParts; ++j)
      parts[j] = combine(parts[j], about(static_cast<double>(shift[j]), count, differences[j], squares[j]));
  }

  template <typename RowAt>
  static HWY_INLINE void fold_columns(const RowAt& row_at, int64_t rows, int64_t n, Moments* totals) {
    Lane shift[kColumns * kParts], differences[kColumns * kParts], squares[kColumns * kParts];
    for (Lane* lanes : {shift, differences, squares}) std::fill_n(lanes, n, Lane(0));
    for (int64_t k = 0; k < rows; ++k) {
      const Lane* x = row_at(k);
      for (int64_t j = 0; j < n; ++j) shift[j] += x[j];
    }
    for (int64_t j = 0; j < n; ++j) shift[j] /= Lane(rows);
    for (int64_t k = 0; k < rows; ++k) {
      const Lane* x = row_at(k);
      for (int64_t j = 0; j < n; ++j) {
        const Lane apart = x[j] - shift[j];
        differences[j] += apart;
        squares[j] += apart * apart;
      }
    }
    const double count = static_cast<double>(rows);
    for (int64_t j = 0; j < n; ++j) totals[j] = combine(totals[j], about(shift[j], count, differences[j], squares[j]));
  }

  HWY_INLINE Out finish(const Moments* parts, int64_t count) const {
    const double squares = parts[0].squares + (kParts == 2 ? parts[kParts - 1].squares : 0);
    const double variance = squares / std::max(0.0, static_cast<double>(count) - correction);
    return Out(typename LaneOf<Work>::type(root ? std::sqrt(variance) : variance));
  }
};

template <typename T, bool kRoot>
Status run_var(const KernelContext& context) noexcept {
  return run_reduction(context, MomentsFold<T>{context.attributes<VarAttrs>().correction, kRoot});
}

// --- logsumexp: blocks' largest elements and the sums of the exponentials of the distances to them.

struct Exponentials {
  double top = -std::numeric_limits<double>::infinity();
  double sum = 0;
};

template <typename T>
struct LogsumexpFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = Work;
  using Total = Exponentials;
  using Out = T;
  static constexpr int kParts = 1;
  static constexpr Lane kInfinity = std::numeric_limits<Lane>::infinity();

  static Exponentials identity() { return {}; }
  static HWY_INLINE Exponentials combine(const Exponentials& a, const Exponentials& b) {
    if (b.sum == 0 || a.top != a.top) return a;
    if (a.sum == 0 || b.top != b.top) return b;
    if (a.top == b.top) return {a.top, a.sum + b.sum};
    return a.top > b.top ? Exponentials{a.top, a.sum + b.sum * std::exp(b.top - a.top)}
                         : Exponentials{b.top, b.sum + a.sum * std::exp(a.top - b.top)};
  }
  // Infinity, and NaN, need no sum; of -infinities there is none.
  static HWY_INLINE Exponentials of(Lane top, double sum) {
    if (top == -kInfinity) return {};
    return {static_cast<double>(top), top < kInfinity ? sum : 1.0};
  }

  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Exponentials* parts) {
    namespace hn = hwy::HWY_NAMESPACE;
    HWY_ALIGN Lane work[kFoldBlock];
    const Lane top = max_lanes(x, n, -kInfinity);
    double sum = 0;
    if (top > -kInfinity && top < kInfinity) {
      map_lanes(x, work, n, [top](auto d, auto v) HWY_ATTR { return exp_lanes(d, hn::Sub(v, hn::Set(d, top))); });
      sum_lanes<1>(work, n, &sum);
    }
    parts[0] = combine(parts[0], of(top, sum));
  }

  template <typename RowAt>
  static HWY_INLINE void fold_columns(const RowAt& row_at, int64_t rows, int64_t n, Exponentials* totals) {
    HWY_ALIGN Lane work[kColumns];
    Lane top[kColumns], shift[kColumns], sum[kColumns];
    std::fill_n(top, n, -kInfinity);
    std::fill_n(sum, n, Lane(0));
    for (int64_t k = 0; k < rows; ++k) {
      const Lane* x = row_at(k);
      for (int64_t j = 0; j < n; ++j) top[j] = ((x[j] > top[j]) | (x[j] != x[j])) ? x[j] : top[j];
    }
    for (int64_t j = 0; j < n; ++j) shift[j] = std::abs(top[j]) < kInfinity ? top[j] : Lane(0);
    for (int64_t k = 0; k < rows; ++k) {
      const Lane* x = row_at(k);
      for (int64_t j = 0; j < n; ++j) work[j] = x[j] - shift[j];
      map_lanes(work, work, n, [](auto d, auto v) HWY_ATTR { return exp_lanes(d, v); });
      for (int64_t j = 0; j < n; ++j) sum[j] += work[j];
    }
    for (int64_t j = 0; j < n; ++j) totals[j] = combine(totals[j], of(top[j], sum[j]));
  }

  static HWY_INLINE T finish(const Exponentials* parts, int64_t) {
    return T(
        Lane(parts[0].sum == 0 ? -std::numeric_limits<double>::infinity() : parts[0].top + std::log(parts[0].sum)));
  }
};

template <typename T>
Status run_logsumexp(const KernelContext& context) noexcept {
  return run_reduction(context, LogsumexpFold<T>{});
}

// --- vector_norm: order 2 here, the others without vectors. The parts of a complex number count as two numbers.

template <typename T>
struct EuclideanFold {
  using Element = T;
  using Work = WorkOf<T>;
  using Lane = typename LaneOf<Work>::type;
  using Partial = Lane;
  using Total = double;
  using Out = RealOut<T>;
  static constexpr int kParts = kIsComplex<T> ? 2 : 1;

  static Partial lane_identity() { return Partial(0); }
  static Total identity() { return 0; }
  static HWY_INLINE Partial fold(Partial a, Lane x) { return a + x * x; }
  static HWY_INLINE Total combine(Total a, Total x) { return a + x; }
  static HWY_INLINE void fold_row(const Lane* x, int64_t n, Total* parts) {
    Lane square[kFoldBlock * kParts];
    for (int64_t i = 0; i < n; ++i) square[i] = x[i] * x[i];
    sum_lanes<1>(square, n, parts);
  }
  static HWY_INLINE Out finish(const Total* parts, int64_t) {
    return Out(Lane(std::sqrt(parts[0] + (kParts == 2 ? parts[kParts - 1] : 0))));
  }
};

template <typename T>
Status run_vector_norm(const KernelContext& context) noexcept {
  if (context.attributes<VectorNormAttrs>().ord != 2) return run_plain_norm(context);
  return run_reduction(context, EuclideanFold<T>{});
}

template <typename... Ts>
constexpr auto real_entries() {
  return std::array{KernelEntry{"logsumexp", dtype_of<Ts>, run_logsumexp<Ts>}...};
}
template <typename... Ts>
constexpr auto real_and_complex_entries() {
  return std::array{KernelEntry{"var", dtype_of<Ts>, run_var<Ts, false>}...,
                    KernelEntry{"std", dtype_of<Ts>, run_var<Ts, true>}...,
                    KernelEntry{"vector_norm", dtype_of<Ts>, run_vector_norm<Ts>}...};
}

constexpr auto kEntries = join(real_entries<float16, bfloat16, float, double>(),
                               real_and_complex_entries<float16, bfloat16, float, double, complex64, complex128>());

std::span<const KernelEntry> moments_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(moments_entries);
std::span<const KernelEntry> moments_kernels() { return HWY_DYNAMIC_DISPATCH(moments_entries)(); }
}  // namespace vellum::cpu
#endif
