#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/matmul.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/gemm-inl.h"
#include "vellum/backends/cpu/kernels/half-inl.h"
#include "vellum/backends/cpu/kernels/onednn_product.h"
#include "vellum/backends/cpu/kernels/product.h"
#include "vellum/backends/cpu/kernels/wrapping.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

using MakeProduct = Product (*)(const KernelContext&);

// Small products are spread over threads by batch, large ones within each.
template <typename T>
void run_own(const Product& p, void* workspace) {
  const Gemm& g = p.first;
  if (p.batch == 1) return multiply_matrices<T>(g, workspace);
  const bool splits =
      is_small_product(g.m, g.n, g.k, g.b_column != 1) && gemm_workspace<T>(g.m, g.n, g.k, g.b_row, g.b_column) == 0;
  const int64_t grain = splits ? std::max<int64_t>(1, 65536 / std::max<int64_t>(1, g.m * g.n * g.k)) : p.batch;
  parallel_for(0, p.batch, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) multiply_matrices<T>(p.at(i, sizeof(T)), workspace);
  });
}

template <typename T, MakeProduct kMake>
size_t own_workspace(const KernelContext& context) noexcept {
  const Gemm g = kMake(context).first;
  return gemm_workspace<T>(g.m, g.n, g.k, g.b_row, g.b_column);
}

template <typename T, MakeProduct kMake>
Status run_own_product(const KernelContext& context) noexcept {
  run_own<T>(kMake(context), context.workspace);
  return ok_status();
}

// --- float32 and bfloat16: oneDNN beyond small products. plan_state[0] is its prepared product, 0 for own kernels.

template <DType kType, MakeProduct kMake>
Status plan_onednn(KernelContext& context) noexcept {
  const Gemm g = kMake(context).first;
  const bool own = is_small_product(g.m, g.n, g.k, g.b_column != 1) || g.m == 0 || g.n == 0 || g.k == 0;
  context.plan_state[0] = own ? 0 : reinterpret_cast<uint64_t>(find_onednn_product(kType, g));
  return ok_status();
}

HWY_INLINE OneDnnProduct* planned(const KernelContext& context) {
  return reinterpret_cast<OneDnnProduct*>(context.plan_state[0]);
}

Status run_planned(OneDnnProduct& prepared, const Product& p, int64_t bytes, void* scratch) {
  for (int64_t i = 0; i < p.batch; ++i)
    if (const Status s = run_onednn_product(prepared, p.at(i, bytes), scratch); !s.ok()) return s;
  return ok_status();
}

template <MakeProduct kMake>
size_t float_workspace(const KernelContext& context) noexcept {
  if (const OneDnnProduct* prepared = planned(context)) return onednn_scratch(*prepared);
  return own_workspace<float, kMake>(context);
}

template <MakeProduct kMake>
Status run_float(const KernelContext& context) noexcept {
  const Product p = kMake(context);
  if (OneDnnProduct* prepared = planned(context)) return run_planned(*prepared, p, sizeof(float), context.workspace);
  run_own<float>(p, context.workspace);
  return ok_status();
}

// --- Halves: as floats in scratch memory, rounded once.

template <MakeProduct kMake>
Status plan_half(KernelContext& context) noexcept {
  context.plan_state[0] = 0;
  return ok_status();
}

HWY_INLINE int64_t half_floats(const Gemm& g) { return g.m * g.k + g.k * g.n + g.m * g.n + g.n; }
HWY_INLINE size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

template <MakeProduct kMake>
size_t half_workspace(const KernelContext& context) noexcept {
  if (const OneDnnProduct* prepared = planned(context)) return onednn_scratch(*prepared);
  const Gemm g = kMake(context).first;
  const bool transposed = g.b_row == 1 && g.b_column != 1;
  const size_t packing = gemm_workspace<float>(g.m, g.n, g.k, transposed ? 1 : g.n, transposed ? g.k : 1);
  return aligned(static_cast<size_t>(half_floats(g)) * sizeof(float)) + packing;
}

// Rows of halves at any strides as row-major floats.
template <typename H>
void widen(const H* from, int64_t rows, int64_t columns, int64_t row, int64_t column, float* to) {
  parallel_for(0, rows, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, columns)),
               [&](int64_t r, int64_t last) HWY_ATTR {
                 for (; r < last; ++r) {
                   const int64_t stride = column * static_cast<int64_t>(sizeof(H));
                   load_half<H>(from + r * row, stride, to + r * columns, columns);
                 }
               });
}

template <typename H>
void run_widened(const Gemm& half, float* scratch) {
  Gemm g = half;
  float *a = scratch, *b = a + g.m * g.k, *c = b + g.k * g.n, *bias = c + g.m * g.n;
  void* packing = reinterpret_cast<char*>(scratch) + aligned(static_cast<size_t>(half_floats(g)) * sizeof(float));
  widen(static_cast<const H*>(half.a), g.m, g.k, g.a_row, g.a_column, a);
  const bool transposed = g.b_row == 1 && g.b_column != 1;
  if (transposed)
    widen(static_cast<const H*>(half.b), g.n, g.k, g.b_column, g.b_row, b);
  else
    widen(static_cast<const H*>(half.b), g.k, g.n, g.b_row, g.b_column, b);
  if (half.bias) to_floats(static_cast<const H*>(half.bias), bias, g.n);
  g.a = a;
  g.a_row = g.k;
  g.a_column = 1;
  g.b = b;
  g.b_row = transposed ? 1 : g.n;
  g.b_column = transposed ? g.k : 1;
  g.c = c;
  g.bias = half.bias ? bias : nullptr;
  multiply_matrices<float>(g, packing);
  from_floats(c, static_cast<H*>(half.c), g.m * g.n);
}

template <typename H, MakeProduct kMake>
Status run_half(const KernelContext& context) noexcept {
  const Product p = kMake(context);
  if (OneDnnProduct* prepared = planned(context)) return run_planned(*prepared, p, sizeof(H), context.workspace);
  for (int64_t i = 0; i < p.batch; ++i) run_widened<H>(p.at(i, sizeof(H)), static_cast<float*>(context.workspace));
  return ok_status();
}

// --- Entries.

template <MakeProduct kMake, bool kContiguous, typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> own_entries(std::string_view name) {
  return {KernelEntry{name, dtype_of<Ts>, run_own_product<Wrapping<Ts>, kMake>, nullptr,
                      own_workspace<Wrapping<Ts>, kMake>, kContiguous}...};
}

template <MakeProduct kMake, bool kContiguous>
constexpr std::array<KernelEntry, 3> float_entries(std::string_view name) {
  return {
      KernelEntry{name, kFloat32, run_float<kMake>, plan_onednn<kFloat32, kMake>, float_workspace<kMake>, kContiguous},
      KernelEntry{name, kBFloat16, run_half<bfloat16, kMake>, plan_onednn<kBFloat16, kMake>, half_workspace<kMake>,
                  kContiguous},
      KernelEntry{name, kFloat16, run_half<float16, kMake>, plan_half<kMake>, half_workspace<kMake>, kContiguous}};
}

constexpr auto kEntries =
    join(float_entries<matmul_product, false>("matmul"), float_entries<linear_product, true>("linear"),
         own_entries<matmul_product, false, uint8_t, int8_t, int16_t, int32_t, int64_t, double, complex64, complex128>(
             "matmul"),
         own_entries<linear_product, true, double, complex64, complex128>("linear"));

std::span<const KernelEntry> matmul_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(matmul_entries);
std::span<const KernelEntry> matmul_kernels() { return HWY_DYNAMIC_DISPATCH(matmul_entries)(); }
}  // namespace vellum::cpu
#endif
