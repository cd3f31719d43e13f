// Every operator, dtype and layout against its reference.

#include "vellum/device/error.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

class Forward : public OperatorTest {
 protected:
  void run(const Sample& sample, DType dtype, Layout layout, uint64_t seed, Verdict& verdict);
};

bool is_writable(const OpDef& op, Layout layout) { return !op.overwrites || layout != Layout::kExpanded; }

std::string compare(const OpDef& op, const std::vector<Tensor>& results, const std::vector<RefTensor>& expected) {
  if (results.size() != expected.size()) return str_cat(results.size(), " outputs, expected ", expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string wrong = difference(results[i], expected[i], tolerance(op.name, expected[i].dtype));
    if (!wrong.empty()) return str_cat("output ", i, ": ", wrong);
  }
  return {};
}

void Forward::run(const Sample& sample, DType dtype, Layout layout, uint64_t seed, Verdict& verdict) {
  std::optional<Operands> operands = make_operands(sample, dtype, layout, device(), seed);
  if (!operands || !is_writable(op(), layout)) return;
  const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
  const std::string what = str_cat("sample ", seed);
  if (!types) {
    verdict.check(dtype, layout, what, [&]() -> std::string {
      if (op().domain.contains(dtype)) return "is in the domain but is refused";
      return throws<DTypeError>([&] { call_sample(slot(), *operands, sample); });
    });
    return;
  }
  verdict.check(dtype, layout, what, [&] {
    const auto expected = evaluate(op(), operands->values, sample.attrs.get(), *types, kRandomState);
    return compare(op(), call_sample(slot(), *operands, sample), expected);
  });
}

TEST_P(Forward, EqualsReference) {
  Verdict verdict("forward", GetParam());
  uint64_t seed = 0;
  for (const Sample& sample : samples()) {
    for (const DType dtype : kEveryDType)
      for (const Layout layout : kLayouts) run(sample, dtype, layout, seed, verdict);
    ++seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, Forward, ::testing::ValuesIn(operator_names()), test_name);

}  // namespace
}  // namespace vellum::conformance
