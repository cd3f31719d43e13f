// What an operator costs beyond its arithmetic: operands of one element, tiny networks, and memory at its steady state.
// vs_libtorch has the same rows beside LibTorch. Run it on one thread (OMP_NUM_THREADS=1), pinned.

#include <benchmark/benchmark.h>

#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/device/stream.h"
#include "vellum/memory/ledger.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

constexpr int64_t kLarge = int64_t{16} << 20;
constexpr int kChain = 1000;

void allocate_free(benchmark::State& state) {
  Allocator& source = allocator(Device(kCPU));
  const Stream stream = current_stream(Device(kCPU));
  for (auto _ : state) {
    Block block;
    benchmark::DoNotOptimize(source.allocate(256, kDefaultAlignment, stream, &block));
    benchmark::DoNotOptimize(block.data);
    source.deallocate(block, stream);
  }
}
BENCHMARK(allocate_free);

void make_empty(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(empty({1}));
}
BENCHMARK(make_empty);

void view(benchmark::State& state) {
  NoGradGuard no_grad;
  const Tensor x = ones({4, 4});
  for (auto _ : state) benchmark::DoNotOptimize(x.view({16}));
}
BENCHMARK(view);

void add_no_grad(benchmark::State& state) {
  NoGradGuard no_grad;
  const Tensor a = ones({1}), b = ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_no_grad);

void add_recording(benchmark::State& state) {
  Tensor a = ones({1}).requires_grad_();
  const Tensor b = ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_recording);

// Forward, backward and destruction, for each operator of a chain.
void mul_chain_per_operator(benchmark::State& state) {
  Tensor x = ones({1}).requires_grad_();
  const Tensor w = ones({1});
  while (state.KeepRunningBatch(kChain)) {
    Tensor y = x;
    for (int i = 0; i < kChain; ++i) y = y * w;
    y.backward();
    x.set_grad({});
  }
}
BENCHMARK(mul_chain_per_operator);

void mlp_step(benchmark::State& state) {
  nn::Sequential model(nn::Linear(16, 16), nn::ReLU(), nn::Linear(16, 16), nn::ReLU(), nn::Linear(16, 10));
  optim::SGD sgd(model.parameters(), {.lr = 1e-3});
  const Tensor input = randn({8, 16});
  const Tensor target = arange(8);
  for (auto _ : state) {
    sgd.zero_grad();
    nn::functional::cross_entropy(model(input), target).backward();
    sgd.step();
  }
}
BENCHMARK(mlp_step);

void add_large_fresh(benchmark::State& state) {
  NoGradGuard no_grad;
  const Tensor a = ones({kLarge}), b = ones({kLarge});
  benchmark::DoNotOptimize(a + b);  // the steady state: what one result occupied serves the next
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_large_fresh)->Unit(benchmark::kMillisecond);

void add_large_existing(benchmark::State& state) {
  NoGradGuard no_grad;
  const Tensor a = ones({kLarge}), b = ones({kLarge});
  Tensor out = zeros({kLarge});
  for (auto _ : state) benchmark::DoNotOptimize(add_out(out, a, b));
}
BENCHMARK(add_large_existing)->Unit(benchmark::kMillisecond);

// What the ledger adds to the rows above.
template <void (*kRow)(benchmark::State&)>
void with_ledger(benchmark::State& state) {
  const LedgerScope ledger;
  kRow(state);
}
BENCHMARK(with_ledger<make_empty>);
BENCHMARK(with_ledger<view>);
BENCHMARK(with_ledger<add_no_grad>);
BENCHMARK(with_ledger<add_recording>);
BENCHMARK(with_ledger<mul_chain_per_operator>);
BENCHMARK(with_ledger<mlp_step>);

}  // namespace
}  // namespace vellum

BENCHMARK_MAIN();
