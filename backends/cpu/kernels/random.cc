#include <cmath>
#include <numbers>

#include "vellum/backends/cpu/kernels/entries.h"
#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/attributes.h"

// Random numbers as generator.h documents them: each value is a function of its position, so ranges can be computed
// in any order by any number of threads. Ranges are handed out in whole blocks of four draws.

namespace vellum::cpu {
namespace {

constexpr int64_t kGrain = 8 << 10;  // elements
constexpr int kBlock = 4;            // elements that one step makes

// Uniform numbers [0, 1) of elements 4b to 4b + 3.
struct UniformBlock {
  double value[kBlock];
};

template <typename T>
UniformBlock uniform_block(const RandomState& state, int64_t block) {
  UniformBlock u;
  const uint64_t b = static_cast<uint64_t>(block);
  if constexpr (std::is_same_v<T, double>) {
    const uint64_t counter = state.offset / 4 + 2 * b;
    for (uint64_t half = 0; half < 2; ++half) {
      const auto lane = philox(state.seed, counter + half);
      for (int i = 0; i < 2; ++i) {
        const uint64_t bits = uint64_t{lane[2 * i]} << 32 | lane[2 * i + 1];
        u.value[2 * half + i] = static_cast<double>(bits >> 11) * 0x1p-53;
      }
    }
  } else {
    const auto lane = philox(state.seed, state.offset / 4 + b);
    for (int i = 0; i < kBlock; ++i) u.value[i] = (lane[i] >> 8) * 0x1p-24;
  }
  return u;
}

// Calls f(element, value) for each element of [0, n), where make(block) gives the values of four.
template <typename Make, typename F>
void for_each_value(int64_t n, Make make, F f) {
  parallel_for(0, (n + kBlock - 1) / kBlock, kGrain / kBlock, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const UniformBlock u = make(b);
      const int64_t end = std::min<int64_t>(n - b * kBlock, kBlock);
      for (int64_t i = 0; i < end; ++i) f(b * kBlock + i, u.value[i]);
    }
  });
}

template <typename T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return T(static_cast<float>(x));
}

template <typename T>
Status uniform(const KernelContext& c) noexcept {
  const auto& a = c.attributes<UniformAttrs>();
  T* out = c.outputs[0].as<T>();
  for_each_value(
      c.outputs[0].numel, [&](int64_t b) { return uniform_block<T>(c.random, b); },
      [&](int64_t i, double u) { out[i] = rounded<T>(a.from + (a.to - a.from) * u); });
  return ok_status();
}

template <typename T>
UniformBlock normal_block(const RandomState& state, int64_t block) {
  UniformBlock u = uniform_block<T>(state, block);
  for (int i = 0; i < kBlock; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - u.value[i]));
    const double angle = 2 * std::numbers::pi * u.value[i + 1];
    u.value[i] = radius * std::cos(angle);
    u.value[i + 1] = radius * std::sin(angle);
  }
  return u;
}

template <typename T>
Status normal(const KernelContext& c) noexcept {
  const auto& a = c.attributes<NormalAttrs>();
  T* out = c.outputs[0].as<T>();
  for_each_value(
      c.outputs[0].numel, [&](int64_t b) { return normal_block<T>(c.random, b); },
      [&](int64_t i, double z) { out[i] = rounded<T>(a.mean + a.std * z); });
  return ok_status();
}

// --- dropout: the mask comes from 32-bit draws for every dtype.

template <typename T>
void drop(const TensorArg& in, const TensorArg& out, const RandomState& state, double p) {
  const T* x = in.as<T>();
  T* y = out.as<T>();
  const T zero(0.0f);
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  for_each_value(
      in.numel, [&](int64_t b) { return uniform_block<float>(state, b); },
      [&](int64_t i, double u) { y[i] = p < 1 && u >= p ? rounded<T>(static_cast<double>(x[i]) * scale) : zero; });
}

template <typename T>
Status dropout(const KernelContext& c) noexcept {
  if (const TensorArg& state = c.outputs[1]; state.defined) {
    state.as<int64_t>()[0] = static_cast<int64_t>(c.random.seed);
    state.as<int64_t>()[1] = static_cast<int64_t>(c.random.offset);
  }
  drop<T>(c.inputs[0], c.outputs[0], c.random, c.attributes<DropoutAttrs>().p);
  return ok_status();
}

template <typename T>
Status dropout_backward(const KernelContext& c) noexcept {
  const int64_t* state = c.inputs[1].as<int64_t>();
  drop<T>(c.inputs[0], c.outputs[0], {static_cast<uint64_t>(state[0]), static_cast<uint64_t>(state[1])},
          c.attributes<DropoutAttrs>().p);
  return ok_status();
}

template <typename T>
constexpr std::array<KernelEntry, 4> entries_of() {
  return {KernelEntry{.op = "uniform_", .dtypes = dtype_of<T>, .run = uniform<T>},
          KernelEntry{.op = "normal_", .dtypes = dtype_of<T>, .run = normal<T>},
          KernelEntry{.op = "dropout", .dtypes = dtype_of<T>, .run = dropout<T>, .contiguous_inputs = true},
          KernelEntry{
              .op = "dropout_backward", .dtypes = dtype_of<T>, .run = dropout_backward<T>, .contiguous_inputs = true}};
}

constexpr auto kEntries =
    join(entries_of<float16>(), entries_of<bfloat16>(), entries_of<float>(), entries_of<double>());

}  // namespace

std::span<const KernelEntry> random_kernels() { return kEntries; }

}  // namespace vellum::cpu
