#ifndef VELLUM_AUTOGRAD_AUTOGRAD_H_
#define VELLUM_AUTOGRAD_AUTOGRAD_H_

#include <optional>
#include <span>
#include <vector>

#include "vellum/autograd/grad_mode.h"
#include "vellum/tensor/tensor.h"

namespace vellum {

struct GradOptions {
  std::optional<bool> retain_graph = {};  // default: as create_graph
  bool create_graph = false;
  bool allow_unused = false;  // an input that the outputs do not depend on gets an undefined gradient, not an error
};

// dL/dinputs for L = sum of outputs[i] . grad_outputs[i]; .grad of the leaves is left alone. `grad_outputs` may be
// empty, or hold undefined tensors, where an output is a real scalar. Only the part of the graph between outputs and
// inputs runs. Throws AutogradError naming the input that needs no gradient or is not reached.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {}, GradOptions options = {});
std::vector<Tensor> grad(std::initializer_list<Tensor> outputs, std::initializer_list<Tensor> inputs,
                         std::initializer_list<Tensor> grad_outputs = {}, GradOptions options = {});

// Like Tensor::backward for several roots in one pass.
void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients = {}, BackwardOptions options = {});

}  // namespace vellum

#endif  // VELLUM_AUTOGRAD_AUTOGRAD_H_
