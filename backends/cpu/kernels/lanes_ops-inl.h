// Per-target (included once per instruction set): elementwise operators on floats that are written with vectors.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_LANES_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_LANES_OPS_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_LANES_OPS_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_LANES_OPS_INL_H_
#endif

#include <type_traits>

#include "vellum/backends/cpu/kernels/elementwise-inl.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

template <typename T, int kInputs>
using Alike = std::conditional_t<kInputs == 1, Types<T>, std::conditional_t<kInputs == 2, Types<T, T>, Types<T, T, T>>>;

// An operator of kInputs operands from a function of a vector tag and vectors, which is made from the call's context if
// it reads attributes: `V operator()(D d, V a, ...) const`.
template <typename Function, int kInputs>
struct OnLanes {
  template <typename T>
  struct Op {
    using Out = T;
    using In = Alike<T, kInputs>;

    explicit Op(const KernelContext& context) : function(make(context)) {}
    HWY_INLINE void block(T* out, const void* const* in, int64_t n, unsigned single) const {
      map_lanes<kInputs>(in, out, n, single, function);
    }

    Function function;
  };

 private:
  static Function make(const KernelContext& context) {
    if constexpr (std::is_constructible_v<Function, const KernelContext&>)
      return Function(context);
    else
      return Function();
  }
};

// For the floating dtypes.
template <typename Function, int kInputs = 1>
constexpr auto lanes_entries(std::string_view name) {
  return join(entries<OnLanes<Function, kInputs>::template Op, float, double>(name),
              half_entries<OnLanes<Function, kInputs>::template Op>(name));
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
