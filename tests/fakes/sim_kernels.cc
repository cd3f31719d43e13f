#include "vellum/tests/fakes/sim_kernels.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "vellum/backends/cpu/cpu_backend.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tests/fakes/sim_state.h"

namespace vellum::sim {
namespace {

// Loops with one and two inputs, casts, writes, a reduction, and one with a plan and a workspace. The rest runs on the
// host or as composites of these, so that every fallback meets work that is still queued.
constexpr std::string_view kSimKernels[] = {"add", "mul", "neg", "copy", "fill_", "sum", "matmul"};

const KernelEntry* cpu_kernel(const KernelContext& context) {
  const std::string_view name = context.op->kernel.empty() ? context.op->name : context.op->kernel;
  for (const KernelEntry& entry : cpu_backend().kernels)
    if (entry.op == name && entry.dtypes.contains(context.compute)) return &entry;
  return nullptr;
}

// A copy of an operator's attributes.
class Attributes {
 public:
  Attributes(const OpDef& op, const void* attrs) : op_(op) {
    if (!attrs || !op.attrs.copy) return;
    memory_.resize((op.attrs.size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    op.attrs.copy(memory_.data(), attrs);
  }
  ~Attributes() {
    if (!memory_.empty() && op_.attrs.destroy) op_.attrs.destroy(memory_.data());
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const void* get() const { return memory_.empty() ? nullptr : memory_.data(); }

 private:
  const OpDef& op_;
  std::vector<std::max_align_t> memory_;
};

// Operands with shapes and strides of their own.
class Arguments {
 public:
  void copy(std::span<const TensorArg> from) {
    args_.assign(from.begin(), from.end());
    geometry_.resize(args_.size() * 2 * kMaxRank);
    for (size_t i = 0; i < args_.size(); ++i) {
      int64_t* const sizes = geometry_.data() + i * 2 * kMaxRank;
      if (!args_[i].defined) continue;
      std::copy_n(args_[i].sizes, args_[i].rank, sizes);
      std::copy_n(args_[i].strides, args_[i].rank, sizes + kMaxRank);
      args_[i].sizes = sizes;
      args_[i].strides = sizes + kMaxRank;
    }
  }
  // Of a call on the fast path, which tells of its output no more than the dtype.
  void copy_dtype(const TensorArg& output) {
    args_.assign(1, TensorArg{});
    args_[0].dtype = output.dtype;
  }
  std::vector<TensorArg>& get() { return args_; }

 private:
  std::vector<TensorArg> args_;
  std::vector<int64_t> geometry_;
};

// A call of a kernel that outlives it.
class Launch {
 public:
  Launch(const KernelEntry& kernel, const KernelContext& context)
      : kernel_(kernel), context_(context), attributes_(*context.op, context.attrs) {
    context_.attrs = attributes_.get();
    const bool is_fast = context.loop && context.inputs.empty();
    if (context.loop) context_.loop = &(loop_ = *context.loop);
    if (is_fast) context_.workspace = nullptr;  // that path leaves it open
    inputs_.copy(context.inputs);
    is_fast ? outputs_.copy_dtype(context.outputs[0]) : outputs_.copy(context.outputs);
    context_.inputs = inputs_.get();
    context_.outputs = outputs_.get();
  }

  // Whether all operands are memory of the device.
  bool is_on_device() {
    bool all = true;
    each_address([&](void*& data) { all = all && resolve(data); });
    return all;
  }

  Status run() {
    bool all = true;
    each_address([&](void*& data) {
      void* const host = resolve(data);
      all = all && host;
      data = host;
    });
    if (!all) return {StatusCode::kDeviceError, "it uses memory that is not mapped, or no longer"};
    // What a plan keeps may be the CPU's for as long as one call.
    if (kernel_.plan)
      if (const Status status = kernel_.plan(context_); !status.ok()) return status;
    return kernel_.run(context_);
  }

 private:
  void* resolve(void* data) const { return state().memory.resolve(context_.stream.device.index, data, 1); }

  template <typename F>
  void each_address(F visit) {
    for (Arguments* args : {&inputs_, &outputs_})
      for (TensorArg& arg : args->get())
        if (arg.data && arg.numel > 0) visit(arg.data);
    // A reduction over nothing still writes its output.
    for (int k = 0; context_.loop && k < loop_.operands; ++k)
      if (loop_.numel > 0 || resolve(loop_.data[k])) visit(loop_.data[k]);
    if (context_.workspace) visit(context_.workspace);
  }

  const KernelEntry& kernel_;
  KernelContext context_;
  Attributes attributes_;
  Arguments inputs_, outputs_;
  LoopPlan loop_;
};

Status run(const KernelContext& context) noexcept {
  const auto launch = std::make_shared<Launch>(*cpu_kernel(context), context);
  std::lock_guard lock(state().mutex);
  const int device = context.stream.device.index;
  if (const Status status = state().queues.fault(device); !status.ok()) return status;
  if (!launch->is_on_device()) return {StatusCode::kInvalidArgument, "sim: an operand is not memory of this device"};
  return state().queues.enqueue(device, context.stream.handle,
                                {.what = context.op->name, .run = [launch] { return launch->run(); }});
}

Status plan(KernelContext& context) noexcept { return cpu_kernel(context)->plan(context); }
size_t workspace(const KernelContext& context) noexcept { return cpu_kernel(context)->workspace(context); }

std::vector<KernelEntry> make_kernels() {
  std::vector<KernelEntry> entries;
  for (const KernelEntry& entry : cpu_backend().kernels) {
    if (std::ranges::find(kSimKernels, entry.op) == std::end(kSimKernels)) continue;
    entries.push_back({entry.op, entry.dtypes, run, entry.plan ? plan : nullptr, entry.workspace ? workspace : nullptr,
                       entry.contiguous_inputs});
  }
  return entries;
}

}  // namespace

std::span<const KernelEntry> kernels() {
  static const std::vector<KernelEntry>& entries = *new std::vector<KernelEntry>(make_kernels());
  return entries;
}

}  // namespace vellum::sim
