#include "vellum/backends/cuda/kernels/elementwise.cuh"
#include "vellum/backends/cuda/kernels/families.h"
#include "vellum/backends/cuda/kernels/functors.h"

namespace vellum::cuda {
namespace {

template <template <typename> class Op>
void append_numbers(std::vector<KernelEntry>& kernels, std::string_view name) {
  append_integers<Op>(kernels, name);
  append_floats<Op>(kernels, name);
  append_complex<Op>(kernels, name);
}

}  // namespace

std::vector<KernelEntry> pointwise_kernels() {
  std::vector<KernelEntry> kernels;
  append_numbers<Add>(kernels, "add");
  append_numbers<Sub>(kernels, "sub");
  append_numbers<Mul>(kernels, "mul");
  append_floats<Div>(kernels, "div");
  append_complex<Div>(kernels, "div");
  append_numbers<Neg>(kernels, "neg");
  append_complex<Conj>(kernels, "conj");
  append_floats<Exp>(kernels, "exp");
  append_complex<Exp>(kernels, "exp");
  append_integers<Relu>(kernels, "relu");
  append_floats<Relu>(kernels, "relu");
  append_integers<ReluBackward>(kernels, "relu_backward");
  append_floats<ReluBackward>(kernels, "relu_backward");
  return kernels;
}

}  // namespace vellum::cuda
