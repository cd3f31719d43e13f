#include <cmath>

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/internal/norm_gradient.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

using internal::batch_norm_layout;
using internal::check_operand;
using internal::infer_norm_backward;
using internal::NormLayout;

// Inputs of batch_norm.
enum : int { kX, kRunningMean, kRunningVar, kWeight, kBias };

void check_input(const OpCall& call, const Dims& shape) {
  if (shape.size() < 2)
    throw_error<ShapeError>(call.op.name, ": x must be [N, C] or [N, C, d1, ...], it is ", shape,
                            "; unsqueeze() the batch");
}

void check_running(const OpCall& call, const char* what, const Tensor& t, int64_t channels, bool required) {
  if (!t.defined() && required)
    throw_error<InvalidArgumentError>(call.op.name, ": evaluation needs ", what, " [", channels,
                                      "]; give it, or set training to use the batch's own");
  check_operand(call, what, t, {channels});
  if (t.defined() && !is_floating(t.dtype()))
    throw_error<DTypeError>(call.op.name, ": ", what, " must be floating, it is ", t.dtype());
}

// Evaluation has no statistics to give.
void infer_batch_norm(Inference& call) {
  const bool training = call.attributes<BatchNormAttrs>().training;
  const Dims shape = call.input(kX).shape();
  check_input(call, shape);
  check_running(call, "running_mean", call.input(kRunningMean), shape[1], !training);
  check_running(call, "running_var", call.input(kRunningVar), shape[1], !training);
  check_operand(call, "weight", call.input(kWeight), {shape[1]});
  check_operand(call, "bias", call.input(kBias), {shape[1]});
  call.add_output(shape);
  const DType dtype = internal::statistics_dtype(call.dtypes.compute);
  call.add_output({training ? shape[1] : 0}, dtype);  // mean
  call.add_output({training ? shape[1] : 0}, dtype);  // biased variance
}

std::vector<RefTensor> batch_norm_reference(const RefCall& call) {
  const auto& a = call.attributes<BatchNormAttrs>();
  const RefTensor &x = call.inputs[kX], &weight = call.inputs[kWeight], &bias = call.inputs[kBias];
  const internal::NormIndex at(x.shape, batch_norm_layout(x.shape));
  const DType dtype = internal::statistics_dtype(call.compute);
  RefTensor mean = reference::zeros({x.shape[1]}, dtype), var = mean;
  if (a.training) {
    for (size_t i = 0; i < x.values.size(); ++i) mean.values[at.stat[i]] += x.values[i] / at.count;
    for (size_t i = 0; i < x.values.size(); ++i)
      var.values[at.stat[i]] += std::pow((x.values[i] - mean.values[at.stat[i]]).real(), 2) / at.count;
  } else {
    mean.values = call.inputs[kRunningMean].values;
    var.values = call.inputs[kRunningVar].values;
  }
  RefTensor y = x;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t c = at.stat[i];
    y.values[i] = (x.values[i] - mean.values[c]) / std::sqrt(var.values[c].real() + a.eps);
    if (!weight.values.empty()) y.values[i] *= weight.values[c];
    if (!bias.values.empty()) y.values[i] += bias.values[c];
  }
  if (!a.training) mean = var = reference::zeros({0}, dtype);
  return {y, mean, var};
}

extern OpSlot batch_norm_backward_slot;

// The fused gradients of x, weight and bias.
void fused_gradients(Vjp& v, const Tensor& mean, const Tensor& rstd) {
  const Tensor& x = v.input(kX);
  const Tensor weight = v.needs(kX) ? v.input(kWeight) : Tensor();
  const BatchNormBackwardAttrs attrs{v.attributes<BatchNormAttrs>().training,
                                     uint8_t((v.needs(kX) ? kWantsInput : 0) | (v.needs(kWeight) ? kWantsWeight : 0) |
                                             (v.needs(kBias) ? kWantsBias : 0))};
  const Tensor* inputs[] = {&v.cotangent(), &x, &mean, &rstd, &weight};
  const std::vector<Tensor> gradients = call_all(batch_norm_backward_slot, inputs, &attrs);
  if (v.needs(kX)) v.grad(kX) = gradients[0];
  if (v.needs(kWeight)) v.grad(kWeight) = gradients[1];
  if (v.needs(kBias)) v.grad(kBias) = gradients[2];
}

void training_vjp(Vjp& v, const NormLayout& layout) {
  if (!v.needs(kX) && !v.needs(kWeight)) {
    if (v.needs(kBias)) v.grad(kBias) = sum(v.cotangent(), layout.param_dims);
    return;
  }
  const Tensor& x = v.input(kX);
  Tensor mean = v.output(1).detach(), var = v.output(2).detach();
  if (x.requires_grad()) {  // this pass is recorded, but those outputs are not differentiable
    const internal::Statistics statistics = internal::recorded_statistics(x, layout);
    mean = statistics.mean.reshape(mean.shape());
    var = statistics.var.reshape(mean.shape());
  }
  fused_gradients(v, mean, internal::reciprocal_deviation(var, v.attributes<BatchNormAttrs>().eps));
}

// y = (x - mean) * rstd * weight + bias with constants. Without a weight to train, x is not needed.
void evaluation_vjp(Vjp& v, const NormLayout& layout) {
  const double eps = v.attributes<BatchNormAttrs>().eps;
  const Tensor& g = v.cotangent();
  const auto beside_x = [&](const Tensor& t) { return t.reshape(layout.param_shape); };
  if (v.needs(kWeight)) {
    fused_gradients(v, v.input(kRunningMean), internal::reciprocal_deviation(v.input(kRunningVar), eps));
  } else if (v.needs(kBias)) {
    v.grad(kBias) = sum(g, layout.param_dims);
  }
  const bool x_alone = v.needs(kX) && !v.needs(kWeight);
  if (!x_alone && !v.needs(kRunningMean) && !v.needs(kRunningVar)) return;
  const Tensor rstd = internal::reciprocal_deviation(v.input(kRunningVar), eps);
  const Tensor scale = v.input(kWeight).defined() ? mul(v.input(kWeight), rstd) : rstd;
  if (x_alone) v.grad(kX) = mul(g, beside_x(scale));
  if (v.needs(kRunningMean)) v.grad(kRunningMean) = neg(mul(sum(g, layout.param_dims), scale));
  if (v.needs(kRunningVar)) {
    const Tensor deviation = sub(v.input(kX), beside_x(v.input(kRunningMean)));
    v.grad(kRunningVar) = mul(mul(mul(sum(mul(g, deviation), layout.param_dims), scale), mul(rstd, rstd)), -0.5);
  }
}

constexpr Saves kStatistics = saves_output(1) | saves_output(2);
constexpr Saves kRunning = saves_input(kRunningMean) | saves_input(kRunningVar);

// Training reads the batch's statistics, evaluation the running ones, and x only for those that are multiplied by it.
Saves refine_batch_norm(const void* attrs, int input, uint32_t, Saves declared) {
  if (!static_cast<const BatchNormAttrs*>(attrs)->training) {
    const Saves x = input == kX ? saves_input(kX) : saves_nothing();
    return {declared.bits & ~(kStatistics | x).bits};
  }
  if (input == kRunningMean || input == kRunningVar) return saves_nothing();
  return {declared.bits & ~kRunning.bits};
}

constexpr OpDef kBatchNorm{
    .name = "batch_norm",
    .kind = OpKind::kGeneral,
    .inputs = 5,
    .outputs = 3,
    .optional_inputs = 0b11110,
    .cast_inputs = 0b11001,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer = infer_batch_norm,
    .attrs = attrs_type<BatchNormAttrs>,
    .saves = {saves_input(kX) | saves_input(kRunningVar) | saves_input(kWeight) | kStatistics,
              saves_input(kRunningVar) | saves_input(kWeight), saves_input(kX) | kRunning | saves_input(kWeight),
              saves_input(kX) | kRunning | kStatistics, saves_nothing()},
    .refine_saves = refine_batch_norm,
    .vjp =
        [](Vjp& v) {
          const NormLayout layout = batch_norm_layout(v.input_shape(kX));
          v.attributes<BatchNormAttrs>().training ? training_vjp(v, layout) : evaluation_vjp(v, layout);
        },
    .non_differentiable_outputs = 0b110,
    .reference = {.tensors = batch_norm_reference}};
OpSlot batch_norm_slot{kBatchNorm, "norm"};

constexpr OpDef kBatchNormBackward{
    .name = "batch_norm_backward",
    .kind = OpKind::kGeneral,
    .inputs = 5,
    .outputs = 3,
    .optional_inputs = 0b10000,
    .cast_inputs = 0b10011,
    .dtypes = internal::norm_backward_dtypes,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          const Dims shape = call.input(1).shape();
          check_input(call, shape);
          infer_norm_backward(call, {shape[1]}, {shape[1]}, call.attributes<BatchNormBackwardAttrs>().wanted);
        },
    .attrs = attrs_type<BatchNormBackwardAttrs>,
    .saves = internal::kNormBackwardSaves,
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<BatchNormBackwardAttrs>();
          internal::norm_backward_vjp(v, batch_norm_layout(v.input_shape(1)), a.wanted, a.training);
        },
    .reference = {.tensors = [](const RefCall& call) {
      const auto& a = call.attributes<BatchNormBackwardAttrs>();
      const Dims& shape = call.inputs[1].shape;
      return internal::norm_backward_reference(call, batch_norm_layout(shape), {shape[1]}, a.wanted, a.training);
    }}};
OpSlot batch_norm_backward_slot{kBatchNormBackward, "norm"};

void move_towards(const Tensor& running, const Tensor& batch, double momentum) {
  if (!running.defined()) return;
  Tensor self = running;
  self.mul_(1 - momentum).add_(batch, momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  const double count = x.dim() < 2 ? 2 : static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
  if (training && count <= 1)
    throw_error<InvalidArgumentError>("batch_norm: x ", x.shape(),
                                      " has no two values for each channel, so that there is no variance; train with a "
                                      "larger batch, or evaluate");
  const BatchNormAttrs attrs{training, eps};
  const Tensor* inputs[] = {&x, &running_mean, &running_var, &weight, &bias};
  std::vector<Tensor> outputs = call_all(batch_norm_slot, inputs, &attrs);
  if (training) {
    const ModeGuard no_grad(0, kModeGrad);
    move_towards(running_mean, outputs[1], momentum);
    if (running_var.defined()) move_towards(running_var, outputs[2] * (count / (count - 1)), momentum);
  }
  return std::move(outputs[0]);
}

}  // namespace vellum
