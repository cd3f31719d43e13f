// What "meta" infers (shape, dtype, strides) is what the device gives.

#include "vellum/device/error.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

class Parity : public OperatorTest {};

std::string compare(const std::vector<Tensor>& here, const std::vector<Tensor>& meta) {
  if (here.size() != meta.size()) return str_cat(meta.size(), " outputs on meta, ", here.size(), " here");
  for (size_t i = 0; i < here.size(); ++i) {
    const Tensor &a = here[i], &m = meta[i];
    if (a.shape() != m.shape() || a.dtype() != m.dtype() || a.strides() != m.strides() ||
        a.storage_offset() != m.storage_offset())
      return str_cat("output ", i, " on meta is ", m.dtype(), m.shape(), " with strides ", m.strides(), ", here ",
                     a.dtype(), a.shape(), " with strides ", a.strides());
  }
  return {};
}

TEST_P(Parity, MetaInfersTheSame) {
  const Device meta("meta");
  const auto find = find_samples(GetParam());
  ASSERT_TRUE(find);
  const std::vector<Sample> here = find(device()), there = find(meta);
  Verdict verdict("parity", GetParam());
  for (size_t i = 0; i < here.size(); ++i)
    for (const DType dtype : kEveryDType)
      for (const Layout layout : kLayouts) {
        std::optional<Operands> a = make_operands(here[i], dtype, layout, device(), i);
        std::optional<Operands> m = make_operands(there[i], dtype, layout, meta, i);
        if (!a || !dtypes_of(op(), *a, here[i]) || (op().overwrites && layout == Layout::kExpanded)) continue;
        verdict.check(dtype, layout, str_cat("sample ", i),
                      [&] { return compare(call_sample(slot(), *a, here[i]), call_sample(slot(), *m, there[i])); });
      }
}
INSTANTIATE_TEST_SUITE_P(Operators, Parity, ::testing::ValuesIn(operator_names()), test_name);

}  // namespace
}  // namespace vellum::conformance
