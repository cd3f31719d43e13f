// Tensors on a GPU: streams, workspaces and training steps, beyond what the conformance suites compare.

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/device/stream.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/backends/cuda/require_gpu.h"

namespace vellum {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class CudaTensor : public testing::GpuTest {
 protected:
  static Device cuda() { return Device("cuda"); }
};

TEST_F(CudaTensor, LargeProductsEqualTheHosts) {
  const Tensor a = randn({300, 257}, {kFloat64}), b = randn({257, 190}, {kFloat64});
  const std::vector<double> here = matmul(a.to(cuda()), b.to(cuda())).to_vector<double>();
  const std::vector<double> host = matmul(a, b).to_vector<double>();
  ASSERT_EQ(here.size(), host.size());
  for (size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(here[i], host[i], 1e-10) << i;
}

TEST_F(CudaTensor, ManyElementsAreEachComputedOnce) {
  constexpr int64_t kCount = (int64_t{1} << 26) + 3;  // more than one turn for each thread, and a tail
  Tensor x = ones({kCount}, {kFloat32, cuda()});
  x.add_(x);
  EXPECT_EQ(x.slice(0, 0, 5).to_vector<float>(), std::vector<float>(5, 2));
  EXPECT_EQ(x.slice(0, kCount - 5, kCount).to_vector<float>(), std::vector<float>(5, 2));
}

TEST_F(CudaTensor, WorksOnTheCurrentStream) {
  const Stream stream = create_stream(cuda());
  {
    const StreamGuard guard(stream);
    Tensor x = ones({1 << 20}, {kFloat32, cuda()});
    for (int i = 0; i < 10; ++i) x = x + x;
    EXPECT_THAT(x.slice(0, 0, 3).to_vector<float>(), ElementsAre(1024, 1024, 1024));
    const Tensor square = ones({64, 64}, {kFloat32, cuda()});
    EXPECT_THAT(matmul(square, square).to_vector<float>(), Each(64));
  }
  empty_cache(cuda());
  destroy_stream(stream);
}

TEST_F(CudaTensor, ProductsRunOnSeveralThreads) {
  const Tensor x = ones({128, 128}, {kFloat32, cuda()});
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) result = matmul(x, x).to_vector<float>();
    });
  for (std::thread& t : threads) t.join();
  for (const auto& result : results) EXPECT_THAT(result, Each(128));
}

TEST_F(CudaTensor, TheWorkspaceOfAProductIsTheAllocators) {
  const Tensor x = ones({16, 16}, {kFloat32, cuda()});
  const int64_t before = memory_allocated(cuda());
  reset_peak_memory_stats(cuda());
  matmul(x, x);
  EXPECT_EQ(memory_allocated(cuda()), before);
  EXPECT_GE(max_memory_allocated(cuda()), before + (32 << 20));
}

TEST_F(CudaTensor, HasGradients) {
  const Tensor x = tensor({1.f, -2.f, 3.f}, cuda()).requires_grad_();
  sum(relu(x) * x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 0, 6));
}

}  // namespace
}  // namespace vellum
