#include "vellum/backends/cuda/kernels/elementwise.cuh"
#include "vellum/backends/cuda/kernels/families.h"
#include "vellum/backends/cuda/kernels/functors.h"

namespace vellum::cuda {
namespace {

template <template <typename> class Op>
void append_reals(std::vector<KernelEntry>& kernels, std::string_view name) {
  append<Op, bool>(kernels, name);
  append_integers<Op>(kernels, name);
  append_floats<Op>(kernels, name);
}

}  // namespace

std::vector<KernelEntry> comparison_kernels() {
  std::vector<KernelEntry> kernels;
  append_reals<Eq>(kernels, "eq");
  append_complex<Eq>(kernels, "eq");
  append_reals<Ne>(kernels, "ne");
  append_complex<Ne>(kernels, "ne");
  append_reals<Lt>(kernels, "lt");
  append_reals<Le>(kernels, "le");
  append_reals<Gt>(kernels, "gt");
  append_reals<Ge>(kernels, "ge");
  return kernels;
}

}  // namespace vellum::cuda
