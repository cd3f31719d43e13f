#include "vellum/nn/functional.h"
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

// Scores or log-probabilities [N, C] with a class for each row.
void require_classes(const Tensor& input, const Tensor& target) {
  if (input.dim() != 2) throw Unsupported("an input that is not [N, C]");
  if (target.dtype() != kInt64) throw Unsupported("a target of probabilities");
}

const Bindings kBindings{
    {"nn.functional.nll_loss",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
       require_classes(input, target);
       return nll_loss(input, target, {reduction(a, 6), a.integer(4, "ignore_index", -100)});
     }},
    {"nn.functional.cross_entropy",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
       require_classes(input, target);
       return nn::functional::cross_entropy(input, target, {reduction(a, 6), a.integer(4, "ignore_index", -100)});
     }},
    {"nn.functional.mse_loss",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input"), target = a.tensor(1, "target");
       if (input.shape() != target.shape()) throw Unsupported("a target of another shape");
       return nn::functional::mse_loss(input, target, {reduction(a, 4)});
     }},
};

}  // namespace
}  // namespace vellum::replay
