#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/comparison.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/families.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

template <typename T, typename Relation>
struct Compare {
  using Out = bool;
  using In = Types<T, T>;

  explicit Compare(const KernelContext&) {}
  HWY_INLINE bool operator()(T a, T b) const { return Relation::holds(a, b); }
};

struct Equal {
  template <typename T>
  static HWY_INLINE bool holds(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  static HWY_INLINE bool holds(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  static HWY_INLINE bool holds(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static HWY_INLINE bool holds(T a, T b) {
    return a <= b;
  }
};

// The mirrored relations swap the operands.
template <typename T, typename Relation>
struct Mirrored : Compare<T, Relation> {
  using Compare<T, Relation>::Compare;
  HWY_INLINE bool operator()(T a, T b) const { return Relation::holds(b, a); }
};

template <typename T>
using Eq = Compare<T, Equal>;
template <typename T>
using Ne = Compare<T, NotEqual>;
template <typename T>
using Lt = Compare<T, Less>;
template <typename T>
using Le = Compare<T, LessEqual>;
template <typename T>
using Gt = Mirrored<T, Less>;
template <typename T>
using Ge = Mirrored<T, LessEqual>;

template <template <typename> class Op>
constexpr auto real_entries(std::string_view name) {
  return join(entries<Op, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double>(name),
              half_entries<Op>(name));
}

constexpr auto kEntries = join(real_entries<Eq>("eq"), entries<Eq, complex64, complex128>("eq"), real_entries<Ne>("ne"),
                               entries<Ne, complex64, complex128>("ne"), real_entries<Lt>("lt"), real_entries<Le>("le"),
                               real_entries<Gt>("gt"), real_entries<Ge>("ge"));

std::span<const KernelEntry> comparison_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(comparison_entries);
std::span<const KernelEntry> comparison_kernels() { return HWY_DYNAMIC_DISPATCH(comparison_entries)(); }
}  // namespace vellum::cpu
#endif
