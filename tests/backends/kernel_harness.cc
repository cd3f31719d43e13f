#include "vellum/tests/backends/kernel_harness.h"

#include <cmath>
#include <limits>

#include "vellum/backends/cpu/kernels/targets.h"
// Keeps the order of these includes.
#include "hwy/highway.h"
#include "vellum/backends/cpu/kernels/families.h"

namespace vellum::testing {
namespace {

Dims strides_for(const Dims& shape, Layout layout) {
  Dims strides = contiguous_strides(shape);
  int64_t step = 1;
  for (int d = 0; d < shape.size(); ++d) {
    if (layout == Layout::kTransposed) strides[d] = step, step *= std::max<int64_t>(shape[d], 1);
    if (layout == Layout::kSpread) strides[d] *= 2;
    if (layout == Layout::kBroadcast) strides[d] = 0;
  }
  return strides;
}

void set_strides(LoopPlan& plan, int k, Array& a, const Dims& shape) {
  plan.data[k] = a.data();
  const int64_t bytes = static_cast<int64_t>(dtype_size(a.dtype()));
  for (int d = 0; d < shape.size(); ++d) plan.strides[k][d] = a.shape()[d] == shape[d] ? a.strides()[d] * bytes : 0;
}

// Merges neighbouring dimensions as the core does, so that loops over row-major operands have one.
void coalesce(LoopPlan& p) {
  int kept = 0;
  for (int i = 0; i < p.ndim; ++i) {
    if (p.sizes[i] == 1) continue;
    bool merge = kept > 0;
    for (int k = 0; merge && k < p.operands; ++k) merge = p.strides[k][kept - 1] == p.strides[k][i] * p.sizes[i];
    if (!merge) ++kept;
    p.sizes[kept - 1] = merge ? p.sizes[kept - 1] * p.sizes[i] : p.sizes[i];
    for (int k = 0; k < p.operands; ++k) p.strides[k][kept - 1] = p.strides[k][i];
  }
  p.ndim = kept;
}

}  // namespace

Array::Array(DType dtype, const Dims& shape, Layout layout)
    : dtype_(dtype), shape_(shape), strides_(strides_for(shape, layout)), numel_(numel_of(shape)) {
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) last += (std::max<int64_t>(shape[d], 1) - 1) * strides_[d];
  bytes_.resize(static_cast<size_t>(last + 1) * dtype_size(dtype));
  contiguous_ = strides_ == contiguous_strides(shape);
}

Array& Array::randomize(std::mt19937& generator) {
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int> integer(dtype_ == kBool || dtype_ == kUInt8 ? 0 : -4, dtype_ == kBool ? 1 : 4);
  for (int64_t i = 0; i < numel_; ++i) {
    if (is_integral(dtype_))
      set(i, integer(generator));
    else
      set(i, Value(real(generator), real(generator)));
  }
  return *this;
}

Array& Array::fill(Value value) {
  for (int64_t i = 0; i < numel_; ++i) set(i, value);
  return *this;
}

const char* Array::address(int64_t i) const {
  int64_t offset = 0;
  for (int d = shape_.size() - 1; d >= 0; --d) {
    offset += i % shape_[d] * strides_[d];
    i /= shape_[d];
  }
  return bytes_.data() + offset * static_cast<int64_t>(dtype_size(dtype_));
}

Value Array::at(int64_t i) const {
  return visit_dtype(dtype_, [&](auto tag) -> Value {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
      return Value(get<T>(i));
    else
      return static_cast<double>(get<T>(i));
  });
}

void Array::set(int64_t i, Value value) {
  visit_dtype(dtype_, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
      put<T>(i, T(value));
    else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      put<T>(i, T(static_cast<float>(value.real())));
    else
      put<T>(i, static_cast<T>(value.real()));
  });
}

TensorArg Array::arg() {
  return {data(),      shape_.data(), strides_.data(), numel_, dtype_, static_cast<uint8_t>(shape_.size()),
          contiguous_, true};
}

LoopPlan elementwise_plan(Array& out, std::vector<Array*> inputs) {
  LoopPlan plan{};
  plan.ndim = out.shape().size();
  plan.operands = 1 + static_cast<int>(inputs.size());
  plan.numel = out.numel();
  plan.reduced = 1;
  for (int d = 0; d < plan.ndim; ++d) plan.sizes[d] = out.shape()[d];
  set_strides(plan, 0, out, out.shape());
  for (size_t k = 0; k < inputs.size(); ++k) set_strides(plan, static_cast<int>(k) + 1, *inputs[k], out.shape());
  coalesce(plan);
  return plan;
}

LoopPlan reduction_plan(Array& out, Array& in, uint32_t dims) {
  LoopPlan plan{};
  plan.ndim = in.shape().size();
  plan.operands = 2;
  plan.numel = in.numel();
  plan.reduction = true;
  plan.reduced = 1;
  for (int d = 0; d < plan.ndim; ++d) plan.sizes[d] = in.shape()[d];
  set_strides(plan, 0, out, in.shape());
  set_strides(plan, 1, in, in.shape());
  for (int d = 0; d < plan.ndim; ++d) {
    if (!(dims >> d & 1)) continue;
    plan.strides[0][d] = 0;
    plan.reduced *= plan.sizes[d];
  }
  coalesce(plan);
  return plan;
}

void KernelTest::SetUp() {
  hwy::SetSupportedTargetsForTest(GetParam());
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  kernels_ = cpu::all_kernels();
}

void KernelTest::TearDown() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

const KernelEntry& KernelTest::kernel(std::string_view op, DType compute) const {
  for (const KernelEntry& entry : kernels_)
    if (entry.op == op && entry.dtypes.contains(compute)) return entry;
  static const KernelEntry none{};
  ADD_FAILURE() << "no kernel " << op << " for " << dtype_name(compute);
  return none;
}

Status KernelTest::call(std::string_view op, std::vector<Array*> inputs, std::vector<Array*> outputs,
                        const CallOptions& options) {
  std::vector<TensorArg> ins, outs;
  for (Array* a : inputs) ins.push_back(a ? a->arg() : TensorArg{});
  for (Array* a : outputs) outs.push_back(a ? a->arg() : TensorArg{});
  KernelContext context{};
  context.attrs = options.attrs;
  context.loop = options.loop;
  context.inputs = ins;
  context.outputs = outs;
  context.compute = options.compute != DType::kUndefined ? options.compute : (ins.empty() ? outs : ins)[0].dtype;
  context.random = options.random;
  const KernelEntry& entry = kernel(op, context.compute);
  if (!entry.run) return {StatusCode::kUnsupported, nullptr};
  if (entry.plan)
    if (const Status status = entry.plan(context); !status.ok()) return status;
  context.workspace_bytes = entry.workspace ? entry.workspace(context) : 0;
  std::vector<char> workspace(context.workspace_bytes + 64);
  const uintptr_t start = reinterpret_cast<uintptr_t>(workspace.data());
  context.workspace = reinterpret_cast<void*>((start + 63) / 64 * 64);
  return entry.run(context);
}

void KernelTest::apply(std::string_view op, std::vector<Array*> inputs, Array& out, const void* attrs, DType compute) {
  const LoopPlan plan = elementwise_plan(out, inputs);
  ASSERT_TRUE(call(op, inputs, {&out}, {.attrs = attrs, .loop = &plan, .compute = compute}).ok());
}

std::vector<int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

std::string instruction_set_name(const ::testing::TestParamInfo<int64_t>& info) { return hwy::TargetName(info.param); }

double epsilon(DType dtype) {
  switch (dtype) {
    case kFloat16:
      return 0x1p-11;
    case kBFloat16:
      return 0x1p-8;
    case kFloat32:
    case kComplex64:
      return 0x1p-24;
    case kFloat64:
    case kComplex128:
      return 0x1p-53;
    default:
      return 0;
  }
}

void expect_close(const Array& actual, int64_t i, Value expected, double ulps, double scale) {
  const Value value = actual.at(i);
  for (const auto& [is, should] :
       {std::pair(value.real(), expected.real()), std::pair(value.imag(), expected.imag())}) {
    if (std::isnan(should) && std::isnan(is)) continue;
    if (is == should) continue;
    const double tolerance = ulps * epsilon(actual.dtype()) * std::max(std::abs(expected), scale);
    EXPECT_LE(std::abs(is - should), tolerance)
        << dtype_name(actual.dtype()) << " element " << i << ": " << value << ", expected " << expected;
  }
}

}  // namespace vellum::testing
