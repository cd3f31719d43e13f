// Every sample of every operator, with its gradient and its form in place: the dry run touches no memory (it would
// fault) and finds what the run needs. What fails in a run fails alike in the dry run.

#include <algorithm>

#include "vellum/tensor/op_def.h"
#include "vellum/tests/conformance/sample.h"
#include "vellum/tests/conformance/values.h"
#include "vellum/tests/memory/predict_testing.h"

namespace vellum {
namespace {

using conformance::Layout;
using conformance::Operands;
using conformance::Sample;

constexpr DType kDTypes[] = {kBool, kInt64, kBFloat16, kFloat32, kFloat64, kComplex64};
constexpr Layout kLayouts[] = {Layout::kContiguous, Layout::kTransposed, Layout::kSliced};

enum class Form : uint8_t { kFunctional, kInPlace };

// A tensor with the values of one from outside, that lies as that does.
Tensor made_like(const Tensor& outside) {
  if (!outside.defined()) return {};
  int64_t last = 0;
  for (int d = 0; d < outside.dim(); ++d) last += std::max<int64_t>(outside.size(d) - 1, 0) * outside.stride(d);
  const TensorOptions options(outside.dtype(), outside.device());
  const Tensor memory = empty({outside.numel() == 0 ? 0 : last + 1}, options);
  return memory.as_strided(outside.shape(), outside.strides(), 0).detach().copy_(outside);
}

// One call on operands that it makes, of which those that can carry gradients do.
struct Program {
  OpSlot& slot;
  const Sample& sample;
  const Operands& outside;
  Form form;

  void operator()() const {
    std::vector<Tensor> leaves, operands;
    for (const Tensor& t : outside.tensors) {
      leaves.push_back(made_like(t));
      if (t.defined() && is_differentiable(t.dtype())) leaves.back().requires_grad_();
    }
    operands = leaves;
    if (form == Form::kInPlace) operands[0] = leaves[0].clone();
    std::vector<const Tensor*> inputs;
    for (const Tensor& t : operands) inputs.push_back(&t);
    std::vector<Tensor> outputs{operands[0]};
    if (form == Form::kInPlace)
      call_in_place(slot, operands[0], inputs, sample.attrs.get());
    else
      outputs = call_all(slot, inputs, sample.attrs.get());
    differentiate(leaves, outputs);
  }

 private:
  static void differentiate(const std::vector<Tensor>& leaves, const std::vector<Tensor>& outputs) {
    std::vector<Tensor> roots, seeds, wanted;
    for (const Tensor& t : outputs)
      if (t.requires_grad()) roots.push_back(t), seeds.push_back(ones_like(t));
    for (const Tensor& t : leaves)
      if (t.defined() && t.requires_grad()) wanted.push_back(t);
    if (!roots.empty()) grad(roots, wanted, seeds, {.allow_unused = true});
  }
};

// Whether the run succeeds.
bool compare(const Program& program) {
  const PredictOptions options{.strategy = "caching"};
  MemoryPeaks measured;
  try {
    measured = measure_peak(program, options);
  } catch (const Error& error) {
    EXPECT_EQ(testing::message_of<Error>([&] { predict_peak(program, options); }), error.what());
    return false;
  }
  testing::expect_same(predict_peak(program, options), measured);
  return true;
}

class PredictedOperator : public ::testing::TestWithParam<std::string> {
 protected:
  // The number of calls that ran.
  int compare_samples(Form form) {
    set_num_threads(1);
    OpSlot& slot = *find_operator(GetParam());
    int runs = 0;
    uint64_t seed = 1;
    for (const Sample& sample : conformance::find_samples(GetParam())(Device(kCPU))) {
      ++seed;
      for (const DType dtype : kDTypes)
        for (const Layout layout : kLayouts) {
          const std::optional<Operands> operands = conformance::make_operands(sample, dtype, layout, kCPU, seed);
          if (!operands || (form == Form::kInPlace && !operands->tensors[0].defined())) continue;
          SCOPED_TRACE(str_cat("sample ", seed - 2, ", ", dtype, ", ", conformance::layout_name(layout)));
          runs += compare(Program{slot, sample, *operands, form});
        }
    }
    return runs;
  }
};

TEST_P(PredictedOperator, NeedsWhatTheRunNeeds) {
  const OpDef& op = find_operator(GetParam())->def();
  EXPECT_GT(compare_samples(op.overwrites ? Form::kInPlace : Form::kFunctional), 0);
}

TEST_P(PredictedOperator, NeedsWhatTheRunNeedsInPlace) { compare_samples(Form::kInPlace); }

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const OpSlot* slot : all_operators()) names.emplace_back(slot->def().name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Operators, PredictedOperator, ::testing::ValuesIn(all_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace vellum
