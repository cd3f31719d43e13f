#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vellum/backends/cpu/kernels/random.cc"
#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes: the first repeats this source for each instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/half-inl.h"
#include "vellum/backends/cpu/kernels/philox-inl.h"
#include "vellum/backends/cpu/kernels/vector_math-inl.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"

HWY_BEFORE_NAMESPACE();
namespace vellum::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kGrainBlocks = 16;  // blocks of draws that are not worth a second thread

template <typename T>
using RealOf = std::conditional_t<sizeof(T) == 2, float, T>;

// Elements that a block of draws gives.
template <typename R>
constexpr int64_t kElements = sizeof(R) == 8 ? kDraws / 2 : kDraws;

// The uniforms of one block.
HWY_INLINE void block_uniforms(const uint32_t* draws, float* u) {
  for (int64_t i = 0; i < kDraws; ++i) u[i] = static_cast<float>(static_cast<int32_t>(draws[i] >> 8)) * 0x1p-24f;
}

HWY_INLINE void block_uniforms(const uint32_t* draws, double* u) {
  for (int64_t i = 0; i < kDraws / 2; ++i) {
    const uint64_t bits = (uint64_t{draws[2 * i]} << 32 | draws[2 * i + 1]) >> 11;
    u[i] = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
  }
}

// cos and sin of `turns` whole turns, in [0, 1). The reduction to an eighth of a turn is exact; the polynomials are
// those of Cephes (Moshier), good to the last place there.
HWY_INLINE void cos_sin(float turns, float* cosine, float* sine) {
  const int32_t quadrant = static_cast<int32_t>(turns * 4 + 0.5f);
  const float x = (turns - static_cast<float>(quadrant) * 0.25f) * (2 * std::numbers::pi_v<float>);
  const float z = x * x;
  const float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
  const float c =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1;
  const bool swaps = quadrant & 1;
  const float a = swaps ? s : c, b = swaps ? c : s;
  *cosine = (quadrant + 1) & 2 ? -a : a;
  *sine = quadrant & 2 ? -b : b;
}

// Box-Muller in place.
HWY_INLINE void to_normals(float* u) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kPairs = kDraws / 2;
  HWY_ALIGN float radius[kPairs];
  for (int64_t j = 0; j < kPairs; ++j) radius[j] = 1 - u[2 * j];
  map_lanes(radius, radius, kPairs,
            [](auto d, auto v) HWY_ATTR { return hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), log_lanes(d, v))); });
  for (int64_t j = 0; j < kPairs; ++j) {
    float cosine, sine;
    cos_sin(u[2 * j + 1], &cosine, &sine);
    u[2 * j] = radius[j] * cosine;
    u[2 * j + 1] = radius[j] * sine;
  }
}

HWY_INLINE void to_normals(double* u) {
  for (int64_t j = 0; j < kDraws / 4; ++j) {
    const double radius = std::sqrt(-2 * std::log(1 - u[2 * j])), angle = 2 * std::numbers::pi * u[2 * j + 1];
    u[2 * j] = radius * std::cos(angle);
    u[2 * j + 1] = radius * std::sin(angle);
  }
}

template <typename R, typename T>
HWY_INLINE void store(const R* values, T* out, int64_t n) {
  if constexpr (sizeof(T) == 2)
    from_floats(values, out, n);
  else
    std::copy_n(values, n, out);
}

// Calls f(draws, at, count) for blocks of `step` elements of n.
template <typename F>
HWY_INLINE void for_draws(const RandomState& state, int64_t n, int64_t step, const F& f) {
  parallel_for(0, (n + step - 1) / step, kGrainBlocks, [&](int64_t first, int64_t last) HWY_ATTR {
    HWY_ALIGN uint32_t draws[kDraws];
    for (int64_t i = first; i < last; ++i) {
      philox_block(state.seed, state.offset / 4 + static_cast<uint64_t>(i * (kDraws / 4)), draws);
      f(draws, i * step, std::min(step, n - i * step));
    }
  });
}

// out = start + scale * (uniform or normal).
template <typename T, bool kNormal>
void fill_random(const KernelContext& context, double start, double scale) {
  using R = RealOf<T>;
  const TensorArg& out = context.outputs[0];
  const R a = R(start), b = R(scale);
  for_draws(context.random, out.numel, kElements<R>, [&](const uint32_t* draws, int64_t at, int64_t n) HWY_ATTR {
    HWY_ALIGN R values[kElements<R>];
    block_uniforms(draws, values);
    if constexpr (kNormal) to_normals(values);
    for (int64_t i = 0; i < kElements<R>; ++i) values[i] = a + b * values[i];
    store(values, out.as<T>() + at, n);
  });
}

template <typename T>
Status run_uniform(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<UniformAttrs>();
  fill_random<T, false>(context, attrs.from, attrs.to - attrs.from);
  return ok_status();
}

template <typename T>
Status run_normal(const KernelContext& context) noexcept {
  const auto& attrs = context.attributes<NormalAttrs>();
  fill_random<T, true>(context, attrs.mean, attrs.std);
  return ok_status();
}

// Scales the values whose draw is at least `least` * 2^8 and zeroes the others.
template <typename R>
HWY_INLINE void keep(const uint32_t* HWY_RESTRICT draws, uint32_t least, R scale, R* HWY_RESTRICT values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const R scaled = values[i] * scale;  // outside of the choice, so that nothing is left to branch over
    values[i] = draws[i] >> 8 >= least ? scaled : R(0);
  }
}

// Zeroes elements with probability p, scales the others.
template <typename T>
void drop(const T* x, T* out, int64_t n, double p, const RandomState& state) {
  using R = RealOf<T>;
  if (p >= 1) {
    std::fill_n(out, n, T(0));
    return;
  }
  // u >= p for u = k * 2^-24 is k >= p * 2^24, without rounding.
  const uint32_t least = static_cast<uint32_t>(std::ceil(p * 0x1p24));
  const R scale = R(1 / (1 - p));
  for_draws(state, n, kDraws, [=](const uint32_t* draws, int64_t at, int64_t count) HWY_ATTR {
    HWY_ALIGN R values[kDraws];
    if constexpr (sizeof(T) == 2)
      to_floats(x + at, values, count);
    else
      std::copy_n(x + at, count, values);
    keep(draws, least, scale, values, count);
    store(values, out + at, count);
  });
}

template <typename T>
Status run_dropout(const KernelContext& context) noexcept {
  const TensorArg &x = context.inputs[0], &out = context.outputs[0];
  drop(x.as<const T>(), out.as<T>(), x.numel, context.attributes<DropoutAttrs>().p, context.random);
  if (context.outputs.size() > 1 && context.outputs[1].defined) {
    int64_t* state = context.outputs[1].as<int64_t>();
    state[0] = std::bit_cast<int64_t>(context.random.seed);
    state[1] = std::bit_cast<int64_t>(context.random.offset);
  }
  return ok_status();
}

template <typename T>
Status run_dropout_backward(const KernelContext& context) noexcept {
  const TensorArg &g = context.inputs[0], &out = context.outputs[0];
  const int64_t* state = context.inputs[1].as<const int64_t>();
  drop(g.as<const T>(), out.as<T>(), g.numel, context.attributes<DropoutAttrs>().p,
       {std::bit_cast<uint64_t>(state[0]), std::bit_cast<uint64_t>(state[1])});
  return ok_status();
}

template <typename... Ts>
constexpr auto entries_of() {
  return std::array{KernelEntry{"uniform_", dtype_of<Ts>, run_uniform<Ts>}...,
                    KernelEntry{"normal_", dtype_of<Ts>, run_normal<Ts>}...,
                    KernelEntry{"dropout", dtype_of<Ts>, run_dropout<Ts>, nullptr, nullptr, true}...,
                    KernelEntry{"dropout_backward", dtype_of<Ts>, run_dropout_backward<Ts>, nullptr, nullptr, true}...};
}

constexpr auto kEntries = entries_of<float16, bfloat16, float, double>();

std::span<const KernelEntry> random_entries() { return kEntries; }

}  // namespace HWY_NAMESPACE
}  // namespace vellum::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vellum::cpu {
HWY_EXPORT(random_entries);
std::span<const KernelEntry> random_kernels() { return HWY_DYNAMIC_DISPATCH(random_entries)(); }
}  // namespace vellum::cpu
#endif
