// Per-target (included once per instruction set): elementwise kernels from functors.
#if defined(VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_INL_H_
#undef VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_INL_H_
#else
#define VELLUM_BACKENDS_CPU_KERNELS_ELEMENTWISE_INL_H_
#endif

#include <array>
#include <type_traits>

#include "vellum/backends/cpu/kernels/elementwise.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

// An operator on one compute type is a struct that is made from the call's context, with
//   using Out = ...; using In = Types<...>;
// and either `Out operator()(In...) const` or a `block` of its own with the meaning of ElementBlock.
template <typename... Ts>
struct Types {
  static constexpr int kCount = sizeof...(Ts);
  template <template <typename> class F>
  static constexpr std::array<int64_t, sizeof...(Ts)> map() {
    return {F<Ts>::value...};
  }
};

template <typename Op, typename Out, typename A>
HWY_INLINE void apply(const Op& op, Types<A>, Out* out, const void* const* in, int64_t n, unsigned) {
  const A* a = static_cast<const A*>(in[0]);
  VELLUM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = op(a[i]);
}

template <typename Op, typename Out, typename A, typename B>
HWY_INLINE void apply(const Op& op, Types<A, B>, Out* out, const void* const* in, int64_t n, unsigned single) {
  const A* a = static_cast<const A*>(in[0]);
  const B* b = static_cast<const B*>(in[1]);
  if (single == 0) {
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i]);
  } else if (single == 2) {
    const B value = b[0];
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], value);
  } else {
    const A value = a[0];
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = op(value, b[i]);
  }
}

template <typename Op, typename Out, typename A, typename B, typename C>
HWY_INLINE void apply(const Op& op, Types<A, B, C>, Out* out, const void* const* in, int64_t n, unsigned single) {
  const A* a = static_cast<const A*>(in[0]);
  const B* b = static_cast<const B*>(in[1]);
  const C* c = static_cast<const C*>(in[2]);
  if (single == 0) {
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i], c[i]);
  } else if (single == 4) {
    const C value = c[0];
    VELLUM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i], value);
  } else {
    const int64_t step_a = ~single & 1, step_b = ~single >> 1 & 1, step_c = ~single >> 2 & 1;
    for (int64_t i = 0; i < n; ++i) out[i] = op(a[i * step_a], b[i * step_b], c[i * step_c]);
  }
}

template <typename Op>
concept HasBlock = requires(const Op& op, typename Op::Out* out, const void* const* in) {
  op.block(out, in, 1, 0u);
};

template <typename Op>
void element_block(const void* op, void* out, const void* const* in, int64_t n, unsigned single) noexcept {
  const Op& functor = *static_cast<const Op*>(op);
  typename Op::Out* result = static_cast<typename Op::Out*>(out);
  if constexpr (HasBlock<Op>)
    functor.block(result, in, n, single);
  else
    apply(functor, typename Op::In{}, result, in, n, single);
}

// The type that a T of the computation has in memory when floats are kept as H.
template <typename H, typename T>
using MemoryOf = std::conditional_t<std::is_same_v<T, float>, H, T>;

template <typename Op, typename H, typename... In>
ElementLoop make_loop(const Op& op, Types<In...>) {
  using Out = typename Op::Out;
  ElementLoop loop{element_block<Op>,
                   &op,
                   sizeof...(In),
                   {sizeof(MemoryOf<H, Out>), sizeof(MemoryOf<H, In>)...},
                   {sizeof(Out), sizeof(In)...},
                   {},
                   nullptr};
  if constexpr (!std::is_same_v<H, float>) {
    const bool is_float[] = {std::is_same_v<In, float>..., false};
    for (size_t k = 0; k < sizeof...(In); ++k) loop.load[k] = is_float[k] ? load_half<H> : nullptr;
    loop.store = std::is_same_v<Out, float> ? store_half<H> : nullptr;
  }
  return loop;
}

// Short loops over arrays and single values take no detour.
template <typename Op, typename... In>
HWY_INLINE bool run_short(const Op& op, Types<In...>, const LoopPlan& plan) {
  constexpr int kInputs = sizeof...(In);
  constexpr int64_t kBytes[] = {sizeof(In)..., 0};
  if (plan.ndim > 1 || plan.numel > kElementGrain) return false;
  const int64_t n = plan.numel;
  unsigned single = 0;
  if (n != 1) {
    if (n == 0) return true;  // an empty array has no first element to read
    if (plan.strides[0][0] != sizeof(typename Op::Out)) return false;
    for (int k = 0; k < kInputs; ++k) {
      const int64_t stride = plan.strides[k + 1][0];
      if (stride == kBytes[k]) continue;
      if (stride != 0) return false;
      single |= 1u << k;
    }
    if (kInputs > 0 && single == (1u << kInputs) - 1) return false;
  }
  element_block<Op>(&op, plan.data[0], plan.data + 1, n, single);
  return true;
}

template <typename Op>
Status run_op(const KernelContext& context) noexcept {
  const Op op(context);
  const LoopPlan& plan = *context.loop;
  if (HWY_LIKELY(run_short(op, typename Op::In{}, plan))) return ok_status();
  run_elements(make_loop<Op, float>(op, typename Op::In{}), plan);
  return ok_status();
}

// The same operator where the floats of the computation are halves in memory.
template <typename Op, typename H>
Status run_half_op(const KernelContext& context) noexcept {
  const Op op(context);
  run_elements(make_loop<Op, H>(op, typename Op::In{}), *context.loop);
  return ok_status();
}

template <template <typename> class Op, typename... Ts>
constexpr std::array<KernelEntry, sizeof...(Ts)> entries(std::string_view name) {
  return {KernelEntry{name, dtype_of<Ts>, run_op<Op<Ts>>}...};
}

template <template <typename> class Op>
constexpr std::array<KernelEntry, 2> half_entries(std::string_view name) {
  return {KernelEntry{name, kFloat16, run_half_op<Op<float>, float16>},
          KernelEntry{name, kBFloat16, run_half_op<Op<float>, bfloat16>}};
}

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
