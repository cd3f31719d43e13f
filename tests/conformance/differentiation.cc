#include "vellum/tests/conformance/differentiation.h"

#include "vellum/autograd/autograd.h"
#include "vellum/autograd/grad_mode.h"
#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum::conformance {
namespace {

constexpr double kStep = 1e-6;

}  // namespace

Function::Function(OpSlot& slot, const Sample& sample, Operands operands, bool in_place)
    : slot_(slot), sample_(sample), operands_(std::move(operands)), in_place_(in_place || slot.def().overwrites) {
  for (size_t i = 0; i < operands_.tensors.size(); ++i)
    if (operands_.tensors[i].defined() && is_differentiable(operands_.tensors[i].dtype()))
      variables_.push_back(static_cast<int>(i));
}

std::vector<RefTensor> Function::variable_values() const {
  std::vector<RefTensor> values;
  for (const int i : variables_) values.push_back(operands_.values[static_cast<size_t>(i)]);
  return values;
}

std::vector<Tensor> Function::leaves(const std::vector<RefTensor>& values, uint32_t wanted) const {
  std::vector<Tensor> leaves;
  for (size_t k = 0; k < values.size(); ++k) {
    Tensor leaf = to_tensor(values[k], operands_.tensors[static_cast<size_t>(variables_[k])].device());
    if (wanted >> k & 1) leaf.requires_grad_();
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

std::vector<Tensor> Function::operator()(const std::vector<Tensor>& variables) const {
  Operands operands = operands_;
  for (size_t k = 0; k < variables.size(); ++k) operands.tensors[static_cast<size_t>(variables_[k])] = variables[k];
  if (in_place_) operands.tensors[0] = operands.tensors[0].clone();
  operands.point();
  std::vector<Tensor> outputs;
  if (slot_.def().draws) default_generator(operands.tensors[0].device()).set_state(kRandomState);
  if (in_place_) {
    call_in_place(slot_, operands.tensors[0], operands.inputs(), sample_.attrs.get());
    return {operands.tensors[0]};
  }
  outputs = call_all(slot_, operands.inputs(), sample_.attrs.get());
  std::vector<Tensor> differentiable;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (k >= 8 || !(slot_.def().non_differentiable_outputs >> k & 1)) differentiable.push_back(outputs[k]);
  return differentiable;
}

std::vector<RefTensor> gradients(const Function& f, const std::vector<RefTensor>& variables, size_t first,
                                 const std::vector<RefTensor>& cotangents, uint32_t wanted) {
  const std::vector<Tensor> leaves = f.leaves(variables, wanted);
  const std::vector<Tensor> outputs = f(leaves);
  std::vector<Tensor> roots, seeds, targets, found;
  for (size_t k = 0; k < cotangents.size(); ++k) {
    if (!outputs[first + k].requires_grad()) continue;
    roots.push_back(outputs[first + k]);
    seeds.push_back(to_tensor(cotangents[k], outputs[0].device()));
  }
  for (const Tensor& t : leaves)
    if (t.requires_grad()) targets.push_back(t);
  if (!roots.empty()) found = grad(roots, targets, seeds, {.allow_unused = true});
  found.resize(targets.size());
  std::vector<RefTensor> result;
  size_t next = 0;
  for (size_t k = 0; k < leaves.size(); ++k)
    result.push_back(read_gradient(leaves[k].requires_grad() ? found[next++] : Tensor(), variables[k]));
  return result;
}

double pairing(const std::vector<RefTensor>& cotangents, const std::vector<RefTensor>& outputs) {
  double total = 0;
  for (size_t k = 0; k < cotangents.size(); ++k)
    for (size_t i = 0; i < cotangents[k].values.size(); ++i)
      total += (std::conj(cotangents[k].values[i]) * outputs[k].values[i]).real();
  return total;
}

std::vector<RefTensor> finite_differences(const std::function<double(const std::vector<RefTensor>&)>& loss,
                                          std::vector<RefTensor> point) {
  std::vector<RefTensor> result;
  for (size_t k = 0; k < point.size(); ++k) {
    RefTensor gradient = reference::zeros(point[k].shape, point[k].dtype);
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      Complex& z = point[k].values[i];
      const Complex at = z;
      const auto slope = [&](Complex direction) {
        z = at + kStep * direction;
        const double above = loss(point);
        z = at - kStep * direction;
        const double below = loss(point);
        z = at;
        return (above - below) / (2 * kStep);
      };
      gradient.values[i] = slope(1);
      if (is_complex(gradient.dtype)) gradient.values[i] += Complex(0, slope(Complex(0, 1)));
    }
    result.push_back(std::move(gradient));
  }
  return result;
}

std::vector<RefTensor> random_like(const std::vector<RefTensor>& like, uint64_t seed) {
  std::vector<RefTensor> out;
  for (const RefTensor& t : like) out.push_back(make_values({t.shape}, t.dtype, seed++));
  return out;
}

RefTensor read_gradient(const Tensor& gradient, const RefTensor& like) {
  return gradient.defined() ? read(gradient) : reference::zeros(like.shape, like.dtype);
}

std::string differ(const std::vector<RefTensor>& actual, const std::vector<RefTensor>& expected, Tolerance tolerance) {
  for (size_t k = 0; k < expected.size(); ++k) {
    if (actual[k].shape != expected[k].shape || actual[k].dtype != expected[k].dtype)
      return str_cat("variable ", k, " has a gradient of ", actual[k].dtype, actual[k].shape, ", it is ",
                     expected[k].dtype, expected[k].shape);
    for (size_t i = 0; i < expected[k].values.size(); ++i)
      if (!is_close(actual[k].values[i], expected[k].values[i], tolerance))
        return str_cat("the gradient of variable ", k, " at ", i, " is ", actual[k].values[i], ", expected ",
                       expected[k].values[i]);
  }
  return {};
}

}  // namespace vellum::conformance
