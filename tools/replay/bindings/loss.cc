#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

Reduction reduction(Args& a, int position) {
  const std::string name = a.text(position, "reduction", "mean");
  if (name == "none") return Reduction::kNone;
  if (name == "sum") return Reduction::kSum;
  if (name != "mean") throw Unsupported("reduction " + name);
  return Reduction::kMean;
}

// (input, target, ..., reduction at `position`), both of one shape: the library does not broadcast them.
template <typename Options, typename Loss>
Results elementwise(Args& a, Loss loss, Options options, int position) {
  const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
  if (input.shape() != target.shape()) throw Unsupported("a target of another shape");
  options.reduction = reduction(a, position);
  return loss(input, target, options);
}

Results nll(Args& a) {
  const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
  return nll_loss(input, target, {reduction(a, 6), a.integer(4, "ignore_index", -100), a.optional_tensor(2, "weight")});
}

Results cross_entropy_of(Args& a) {
  const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
  return cross_entropy(input, target,
                       {reduction(a, 6), a.integer(4, "ignore_index", -100), a.optional_tensor(2, "weight"),
                        a.real(7, "label_smoothing", 0.0)});
}

Results binary_cross_entropy(Args& a) {
  BinaryCrossEntropyOptions options;
  options.weight = a.optional_tensor(2, "weight");
  options.pos_weight = a.optional_tensor(6, "pos_weight");
  return elementwise(a, binary_cross_entropy_with_logits, options, 5);
}

Results smooth_l1(Args& a) {
  SmoothL1LossOptions options;
  options.beta = a.real(5, "beta", 1.0);
  return elementwise(a, smooth_l1_loss, options, 4);
}

Results normalized_rows(Args& a) {
  const Tensor input = a.tensor(0, "input");
  return layer_norm(input, a.dims(1, "normalized_shape"), a.optional_tensor(2, "weight"), a.optional_tensor(3, "bias"),
                    a.real(4, "eps", 1e-5));
}

// Running statistics are copied, since the cases are of the result alone.
Results normalized_channels(Args& a) {
  const auto copied = [](const Tensor& t) { return t.defined() ? t.detach().clone() : t; };
  const Tensor input = a.tensor(0, "input");
  const Tensor mean = copied(a.optional_tensor(1, "running_mean")), var = copied(a.optional_tensor(2, "running_var"));
  return batch_norm(input, mean, var, a.optional_tensor(3, "weight"), a.optional_tensor(4, "bias"),
                    a.boolean(5, "training", false), a.real(6, "momentum", 0.1), a.real(7, "eps", 1e-5));
}

const Bindings kBindings{
    {"nn.functional.nll_loss", nll},
    {"nn.functional.cross_entropy", cross_entropy_of},
    {"nn.functional.mse_loss", [](Args& a) { return elementwise(a, mse_loss, MseLossOptions{}, 4); }},
    {"nn.functional.l1_loss", [](Args& a) { return elementwise(a, l1_loss, L1LossOptions{}, 4); }},
    {"nn.functional.smooth_l1_loss", smooth_l1},
    {"nn.functional.binary_cross_entropy_with_logits", binary_cross_entropy},
    {"nn.functional.layer_norm", normalized_rows},
    {"nn.functional.batch_norm", normalized_channels},
};

}  // namespace
}  // namespace vellum::replay
