// The programs of overhead.cc, with LibTorch. compare_overhead.py compiles it where libtorch-dev is installed.

#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

constexpr int64_t kLarge = int64_t{16} << 20;
constexpr int kChain = 1000;

void allocate_free(benchmark::State& state) {
  c10::Allocator* source = c10::GetAllocator(c10::kCPU);
  for (auto _ : state) benchmark::DoNotOptimize(source->allocate(256).get());
}
BENCHMARK(allocate_free);

void make_empty(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(torch::empty({1}));
}
BENCHMARK(make_empty);

void view(benchmark::State& state) {
  torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::ones({4, 4});
  for (auto _ : state) benchmark::DoNotOptimize(x.view({16}));
}
BENCHMARK(view);

void add_no_grad(benchmark::State& state) {
  torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::ones({1}), b = torch::ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_no_grad);

void add_recording(benchmark::State& state) {
  const torch::Tensor a = torch::ones({1}).requires_grad_();
  const torch::Tensor b = torch::ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_recording);

void mul_chain_per_operator(benchmark::State& state) {
  torch::Tensor x = torch::ones({1}).requires_grad_();
  const torch::Tensor w = torch::ones({1});
  while (state.KeepRunningBatch(kChain)) {
    torch::Tensor y = x;
    for (int i = 0; i < kChain; ++i) y = y * w;
    y.backward();
    x.mutable_grad().reset();
  }
}
BENCHMARK(mul_chain_per_operator);

void mlp_step(benchmark::State& state) {
  torch::nn::Sequential model(torch::nn::Linear(16, 16), torch::nn::ReLU(), torch::nn::Linear(16, 16),
                              torch::nn::ReLU(), torch::nn::Linear(16, 10));
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(1e-3));
  const torch::Tensor input = torch::randn({8, 16});
  const torch::Tensor target = torch::arange(8);
  for (auto _ : state) {
    for (torch::Tensor& p : model->parameters()) p.mutable_grad().reset();
    torch::nn::functional::cross_entropy(model->forward(input), target).backward();
    sgd.step();
  }
}
BENCHMARK(mlp_step);

void add_large_fresh(benchmark::State& state) {
  torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::ones({kLarge}), b = torch::ones({kLarge});
  benchmark::DoNotOptimize(a + b);
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_large_fresh)->Unit(benchmark::kMillisecond);

void add_large_existing(benchmark::State& state) {
  torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::ones({kLarge}), b = torch::ones({kLarge});
  torch::Tensor out = torch::zeros({kLarge});
  for (auto _ : state) benchmark::DoNotOptimize(torch::add_out(out, a, b));
}
BENCHMARK(add_large_existing)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
