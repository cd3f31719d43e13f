// The matmul kernel over a cuBLAS made of loops on the host: what it asks for, in which order, and with what memory.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "vellum/backends/cuda/kernels/copy_bits.h"
#include "vellum/backends/cuda/kernels/cublas.h"
#include "vellum/backends/cuda/kernels/element_loop.h"
#include "vellum/backends/cuda/kernels/families.h"

namespace {

using Value = std::complex<double>;

struct FakeCublas {
  int device = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  unsigned math_mode = 0;
  int created = 0;
  int products = 0;
  cublasStatus_t answer = CUBLAS_STATUS_SUCCESS;  // of the next products
};
FakeCublas fake;

Value load(const void* data, cudaDataType type, int64_t i) {
  switch (type) {
    case CUDA_R_32F:
      return static_cast<const float*>(data)[i];
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_R_16F:
      return static_cast<float>(static_cast<const vellum::float16*>(data)[i]);
    case CUDA_R_16BF:
      return static_cast<float>(static_cast<const vellum::bfloat16*>(data)[i]);
    case CUDA_C_32F:
      return Value(static_cast<const std::complex<float>*>(data)[i]);
    default:
      return static_cast<const Value*>(data)[i];
  }
}

void store(void* data, cudaDataType type, int64_t i, Value x) {
  switch (type) {
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = static_cast<float>(x.real());
      return;
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = x.real();
      return;
    case CUDA_R_16F:
      static_cast<vellum::float16*>(data)[i] = static_cast<float>(x.real());
      return;
    case CUDA_R_16BF:
      static_cast<vellum::bfloat16*>(data)[i] = static_cast<float>(x.real());
      return;
    case CUDA_C_32F:
      static_cast<std::complex<float>*>(data)[i] = std::complex<float>(x);
      return;
    default:
      static_cast<Value*>(data)[i] = x;
  }
}

// Factors are read in the precision of the sum.
Value factor(const void* data, cudaDataType type, cublasComputeType_t compute) {
  const bool is_double = compute == CUBLAS_COMPUTE_64F, is_complex = type == CUDA_C_32F || type == CUDA_C_64F;
  if (is_complex) return load(data, is_double ? CUDA_C_64F : CUDA_C_32F, 0);
  return load(data, is_double ? CUDA_R_64F : CUDA_R_32F, 0);
}

bool fits(cudaDataType type, cublasComputeType_t compute) {
  return (compute == CUBLAS_COMPUTE_64F) == (type == CUDA_R_64F || type == CUDA_C_64F);
}

}  // namespace

// --- The functions that the kernel calls.

cudaError_t cudaGetDevice(int* device) { return *device = fake.device, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return fake.device = device, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "a fake error"; }
const char* cublasGetStatusString(cublasStatus_t) { return "a fake cuBLAS error"; }
cudaError_t cudaMemsetAsync(void* data, int byte, size_t bytes, cudaStream_t) {
  std::memset(data, byte, bytes);
  return cudaSuccess;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(&fake);
  ++fake.created;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  fake.math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
  fake.stream = stream;
  fake.workspace = nullptr;  // as the real one
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* workspace, size_t bytes) {
  fake.workspace = workspace;
  fake.workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

// Column-major, as BLAS has it.
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                                             int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType type,
                                             int64_t lda, long long stride_a, const void* b, cudaDataType type_b,
                                             int64_t ldb, long long stride_b, const void* beta, void* c,
                                             cudaDataType type_c, int64_t ldc, long long stride_c, int64_t batch,
                                             cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (fake.answer != CUBLAS_STATUS_SUCCESS) return fake.answer;
  ++fake.products;
  const bool straight_a = op_a == CUBLAS_OP_N, straight_b = op_b == CUBLAS_OP_N;
  const bool valid = lda >= std::max<int64_t>(1, straight_a ? m : k) && ldc >= std::max<int64_t>(1, m) &&
                     ldb >= std::max<int64_t>(1, straight_b ? k : n) && type == type_b && type == type_c &&
                     fits(type, compute) && k > 0;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  const Value scale = factor(alpha, type, compute), keep = factor(beta, type, compute);
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) {
        Value sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += load(a, type, s * stride_a + (straight_a ? l * lda + i : i * lda + l)) *
                 load(b, type, s * stride_b + (straight_b ? j * ldb + l : l * ldb + j));
        const int64_t at = s * stride_c + j * ldc + i;
        store(c, type, at, scale * sum + (keep == 0.0 ? 0.0 : keep * load(c, type, at)));
      }
  return CUBLAS_STATUS_SUCCESS;
}

namespace vellum::cuda {

Status copy_bits(const LoopPlan& plan, size_t bytes, const Stream&) noexcept {
  const Layout<2> layout(plan);
  for (int64_t i = 0; i < plan.numel; ++i) {
    int64_t offsets[2];
    locate(layout, i, offsets);
    std::memcpy(layout.data[0] + offsets[0], layout.data[1] + offsets[1], bytes);
  }
  return ok_status();
}

namespace {

constexpr cudaDataType kTypes[] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF, CUDA_C_32F, CUDA_C_64F};
constexpr DType kDTypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16, kComplex64, kComplex128};

// A tensor of small whole numbers.
struct Operand {
  std::vector<int64_t> sizes, strides;
  std::vector<char> bytes;
  cudaDataType type = CUDA_R_32F;

  Operand(std::vector<int64_t> sizes_, std::vector<int64_t> strides_, int which)
      : sizes(std::move(sizes_)), strides(std::move(strides_)), type(kTypes[which]) {
    int64_t count = 1;
    for (size_t d = 0; d < sizes.size(); ++d) count += std::max<int64_t>(0, sizes[d] - 1) * strides[d];
    bytes.resize(static_cast<size_t>(count) * dtype_size(kDTypes[which]));
    for (int64_t i = 0; i < count; ++i)
      store(bytes.data(), type, i, {static_cast<double>(i % 5) - 2, static_cast<double>(i % 3)});
  }
  TensorArg arg(DType dtype) {
    int64_t numel = 1;
    for (const int64_t n : sizes) numel *= n;
    return {bytes.data(), sizes.data(), strides.data(), numel, dtype, static_cast<uint8_t>(sizes.size()), false, true};
  }
  Value at(int64_t batch, int64_t row, int64_t column) const {
    const size_t r = sizes.size() - 2;
    int64_t offset = row * strides[r] + column * strides[r + 1];
    for (size_t d = r; d-- > 0; batch /= sizes[d]) offset += batch % sizes[d] * strides[d];
    return load(bytes.data(), type, offset);
  }
};

const KernelEntry& kernel_of(DType dtype) {
  static const std::vector<KernelEntry> kernels = matmul_kernels();
  return *std::find_if(kernels.begin(), kernels.end(), [&](const KernelEntry& k) { return k.dtypes.contains(dtype); });
}

class Matmul : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { fake.answer = CUBLAS_STATUS_SUCCESS; }
  DType dtype() const { return kDTypes[GetParam()]; }
  cudaDataType type() const { return kTypes[GetParam()]; }

  // Runs the kernel with a workspace that is aligned to 64 bytes only, as the core gives it.
  Status run(Operand a, Operand b, std::vector<Value>* out) {
    const KernelEntry& kernel = kernel_of(dtype());
    const size_t r = a.sizes.size() - 2;
    std::vector<int64_t> shape = a.sizes, strides(a.sizes.size(), 1);
    shape[r + 1] = b.sizes[r + 1];
    int64_t numel = 1;
    for (const int64_t n : shape) numel *= n;
    std::vector<char> result(static_cast<size_t>(numel) * dtype_size(dtype()), char(0x7f));
    const TensorArg inputs[] = {a.arg(dtype()), b.arg(dtype())};
    const TensorArg output{result.data(), shape.data(),          strides.data(), numel,
                           dtype(),       uint8_t(shape.size()), true,           true};
    KernelContext context{};
    context.inputs = inputs;
    context.outputs = {&output, 1};
    context.compute = dtype();
    context.stream = {Device(kCPU, 3), 42};
    context.workspace_bytes = kernel.workspace(context);
    static std::vector<char> memory(kCublasWorkspace + (1 << 16));  // made once: it is large
    const size_t misaligned = 256 - reinterpret_cast<uintptr_t>(memory.data()) % 256 + 64;
    workspace_ = memory.data() + misaligned;
    workspace_bytes_ = context.workspace_bytes;
    EXPECT_LE(misaligned + workspace_bytes_ + 64, memory.size());
    context.workspace = workspace_;
    std::memset(workspace_ + workspace_bytes_, 0x3c, 64);
    const Status status = kernel.run(context);
    for (size_t i = 0; i < 64; ++i)
      EXPECT_EQ(workspace_[workspace_bytes_ + i], char(0x3c)) << "the kernel wrote behind its workspace";
    for (int64_t i = 0; i < numel; ++i) out->push_back(load(result.data(), type(), i));
    return status;
  }

  void expect_product(const Operand& a, const Operand& b) {
    const size_t r = a.sizes.size() - 2;
    int64_t batch = 1;
    for (size_t d = 0; d < r; ++d) batch *= a.sizes[d];
    std::vector<Value> expected, actual;
    for (int64_t s = 0; s < batch; ++s)
      for (int64_t i = 0; i < a.sizes[r]; ++i)
        for (int64_t j = 0; j < b.sizes[r + 1]; ++j) {
          Value sum = 0;
          for (int64_t l = 0; l < a.sizes[r + 1]; ++l) sum += a.at(s, i, l) * b.at(s, l, j);
          expected.push_back(sum);
        }
    EXPECT_TRUE(run(a, b, &actual).ok());
    EXPECT_EQ(actual, expected);
  }

  char* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

TEST_P(Matmul, MultipliesRowsAndColumns) {
  const int t = GetParam();
  expect_product({{3, 4}, {4, 1}, t}, {{4, 5}, {5, 1}, t});
  expect_product({{3, 4}, {1, 3}, t}, {{4, 5}, {1, 4}, t});
  expect_product({{3, 4}, {9, 1}, t}, {{4, 5}, {1, 6}, t});
  expect_product({{1, 4}, {4, 1}, t}, {{4, 1}, {1, 1}, t});
}

TEST_P(Matmul, PacksWhatCublasCannotRead) {
  const int t = GetParam();
  expect_product({{3, 4}, {16, 2}, t}, {{4, 5}, {0, 1}, t});
  expect_product({{6, 3, 4}, {0, 16, 2}, t}, {{6, 4, 5}, {40, 10, 2}, t});
}

TEST_P(Matmul, MultipliesBatches) {
  const int t = GetParam();
  const int before = fake.products;
  expect_product({{2, 3, 2, 4}, {24, 8, 4, 1}, t}, {{2, 3, 4, 5}, {60, 20, 5, 1}, t});
  EXPECT_EQ(fake.products, before + 1) << "one call for all";
  expect_product({{2, 3, 2, 4}, {0, 8, 4, 1}, t}, {{2, 3, 4, 5}, {20, 0, 5, 1}, t});
}

TEST_P(Matmul, OfNothingIsZeros) {
  const int t = GetParam();
  expect_product({{3, 0}, {1, 1}, t}, {{0, 5}, {5, 1}, t});
  expect_product({{0, 4}, {4, 1}, t}, {{4, 5}, {5, 1}, t});
}

TEST_P(Matmul, GivesCublasItsStreamAndThenItsWorkspace) {
  const int t = GetParam();
  std::vector<Value> out;
  ASSERT_TRUE(run({{3, 4}, {16, 2}, t}, {{4, 5}, {5, 1}, t}, &out).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(fake.stream), 42u);
  const char* const given = static_cast<const char*>(fake.workspace);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(given) % kCublasAlignment, 0u);
  EXPECT_EQ(fake.workspace_bytes, kCublasWorkspace);
  EXPECT_GE(given, workspace_);
  EXPECT_LE(given + fake.workspace_bytes, workspace_ + workspace_bytes_);
}

TEST_P(Matmul, KeepsOneHandleForAThreadAndLeavesTheDeviceAsItWas) {
  const int t = GetParam();
  fake.device = 1;
  std::vector<Value> out;
  ASSERT_TRUE(run({{3, 4}, {4, 1}, t}, {{4, 5}, {5, 1}, t}, &out).ok());
  const int created = fake.created;
  ASSERT_TRUE(run({{3, 4}, {4, 1}, t}, {{4, 5}, {5, 1}, t}, &out).ok());
  EXPECT_EQ(fake.created, created);
  EXPECT_EQ(fake.device, 1);
  EXPECT_TRUE(fake.math_mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

TEST_P(Matmul, ReportsWhatCublasReports) {
  const int t = GetParam();
  std::vector<Value> out;
  fake.answer = CUBLAS_STATUS_EXECUTION_FAILED;
  EXPECT_EQ(run({{3, 4}, {4, 1}, t}, {{4, 5}, {5, 1}, t}, &out).code, StatusCode::kDeviceError);
}

INSTANTIATE_TEST_SUITE_P(DTypes, Matmul, ::testing::Range(0, 6),
                         [](const auto& info) { return std::string(dtype_name(kDTypes[info.param])); });

}  // namespace
}  // namespace vellum::cuda
