#include <algorithm>
#include <array>

#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

namespace vellum::cpu {
namespace {

constexpr int64_t kColumns = 256;  // that are summed side by side
constexpr int64_t kGrain = 16384;  // elements that are not worth a second thread

// What a running sum is kept in; int64 wraps.
template <typename T>
struct SumOf {
  using type = double;
};
template <>
struct SumOf<int64_t> {
  using type = uint64_t;
};
template <typename R>
struct SumOf<std::complex<R>> {
  using type = std::complex<double>;
};

template <typename T>
T rounded(typename SumOf<T>::type sum) {
  if constexpr (sizeof(T) == 2)
    return T(static_cast<float>(sum));
  else
    return static_cast<T>(sum);
}

// `columns` lines side by side; element k of each is at k * step.
template <typename T>
void scan_columns(const T* x, T* out, int64_t n, int64_t step, int64_t columns) {
  typename SumOf<T>::type sums[kColumns] = {};
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      sums[j] += static_cast<typename SumOf<T>::type>(x[k * step + j]);
      out[k * step + j] = rounded<T>(sums[j]);
    }
}

template <typename T>
void scan_row(const T* x, T* out, int64_t n, int64_t step) {
  typename SumOf<T>::type sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    sum += static_cast<typename SumOf<T>::type>(x[k * step]);
    out[k * step] = rounded<T>(sum);
  }
}

template <typename T>
Status run_cumsum(const KernelContext& context) noexcept {
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
        scan_row(from + at, to + at, s.n, step);
      else
        scan_columns(from + at, to + at, s.n, step, std::min(kColumns, s.inner - column));
    }
  });
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{KernelEntry{"cumsum", dtype_of<Ts>, run_cumsum<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = entries_of<int64_t, float16, bfloat16, float, double, complex64, complex128>();

}  // namespace

std::span<const KernelEntry> scan_kernels() { return kEntries; }

}  // namespace vellum::cpu
