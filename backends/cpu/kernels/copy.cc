#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/copy.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/convert.h"
#include "vellum/backends/cpu/kernels/copy_bits.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// Half types convert by way of float.
template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
using Work = std::conditional_t<kIsHalf<T>, float, T>;

template <typename From, typename To>
void convert_block(const void*, void* out, const void* const* in, int64_t n, unsigned) noexcept {
  const From* from = static_cast<const From*>(in[0]);
  To* to = static_cast<To*>(out);
  VELLUM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
}

template <typename T>
constexpr ConvertIn loader() {
  if constexpr (kIsHalf<T>)
    return load_half<T>;
  else
    return nullptr;
}

template <typename T>
constexpr ConvertOut storer() {
  if constexpr (kIsHalf<T>)
    return store_half<T>;
  else
    return nullptr;
}

template <typename From, typename To>
constexpr ElementLoop conversion() {
  return {convert_block<Work<From>, Work<To>>,    nullptr,          1,           {sizeof(To), sizeof(From)},
          {sizeof(Work<To>), sizeof(Work<From>)}, {loader<From>()}, storer<To>()};
}

// From one type to each of the twelve, in the order of DType.
template <typename From>
constexpr ElementLoop kConversions[kDTypeCount] = {
    conversion<From, bool>(),    conversion<From, uint8_t>(),   conversion<From, int8_t>(),
    conversion<From, int16_t>(), conversion<From, int32_t>(),   conversion<From, int64_t>(),
    conversion<From, float16>(), conversion<From, bfloat16>(),  conversion<From, float>(),
    conversion<From, double>(),  conversion<From, complex64>(), conversion<From, complex128>()};

template <typename From>
Status run_copy(const KernelContext& context) noexcept {
  const DType to = context.outputs[0].dtype;
  if (to == dtype_of<From>)
    copy_bits(*context.loop, sizeof(From));
  else
    run_elements(kConversions<From>[static_cast<int>(to)], *context.loop);
  return ok_status();
}

// A real number fills integers as a conversion would.
template <typename T>
T fill_value(const Scalar& value) {
  if constexpr (std::is_integral_v<T>)
    if (value.kind() > Scalar::Kind::kInteger) return convert<T>(value.real());
  return value.to<T>();
}

template <typename T>
struct Fill {
  using Out = T;
  using In = Types<>;
  T value;

  explicit Fill(const KernelContext& context) : value(fill_value<T>(context.attributes<FillAttrs>().value)) {}
  HWY_INLINE void block(T* out, const void* const*, int64_t n, unsigned) const {
    const T one = value;
    for (int64_t i = 0; i < n; ++i) out[i] = one;
  }
};

template <typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> copy_entries_of() {
  return {KernelEntry{"copy", dtype_of<Ts>, run_copy<Ts>}...};
}

constexpr auto kEntries = join(copy_entries_of<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16,
                                               float, double, complex64, complex128>(),
                               entries<Fill, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float,
                                       double, complex64, complex128>("fill_"));

std::span<const KernelEntry> copy_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(copy_entries);
std::span<const KernelEntry> copy_kernels() { return HWY_DYNAMIC_DISPATCH(copy_entries)(); }
}  // namespace vellum::cpu
#endif
