#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <complex>
#include <vector>

#include "vellum/backends/cuda/device_scope.h"
#include "vellum/backends/cuda/kernels/copy_bits.h"
#include "vellum/backends/cuda/kernels/cublas.h"
#include "vellum/backends/cuda/kernels/families.h"
#include "vellum/backends/cuda/kernels/gemm_plan.h"
#include "vellum/backends/cuda/status.h"

namespace vellum::cuda {
namespace {

// How cuBLAS names the element type, and in what it adds up.
template <typename T>
struct Precision {};
template <>
struct Precision<float> {
  static constexpr cudaDataType_t kType = CUDA_R_32F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
  using Factor = float;
};
template <>
struct Precision<double> {
  static constexpr cudaDataType_t kType = CUDA_R_64F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_64F;
  using Factor = double;
};
template <>
struct Precision<float16> {
  static constexpr cudaDataType_t kType = CUDA_R_16F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
  using Factor = float;
};
template <>
struct Precision<bfloat16> {
  static constexpr cudaDataType_t kType = CUDA_R_16BF;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
  using Factor = float;
};
template <>
struct Precision<complex64> {
  static constexpr cudaDataType_t kType = CUDA_C_32F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
  using Factor = complex64;
};
template <>
struct Precision<complex128> {
  static constexpr cudaDataType_t kType = CUDA_C_64F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_64F;
  using Factor = complex128;
};

size_t aligned(size_t bytes) { return (bytes + kCublasAlignment - 1) / kCublasAlignment * kCublasAlignment; }

GemmPlan plan_of(const KernelContext& context) { return plan_gemm(context.inputs[0], context.inputs[1]); }

// The workspace in parts, each aligned for cuBLAS: the core aligns to less.
struct Parts {
  char* cublas;
  char* a;
  char* b;
};

Parts parts_of(const KernelContext& context, const GemmPlan& plan, size_t element) {
  char* first = reinterpret_cast<char*>(aligned(reinterpret_cast<size_t>(context.workspace)));
  char* a = first + kCublasWorkspace;
  return {first, a, a + aligned(static_cast<size_t>(plan.a.packed_elements) * element)};
}

template <typename T>
size_t workspace_bytes(const KernelContext& context) noexcept {
  const GemmPlan plan = plan_of(context);
  if (plan.is_empty()) return 0;
  return kCublasAlignment + kCublasWorkspace + aligned(static_cast<size_t>(plan.a.packed_elements) * sizeof(T)) +
         aligned(static_cast<size_t>(plan.b.packed_elements) * sizeof(T));
}

// Enqueues the packing of an operand that needs it; `data` is then where the packed one lies.
Status pack(const TensorArg& x, const GemmOperand& operand, size_t element, void* to, const Stream& stream,
            const void** data) {
  *data = x.data;
  if (!operand.packed) return ok_status();
  *data = to;
  LoopPlan loop{};
  loop.ndim = x.rank;
  loop.operands = 2;
  loop.numel = operand.packed_elements;
  loop.reduced = 1;
  loop.data[0] = to;
  loop.data[1] = x.data;
  for (int d = 0; d < x.rank; ++d) {
    loop.sizes[d] = operand.packed_sizes[d];
    loop.strides[0][d] = operand.packed_strides[d] * static_cast<int64_t>(element);
    loop.strides[1][d] = x.strides[d] * static_cast<int64_t>(element);
  }
  return copy_bits(loop, element, stream);
}

// cuBLAS is column-major: c' = b' a', and a row-major matrix is its transpose read by columns.
template <typename T>
Status multiply(cublasHandle_t handle, const GemmPlan& plan, const T* a, const T* b, T* c) {
  using P = Precision<T>;
  const typename P::Factor one(1), zero(0);
  const auto operation = [](const GemmOperand& x) { return x.column_major ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const int last = plan.batch_rank - 1;
  const int64_t stride_a = last >= 0 ? plan.a.batch[last] : 0, stride_b = last >= 0 ? plan.b.batch[last] : 0;
  return status_of(cublasGemmStridedBatchedEx_64(handle, operation(plan.b), operation(plan.a), plan.n, plan.m, plan.k,
                                                 &one, b, P::kType, plan.b.leading, stride_b, a, P::kType,
                                                 plan.a.leading, stride_a, &zero, c, P::kType, plan.n, plan.m * plan.n,
                                                 plan.batch(), P::kCompute, CUBLAS_GEMM_DEFAULT));
}

template <typename T>
Status run(const KernelContext& context) noexcept {
  const GemmPlan plan = plan_of(context);
  if (plan.is_empty()) return ok_status();
  const DeviceScope scope(context.stream.device.index);
  if (!scope.status().ok()) return scope.status();
  const TensorArg& out = context.outputs[0];
  if (plan.k == 0)  // sums of nothing
    return take_status(
        cudaMemsetAsync(out.data, 0, static_cast<size_t>(out.numel) * sizeof(T), stream_of(context.stream.handle)));
  const Parts parts = parts_of(context, plan, sizeof(T));
  const void *a, *b;
  if (const Status s = pack(context.inputs[0], plan.a, sizeof(T), parts.a, context.stream, &a); !s.ok()) return s;
  if (const Status s = pack(context.inputs[1], plan.b, sizeof(T), parts.b, context.stream, &b); !s.ok()) return s;
  cublasHandle_t handle;
  if (const Status s = cublas_handle(context.stream, parts.cublas, &handle); !s.ok()) return s;
  for (int64_t call = 0; call < plan.calls; ++call) {
    const GemmOffsets at = gemm_offsets(plan, call);
    const Status s =
        multiply(handle, plan, static_cast<const T*>(a) + at.a, static_cast<const T*>(b) + at.b, out.as<T>() + at.c);
    if (!s.ok()) return s;
  }
  return ok_status();
}

template <typename... Ts>
std::vector<KernelEntry> entries(std::string_view name) {
  return {KernelEntry{name, dtype_of<Ts>, run<Ts>, nullptr, workspace_bytes<Ts>}...};
}

}  // namespace

std::vector<KernelEntry> matmul_kernels() {
  return entries<float, double, float16, bfloat16, complex64, complex128>("matmul");
}

}  // namespace vellum::cuda
