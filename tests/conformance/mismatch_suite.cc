// Operands that fit neither each other nor the attributes: a clear error, or a result where the operator allows it, and
// never memory that is nobody's. What an accepted call touches is watched by AddressSanitizer (--config=asan).

#include "vellum/device/error.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

// Shapes beside the right one: a size less or more in each dimension, a dimension less or more, nothing at all.
std::vector<Dims> neighbours(const Dims& shape, bool of_any_rank) {
  std::vector<Dims> shapes;
  for (int i = 0; i < shape.size(); ++i)
    for (const int64_t change : {-1, 1, 3}) {
      Dims other = shape;
      other[i] += change;
      if (other[i] >= 0) shapes.push_back(other);
    }
  if (!of_any_rank) return shapes;
  Dims less = shape, more = shape;
  if (!less.empty()) {
    less.erase(0);
    shapes.push_back(less);
  }
  more.insert(0, 2);
  shapes.insert(shapes.end(), {more, Dims{}, Dims{0}, Dims{5}});
  return shapes;
}

class Mismatch : public OperatorTest {
 protected:
  // "" when the call gives a result or throws what users are to catch.
  std::string call(const Sample& sample) {
    std::optional<Operands> operands = make_operands(sample, kFloat32, Layout::kContiguous, device(), 1);
    try {
      call_sample(slot(), *operands, sample);
    } catch (const Error& e) {
      return std::string(e.what()).empty() ? "an error without a text" : "";
    }
    return {};
  }
};

TEST_P(Mismatch, IsAnErrorOrAResult) {
  Verdict verdict("mismatch", GetParam());
  for (const Sample& sample : samples())
    for (size_t i = 0; i < sample.operands.size(); ++i) {
      const Operand& operand = sample.operands[i];
      if (!operand.defined) continue;
      // The public functions wrap dimensions by the rank of input 0; the attributes here are wrapped already.
      for (const Dims& shape : neighbours(operand.shape, i > 0 || !sample.attrs)) {
        Sample other = sample;
        other.operands[i].shape = shape;
        other.operands[i].fixed.resize(operand.values == Values::kFixed ? static_cast<size_t>(numel_of(shape)) : 0);
        verdict.check(kFloat32, Layout::kContiguous, str_cat("operand ", i, " of shape ", shape),
                      [&] { return call(other); });
      }
      if (operand.dtype == DType::kUndefined) continue;
      Sample other = sample;
      other.operands[i].dtype = operand.dtype == kFloat64 ? kInt32 : kFloat64;
      verdict.check(kFloat32, Layout::kContiguous, str_cat("operand ", i, " of another dtype"),
                    [&] { return call(other); });
    }
}
// Views read what the geometry of their methods checked; tests/tensor has their errors.
INSTANTIATE_TEST_SUITE_P(Operators, Mismatch,
                         ::testing::ValuesIn(operator_names([](const OpDef& op) { return op.kind != OpKind::kView; })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
