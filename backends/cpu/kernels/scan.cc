#include <algorithm>
#include <array>

#include "vellum/backends/cpu/kernels/complex_math.h"
#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

namespace vellum::cpu {
namespace {

constexpr int64_t kColumns = 256;  // that are scanned side by side
constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread

// What a running sum or product is kept in; int64 wraps.
template <typename T>
struct RunningOf {
  using type = double;
};
template <>
struct RunningOf<int64_t> {
  using type = uint64_t;
};
template <typename R>
struct RunningOf<std::complex<R>> {
  using type = std::complex<double>;
};

template <typename T>
T rounded(typename RunningOf<T>::type value) {
  if constexpr (sizeof(T) == 2)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

struct Sum {
  static constexpr int kIdentity = 0;
  template <typename R>
  static void take(R& sum, R x) {
    sum += x;
  }
};
struct Product {
  static constexpr int kIdentity = 1;
  template <typename R>
  static void take(R& product, R x) {
    product = multiply(product, x);
  }
};

// `columns` lines side by side; element k of each is at k * step.
template <typename Fold, typename T>
void scan_columns(const T* x, T* out, int64_t n, int64_t step, int64_t columns) {
  using Running = typename RunningOf<T>::type;
  Running values[kColumns];
  std::fill_n(values, columns, Running(Fold::kIdentity));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      Fold::take(values[j], static_cast<Running>(x[k * step + j]));
      out[k * step + j] = rounded<T>(values[j]);
    }
}

template <typename Fold, typename T>
void scan_row(const T* x, T* out, int64_t n, int64_t step) {
  using Running = typename RunningOf<T>::type;
  Running value(Fold::kIdentity);
  for (int64_t k = 0; k < n; ++k) {
    Fold::take(value, static_cast<Running>(x[k * step]));
    out[k * step] = rounded<T>(value);
  }
}

template <typename Fold, typename T>
Status run_scan(const KernelContext& context) noexcept {
  const auto& a = context.attributes<ScanAttrs>();
  const TensorArg& x = context.inputs[0];
  if (x.numel == 0) return ok_status();
  const DimSplit s(x.sizes, x.rank, a.dim.dim);
  const T* from = x.as<const T>();
  T* to = context.outputs[0].as<T>();
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  const int64_t start = a.reverse ? (s.n - 1) * s.inner : 0, step = a.reverse ? -s.inner : s.inner;
  const int64_t grain = std::max<int64_t>(1, kGrain / (s.n * std::min(kColumns, s.inner)));
  parallel_for(0, s.outer * blocks, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % blocks * kColumns, at = i / blocks * s.n * s.inner + column + start;
      if (s.inner == 1)
        scan_row<Fold>(from + at, to + at, s.n, step);
      else
        scan_columns<Fold>(from + at, to + at, s.n, step, std::min(kColumns, s.inner - column));
    }
  });
  return ok_status();
}

template <typename Fold, typename... Ts>
constexpr auto entries_of(std::string_view name) {
  return std::array{KernelEntry{name, dtype_of<Ts>, run_scan<Fold, Ts>, nullptr, nullptr, true}...};
}

template <typename Fold>
constexpr auto all_entries(std::string_view name) {
  return entries_of<Fold, int64_t, float16, bfloat16, float, double, complex64, complex128>(name);
}

constexpr auto kEntries = join(all_entries<Sum>("cumsum"), all_entries<Product>("cumprod"));

}  // namespace

std::span<const KernelEntry> scan_kernels() { return kEntries; }

}  // namespace vellum::cpu
