#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/reduce.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/folds-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

template <typename... Ts>
constexpr auto mean_entries() {
  return std::array{KernelEntry{"mean", dtype_of<Ts>, run_mean<Ts>}...};
}

// Counts are sums of bool, and int64 is what indices are; the other integers are in reduce_plain.cc.
constexpr auto kEntries = join(sum_entries<bool, int64_t, float16, bfloat16, float, double, complex64, complex128>(),
                               mean_entries<float16, bfloat16, float, double, complex64, complex128>(),
                               extremum_entries<int64_t, float16, bfloat16, float, double>());

std::span<const KernelEntry> reduce_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(reduce_entries);
std::span<const KernelEntry> reduce_kernels() { return HWY_DYNAMIC_DISPATCH(reduce_entries)(); }
}  // namespace vellum::cpu
#endif
