#include <cmath>
#include <numbers>

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum {
namespace {

uint64_t draws_for(const Tensor& t) { return static_cast<uint64_t>(t.numel()) * (t.dtype() == kFloat64 ? 2 : 1); }

// The scalar statement of what generator.h documents.
struct ReferenceDraws {
  RandomState state;
  DType dtype;

  uint32_t draw(uint64_t d) const { return philox(state.seed, (state.offset + d) / 4)[(state.offset + d) % 4]; }
  double uniform(uint64_t i) const {
    if (dtype != kFloat64) return (draw(i) >> 8) * 0x1p-24;
    return static_cast<double>((uint64_t{draw(2 * i)} << 32 | draw(2 * i + 1)) >> 11) * 0x1p-53;
  }
  double normal(uint64_t i) const {
    const uint64_t pair = i & ~uint64_t{1};
    const double radius = std::sqrt(-2 * std::log(1 - uniform(pair)));
    const double angle = 2 * std::numbers::pi * uniform(pair + 1);
    return radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  }
};

template <typename Attrs, typename F>
std::vector<RefTensor> random_reference(const RefCall& call, F value) {
  RefTensor out = call.inputs[0];
  const ReferenceDraws draws{call.random, call.compute};
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] = value(draws, i, call.attributes<Attrs>());
  return {out};
}

constexpr OpDef kUniform{.name = "uniform_",
                         .kind = OpKind::kGeneral,
                         .dtypes = dtype_rules::same,
                         .domain = kFloatingDTypes,
                         .infer = shape_rules::same,
                         .attrs = attrs_type<UniformAttrs>,
                         .draws = [](const OpCall& call) { return draws_for(call.input(0)); },
                         .vjp = [](Vjp&) {},
                         .overwrites = true,
                         .reference = {.tensors = [](const RefCall& call) {
                           return random_reference<UniformAttrs>(
                               call, [](const ReferenceDraws& d, size_t i, const UniformAttrs& a) {
                                 return a.from + (a.to - a.from) * d.uniform(i);
                               });
                         }}};
OpSlot uniform_slot{kUniform, "random"};

constexpr OpDef kNormal{
    .name = "normal_",
    .kind = OpKind::kGeneral,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer = shape_rules::same,
    .attrs = attrs_type<NormalAttrs>,
    .draws = [](const OpCall& call) { return draws_for(call.input(0)) + 4; },  // the last pair may be cut in half
    .vjp = [](Vjp&) {},
    .overwrites = true,
    .reference = {.tensors = [](const RefCall& call) {
      return random_reference<NormalAttrs>(
          call, [](const ReferenceDraws& d, size_t i, const NormalAttrs& a) { return a.mean + a.std * d.normal(i); });
    }}};
OpSlot normal_slot{kNormal, "random"};

// --- dropout: the by-product {seed, offset} regenerates the mask, so no mask is kept.

void check_probability(const OpCall& call, double p) {
  if (!(p >= 0 && p <= 1)) throw_error<InvalidArgumentError>(call.op.name, ": p must lie in [0, 1], it is ", p);
}

RefTensor masked(const RefTensor& x, const RandomState& state, double p) {
  RefTensor out = x;
  const ReferenceDraws draws{state, kFloat32};
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = p < 1 && draws.uniform(i) >= p ? x.values[i] / (1 - p) : 0.0;
  return out;
}

constexpr OpDef kDropout{
    .name = "dropout",
    .kind = OpKind::kGeneral,
    .by_products = 1,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          check_probability(call, call.attributes<DropoutAttrs>().p);
          call.add_output(call.input(0).shape());
          call.add_by_product({2}, kInt64);
        },
    .attrs = attrs_type<DropoutAttrs>,
    .draws = [](const OpCall& call) { return static_cast<uint64_t>(call.input(0).numel()); },
    .saves = {saves_by_product(0)},
    .vjp = [](Vjp& v) { v.grad() = dropout_backward(v.cotangent(), v.by_product(0), v.attributes<DropoutAttrs>().p); },
    .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
      return {masked(call.inputs[0], call.random, call.attributes<DropoutAttrs>().p)};
    }}};
OpSlot dropout_slot{kDropout, "random"};

constexpr OpDef kDropoutBackward{
    .name = "dropout_backward",
    .kind = OpKind::kGeneral,
    .inputs = 2,
    .cast_inputs = 0b01,
    .dtypes = dtype_rules::same,
    .domain = kFloatingDTypes,
    .infer =
        [](Inference& call) {
          check_probability(call, call.attributes<DropoutAttrs>().p);
          const Tensor& state = call.input(1);
          if (state.dtype() != kInt64 || state.shape() != Dims{2})
            throw_error<ShapeError>("dropout_backward: the random state must be int64[2], it is ", state.dtype(),
                                    state.shape(), "; take the one that the forward pass made");
          call.add_output(call.input(0).shape());
        },
    .attrs = attrs_type<DropoutAttrs>,
    .saves = {saves_input(1)},
    .vjp =
        [](Vjp& v) {
          if (v.needs(0)) v.grad(0) = dropout_backward(v.cotangent(), v.input(1), v.attributes<DropoutAttrs>().p);
        },
    .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
      const auto& state = call.inputs[1].values;
      return {masked(call.inputs[0], {static_cast<uint64_t>(state[0].real()), static_cast<uint64_t>(state[1].real())},
                     call.attributes<DropoutAttrs>().p)};
    }}};
OpSlot dropout_backward_slot{kDropoutBackward, "random"};

void check_random_dtype(const char* op, DType t) {
  if (!is_floating(t) && !is_complex(t))
    throw_error<DTypeError>(op, ": random numbers need a floating or complex dtype, this is ", t);
}

}  // namespace

Tensor& Tensor::uniform_(double from, double to) {
  if (!(from <= to)) throw_error<InvalidArgumentError>("uniform_: from ", from, " must not be above to ", to);
  if (is_complex()) throw_error<DTypeError>("uniform_: takes real tensors; fill view_as_real() instead");
  check_random_dtype("uniform_", dtype());
  const UniformAttrs attrs{from, to};
  const Tensor* inputs[] = {this};
  call_in_place(uniform_slot, *this, inputs, &attrs);
  return *this;
}

Tensor& Tensor::normal_(double mean, double std) {
  if (!(std >= 0)) throw_error<InvalidArgumentError>("normal_: std must be 0 or more, it is ", std);
  check_random_dtype("normal_", dtype());
  if (is_complex()) {  // half of the variance in each part
    view_as_real().normal_(0, std / std::numbers::sqrt2);
    if (mean != 0) add_(Scalar(mean));
    return *this;
  }
  const NormalAttrs attrs{mean, std};
  const Tensor* inputs[] = {this};
  call_in_place(normal_slot, *this, inputs, &attrs);
  return *this;
}

Tensor rand(const Dims& shape, const TensorOptions& options) {
  TensorOptions plain = options;
  plain.requires_grad = false;
  Tensor t = empty(shape, plain);
  check_random_dtype("rand", t.dtype());
  const ModeGuard no_grad(0, kModeGrad);
  if (t.is_complex())
    t.view_as_real().uniform_();
  else
    t.uniform_();
  if (options.requires_grad) t.requires_grad_();
  return t;
}

Tensor randn(const Dims& shape, const TensorOptions& options) {
  TensorOptions plain = options;
  plain.requires_grad = false;
  Tensor t = empty(shape, plain);
  check_random_dtype("randn", t.dtype());
  const ModeGuard no_grad(0, kModeGrad);
  t.normal_();
  if (options.requires_grad) t.requires_grad_();
  return t;
}

// Fisher-Yates from the CPU generator, with Lemire's multiply to map a draw to a range.
Tensor randperm(int64_t n, const TensorOptions& options) {
  if (n < 0 || n >= int64_t{1} << 32) throw_error<InvalidArgumentError>("randperm: n must lie in [0, 2^32), it is ", n);
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  const RandomState state = default_generator().reserve(static_cast<uint64_t>(n));
  for (int64_t i = n - 1; i > 0; --i) {
    const uint64_t d = state.offset + static_cast<uint64_t>(i);
    const uint64_t draw = philox(state.seed, d / 4)[d % 4];
    std::swap(order[i], order[draw * static_cast<uint64_t>(i + 1) >> 32]);
  }
  TensorOptions typed = options;
  if (typed.dtype == DType::kUndefined) typed.dtype = kInt64;
  return tensor(order, typed);
}

Tensor dropout(const Tensor& x, double p, bool training) {
  if (!(p >= 0 && p <= 1)) throw_error<InvalidArgumentError>("dropout: p must lie in [0, 1], it is ", p);
  if (!training || p == 0) return x;
  const DropoutAttrs attrs{p};
  return call(dropout_slot, {&x}, &attrs);
}

Tensor dropout_backward(const Tensor& grad, const Tensor& state, double p) {
  const DropoutAttrs attrs{p};
  return call(dropout_backward_slot, {&grad, &state}, &attrs);
}

}  // namespace vellum
