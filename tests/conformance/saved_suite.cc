// The graph keeps what the definition declares for the gradients that are wanted, and nothing else.

#include <algorithm>
#include <array>
#include <map>

#include "vellum/autograd/node.h"
#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

// Bytes by what they are: "input 0", "output 0", "by-product 0".
using Kept = std::map<std::string, int64_t>;

std::string text(const Kept& kept) {
  std::string out;
  for (const auto& [name, bytes] : kept) out += str_cat(out.empty() ? "" : ", ", name, " of ", bytes, " bytes");
  return out.empty() ? "nothing" : out;
}

class Collector final : public autograd::OwnerVisitor {
 public:
  explicit Collector(const Operands& operands) : operands_(operands) {}

  void edge(const autograd::Edge&) override {}
  void saved(const Tensor& tensor, std::string_view slot) override {
    kept_[std::string(slot)] += tensor.nbytes();
    if (!slot.starts_with("input ")) return;
    const size_t i = static_cast<size_t>(slot[6] - '0');
    if (!tensor.shares_storage_with(operands_.tensors[i])) kept_[str_cat(slot, " as a copy")] = tensor.nbytes();
  }
  const Kept& kept() const { return kept_; }

 private:
  const Operands& operands_;
  Kept kept_;
};

Kept declared(const OpDef& op, const Operands& operands, const Sample& sample, const std::vector<Tensor>& outputs,
              uint32_t needs) {
  Saves saves;
  for (int i = 0; i < std::min<int>(kMaxInputs, static_cast<int>(operands.tensors.size())); ++i) {
    if (!(needs >> i & 1)) continue;
    const Saves own = op.saves[static_cast<size_t>(i)];
    saves = saves | (op.refine_saves ? op.refine_saves(sample.attrs.get(), i, needs, own) : own);
  }
  Kept kept;
  for (size_t i = 0; i < operands.tensors.size() && i < 8; ++i)
    if (saves.has_input(static_cast<int>(i)) && operands.tensors[i].defined())
      kept[str_cat("input ", i)] = operands.tensors[i].nbytes();
  for (size_t i = 0; i < outputs.size() && i < 8; ++i)
    if (saves.has_output(static_cast<int>(i))) kept[str_cat("output ", i)] = outputs[i].nbytes();
  if (!saves.any_by_product()) return kept;
  Inference inference({op, operands.inputs(), sample.attrs.get()}, *dtypes_of(op, operands, sample));
  op.infer(inference);
  for (size_t i = 0; i < inference.by_products.size(); ++i)
    if (saves.has_by_product(static_cast<int>(i)))
      kept[str_cat("by-product ", i)] =
          numel_of(inference.by_products[i].shape) * static_cast<int64_t>(dtype_size(inference.by_products[i].dtype));
  return kept;
}

class Saved : public OperatorTest {
 protected:
  std::string check(const Sample& sample, Operands operands, uint32_t needs) {
    for (size_t i = 0; i < operands.tensors.size(); ++i)
      if (needs >> i & 1) operands.tensors[i].requires_grad_();
    const std::vector<Tensor> outputs = call_all(slot(), operands.inputs(), sample.attrs.get());
    if (outputs.empty() || !outputs[0].grad_fn()) return "the call was not recorded";
    Collector collector(operands);
    static_cast<const autograd::Node*>(outputs[0].grad_fn().node())->visit_owned(collector);
    const Kept expected = declared(op(), operands, sample, outputs, needs);
    if (collector.kept() == expected) return {};
    return str_cat("the graph keeps ", text(collector.kept()), ", declared is ", text(expected));
  }
};

TEST_P(Saved, IsWhatIsDeclared) {
  Verdict verdict("saved", GetParam());
  uint64_t seed = 400;
  for (const Sample& sample : samples()) {
    ++seed;
    for (const DType dtype : {kFloat32, kComplex64}) {
      const std::optional<Operands> probe = make_operands(sample, dtype, Layout::kContiguous, device(), seed);
      if (!dtypes_of(op(), *probe, sample) || !is_differentiable(dtypes_of(op(), *probe, sample)->output)) continue;
      uint32_t possible = 0;
      for (size_t i = 0; i < probe->tensors.size(); ++i)
        if (probe->tensors[i].defined() && is_differentiable(probe->tensors[i].dtype())) possible |= 1u << i;
      for (uint32_t needs = 1; needs <= possible; ++needs) {
        if (needs & ~possible) continue;
        Operands operands = *make_operands(sample, dtype, Layout::kContiguous, device(), seed);
        verdict.check(dtype, Layout::kContiguous, str_cat("sample ", seed - 401, ", gradients ", needs),
                      [&] { return check(sample, operands, needs); });
      }
    }
  }
}
// --- A declaration names what its gradient reads, no less and no more.

// Hands a gradient everything, and notes what it asks for.
class ReadingVjp final : public Vjp {
 public:
  ReadingVjp(const Operands& operands, const std::vector<Tensor>& outputs, const std::vector<Tensor>& by_products,
             const void* attrs, int wanted, std::span<const Tensor> cotangents, std::span<Tensor> gradients)
      : Vjp(attrs, cotangents, gradients),
        operands_(operands.tensors),
        outputs_(outputs),
        by_products_(by_products),
        wanted_(wanted) {}

  const Tensor& input(int i) const override { return note(saves_input(i), operands_[static_cast<size_t>(i)]); }
  const Tensor& output(int i) const override { return note(saves_output(i), outputs_[static_cast<size_t>(i)]); }
  const Tensor& by_product(int i) const override {
    return note(saves_by_product(i), by_products_[static_cast<size_t>(i)]);
  }
  Dims input_shape(int i) const override { return operands_[static_cast<size_t>(i)].shape(); }
  DType input_dtype(int i) const override { return operands_[static_cast<size_t>(i)].dtype(); }
  Dims output_shape(int i) const override { return outputs_[static_cast<size_t>(i)].shape(); }
  DType output_dtype(int i) const override { return outputs_[static_cast<size_t>(i)].dtype(); }
  Device device() const override { return outputs_[0].device(); }
  bool needs(int i) const override { return i == wanted_; }

  Saves read() const { return read_; }

 private:
  const Tensor& note(Saves which, const Tensor& t) const {
    read_ = read_ | which;
    return t;
  }

  const std::vector<Tensor>&operands_, &outputs_, &by_products_;
  int wanted_;
  mutable Saves read_;
};

// What the gradient of input `wanted` reads in this call.
Saves reads(OpSlot& slot, const Operands& operands, const Sample& sample, int wanted) {
  const OpDef& op = slot.def();
  const std::vector<Tensor> outputs = call_all(slot, operands.inputs(), sample.attrs.get());
  std::vector<Tensor> cotangents, by_products, gradients(operands.tensors.size());
  for (const Tensor& t : outputs) cotangents.push_back(is_differentiable(t.dtype()) ? ones_like(t) : Tensor());
  if (op.by_products > 0) {
    Inference inference({op, operands.inputs(), sample.attrs.get()}, *dtypes_of(op, operands, sample));
    op.infer(inference);
    for (const OutputSpec& spec : inference.by_products)
      by_products.push_back(zeros(spec.shape, {spec.dtype, outputs[0].device()}));
  }
  ReadingVjp vjp(operands, outputs, by_products, sample.attrs.get(), wanted, cotangents, gradients);
  op.vjp(vjp);
  return vjp.read();
}

TEST_P(Saved, IsWhatTheGradientReads) {
  Verdict verdict("saved", GetParam());
  std::array<Saves, kMaxInputs> read{};
  uint32_t tried = 0;
  for (const Sample& sample : samples())
    for (const DType dtype : {kFloat32, kComplex64}) {
      const std::optional<Operands> operands = make_operands(sample, dtype, Layout::kContiguous, device(), 1);
      const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
      if (!types || !is_differentiable(types->output)) continue;
      for (int i = 0; i < std::min<int>(kMaxInputs, static_cast<int>(operands->tensors.size())); ++i) {
        const Tensor& t = operands->tensors[static_cast<size_t>(i)];
        if (!t.defined() || !is_differentiable(t.dtype())) continue;
        const Saves seen = reads(slot(), *operands, sample, i);
        read[static_cast<size_t>(i)] = read[static_cast<size_t>(i)] | seen;
        tried |= 1u << i;
        if (!op().refine_saves) continue;
        verdict.check(dtype, Layout::kContiguous, str_cat("gradient ", i, ", refined"), [&]() -> std::string {
          const Saves declared = op().saves[static_cast<size_t>(i)];
          const uint32_t refined = op().refine_saves(sample.attrs.get(), i, 1u << i, declared).bits;
          return refined == seen.bits ? "" : str_cat("refines to the bits ", refined, ", but reads ", seen.bits);
        });
      }
    }
  for (int i = 0; i < kMaxInputs; ++i)
    verdict.check(kFloat32, Layout::kContiguous, str_cat("gradient ", i), [&]() -> std::string {
      const uint32_t declared = op().saves[static_cast<size_t>(i)].bits, seen = read[static_cast<size_t>(i)].bits;
      if (!(tried >> i & 1) || declared == seen) return {};
      return str_cat("declares the bits ", declared, " of Saves, but reads ", seen);
    });
}

INSTANTIATE_TEST_SUITE_P(Operators, Saved, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return op.vjp != nullptr && !op.overwrites;
                         })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
