#include <cmath>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/norm_gradient.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// layer_norm. batch_norm is in norm_batch.cc.

namespace vellum {
namespace {

using internal::check_operand;
using internal::infer_norm_backward;
using internal::layer_norm_layout;
using internal::NormLayout;

Dims last(const Dims& shape, int count) {
  return Dims(std::span<const int64_t>(shape.end() - count, static_cast<size_t>(count)));
}

void check_rank(const OpCall& call, const Dims& shape, int rank) {
  if (rank < 1 || rank > shape.size())
    throw_error<ShapeError>(call.op.name, ": cannot normalize the last ", rank, " dimensions of ", shape);
}

void infer_layer_norm(Inference& call) {
  const int rank = call.attributes<LayerNormAttrs>().rank;
  const Dims shape = call.input(0).shape();
  check_rank(call, shape, rank);
  check_operand(call, "weight", call.input(1), last(shape, rank));
  check_operand(call, "bias", call.input(2), last(shape, rank));
  call.add_output(shape);
  const Dims statistics = layer_norm_layout(shape, rank).stat_shape;
  const DType dtype = internal::statistics_dtype(call.dtypes.compute);
  call.add_by_product(statistics, dtype);  // mean
  call.add_by_product(statistics, dtype);  // rstd
}

std::vector<RefTensor> layer_norm_reference(const RefCall& call) {
  const auto& a = call.attributes<LayerNormAttrs>();
  const RefTensor &x = call.inputs[0], &weight = call.inputs[1], &bias = call.inputs[2];
  const internal::NormIndex at(x.shape, layer_norm_layout(x.shape, a.rank));
  std::vector<double> mean(at.stats), var(at.stats);
  for (size_t i = 0; i < x.values.size(); ++i) mean[at.stat[i]] += x.values[i].real() / at.count;
  for (size_t i = 0; i < x.values.size(); ++i)
    var[at.stat[i]] += std::pow(x.values[i].real() - mean[at.stat[i]], 2) / at.count;
  RefTensor y = x;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t s = at.stat[i], p = at.param[i];
    y.values[i] = (x.values[i].real() - mean[s]) / std::sqrt(var[s] + a.eps);
    if (!weight.values.empty()) y.values[i] *= weight.values[p];
    if (!bias.values.empty()) y.values[i] += bias.values[p];
  }
  RefTensor means =
      reference::zeros(layer_norm_layout(x.shape, a.rank).stat_shape, internal::statistics_dtype(call.compute));
  RefTensor rstd = means;
  for (size_t s = 0; s < mean.size(); ++s) {
    means.values[s] = mean[s];
    rstd.values[s] = 1 / std::sqrt(var[s] + a.eps);
  }
  return {y, means, rstd};
}

extern OpSlot layer_norm_backward_slot;

void layer_norm_vjp(Vjp& v) {
  const auto& a = v.attributes<LayerNormAttrs>();
  const Tensor& g = v.cotangent();
  const NormLayout layout = layer_norm_layout(v.input_shape(0), a.rank);
  if (!v.needs(0) && !v.needs(1)) {
    v.grad(2) = internal::sum_over(g, layout.param_dims);
    return;
  }
  const Tensor& x = v.input(0);
  Tensor mean = v.by_product(0), rstd = v.by_product(1);
  if (x.requires_grad()) {  // this pass is recorded, but by-products have no history
    const internal::Statistics statistics = internal::recorded_statistics(x, layout);
    mean = statistics.mean;
    rstd = internal::reciprocal_deviation(statistics.var, a.eps);
  }
  const Tensor weight = v.needs(0) ? v.input(1) : Tensor();
  const LayerNormBackwardAttrs attrs{a.rank, uint8_t((v.needs(0) ? kWantsInput : 0) | (v.needs(1) ? kWantsWeight : 0) |
                                                     (v.needs(2) ? kWantsBias : 0))};
  const Tensor* inputs[] = {&g, &x, &mean, &rstd, &weight};
  const std::vector<Tensor> gradients = call_all(layer_norm_backward_slot, inputs, &attrs);
  for (int i = 0; i < 3; ++i)
    if (v.needs(i)) v.grad(i) = gradients[static_cast<size_t>(i)];
}

constexpr Saves kInputAndStatistics = saves_input(0) | saves_by_product(0) | saves_by_product(1);

constexpr OpDef kLayerNorm{.name = "layer_norm",
                           .kind = OpKind::kGeneral,
                           .inputs = 3,
                           .by_products = 2,
                           .optional_inputs = 0b110,
                           .dtypes = dtype_rules::same,
                           .domain = kFloatingDTypes,
                           .infer = infer_layer_norm,
                           .attrs = attrs_type<LayerNormAttrs>,
                           .saves = {kInputAndStatistics | saves_input(1), kInputAndStatistics, saves_nothing()},
                           .vjp = layer_norm_vjp,
                           .reference = {.tensors = layer_norm_reference}};
OpSlot layer_norm_slot{kLayerNorm, "norm"};

constexpr OpDef kLayerNormBackward{
    .name = "layer_norm_backward",
    .kind = OpKind::kGeneral,
    .inputs = 5,
    .outputs = 3,
    .optional_inputs = 0b10000,
    .cast_inputs = 0b10011,
    .dtypes = internal::norm_backward_dtypes,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          const auto& a = call.attributes<LayerNormBackwardAttrs>();
          const Dims shape = call.input(1).shape();
          check_rank(call, shape, a.rank);
          infer_norm_backward(call, layer_norm_layout(shape, a.rank).stat_shape, last(shape, a.rank), a.wanted);
        },
    .attrs = attrs_type<LayerNormBackwardAttrs>,
    .saves = internal::kNormBackwardSaves,
    .vjp =
        [](Vjp& v) {
          const auto& a = v.attributes<LayerNormBackwardAttrs>();
          internal::norm_backward_vjp(v, layer_norm_layout(v.input_shape(1), a.rank), a.wanted, true);
        },
    .reference = {.tensors = [](const RefCall& call) {
      const auto& a = call.attributes<LayerNormBackwardAttrs>();
      const Dims& shape = call.inputs[1].shape;
      return internal::norm_backward_reference(call, layer_norm_layout(shape, a.rank), last(shape, a.rank), a.wanted,
                                               true);
    }}};
OpSlot layer_norm_backward_slot{kLayerNormBackward, "norm"};

}  // namespace

Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight, const Tensor& bias, double eps) {
  const int rank = normalized_shape.size();
  if (rank < 1 || rank > x.dim() || last(x.shape(), rank) != normalized_shape)
    throw_error<ShapeError>("layer_norm: normalized_shape ", normalized_shape, " is not how the shape of x, ",
                            x.shape(), ", ends");
  const LayerNormAttrs attrs{rank, eps};
  return call(layer_norm_slot, {&x, &weight, &bias}, &attrs);
}

}  // namespace vellum
