// The in-place and out forms give what the functional form gives, and a call that throws changes nothing.

#include <algorithm>

#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/conformance/cases.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

// Whether a result may be written into a tensor of another dtype: the category must not fall.
bool may_become(DType result, DType destination) {
  const auto category = [](DType t) { return t == kBool ? 0 : is_integral(t) ? 1 : is_complex(t) ? 3 : 2; };
  return category(result) <= category(destination);
}

std::string same(const Tensor& t, const RefTensor& values, uint32_t version) {
  if (t.version() != version) return "the version was bumped though the call threw";
  return difference(t, values, {0, 0});
}

// --- In place

class InPlace : public OperatorTest {
 protected:
  void run(const Sample& sample, DType dtype, Layout layout, uint64_t seed, Verdict& verdict);
  std::string write(Operands& operands, const Sample& sample, DTypes types);
  std::string refused(Operands& operands, const Sample& sample);
};

std::string InPlace::write(Operands& operands, const Sample& sample, DTypes types) {
  RefTensor expected = evaluate(op(), operands.values, sample.attrs.get(), types)[0];
  expected = cast(expected, operands.values[0].dtype);
  Tensor& self = operands.tensors[0];
  const uint32_t before = self.version();
  call_in_place(slot(), self, operands.inputs(), sample.attrs.get());
  if (self.version() == before) return "the version was not bumped";
  return difference(self, expected, tolerance(op().name, expected.dtype));
}

std::string InPlace::refused(Operands& operands, const Sample& sample) {
  Tensor& self = operands.tensors[0];
  const uint32_t before = self.version();
  const std::string wrong = throws<Error>([&] { call_in_place(slot(), self, operands.inputs(), sample.attrs.get()); });
  return wrong.empty() ? same(self, operands.values[0], before) : wrong;
}

void InPlace::run(const Sample& sample, DType dtype, Layout layout, uint64_t seed, Verdict& verdict) {
  std::optional<Operands> operands = make_operands(sample, dtype, layout, device(), seed);
  if (!operands || !operands->tensors[0].defined()) return;
  const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
  if (!types) return;
  const RefTensor& self = operands->values[0];
  const RefTensor result = evaluate(op(), operands->values, sample.attrs.get(), *types)[0];
  const bool shared =
      !self.values.empty() && !self.shape.empty() && self.shape[0] > 1 && operands->tensors[0].stride(0) == 0;
  const bool fits = result.shape == self.shape && may_become(types->output, self.dtype) && !shared;
  verdict.check(dtype, layout, str_cat("sample ", seed),
                [&] { return fits ? write(*operands, sample, *types) : refused(*operands, sample); });
}

TEST_P(InPlace, EqualsFunctionalForm) {
  Verdict verdict("in_place", GetParam());
  uint64_t seed = 100;
  for (const Sample& sample : samples()) {
    for (const DType dtype : kEveryDType)
      for (const Layout layout : kLayouts) run(sample, dtype, layout, seed, verdict);
    ++seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, InPlace, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return op.kind == OpKind::kElementwise && !op.overwrites;
                         })),
                         test_name);

// --- out=

class Out : public OperatorTest {
 protected:
  void run(const Sample& sample, DType dtype, uint64_t seed, Verdict& verdict);
  void overlap(const Sample& sample, DType dtype, uint64_t seed, Verdict& verdict);
  std::string write(std::vector<Tensor> outs, const Operands& operands, const Sample& sample,
                    const std::vector<RefTensor>& expected);
  std::string refuse(const Operands& operands, const Sample& sample, const std::vector<RefTensor>& expected);
};

std::string Out::write(std::vector<Tensor> outs, const Operands& operands, const Sample& sample,
                       const std::vector<RefTensor>& expected) {
  if (op().draws) default_generator(device()).set_state(kRandomState);
  std::vector<Tensor*> destinations;
  std::vector<uint32_t> versions;
  std::vector<Storage*> storages;
  for (Tensor& out : outs) {
    destinations.push_back(&out);
    versions.push_back(out.version());
    storages.push_back(out.impl().storage);
  }
  call_out_all(slot(), destinations, operands.inputs(), sample.attrs.get());
  for (size_t i = 0; i < outs.size(); ++i) {
    if (outs[i].impl().storage == storages[i] && outs[i].version() == versions[i]) return "the version was not bumped";
    const std::string wrong = difference(outs[i], expected[i], tolerance(op().name, expected[i].dtype));
    if (!wrong.empty()) return str_cat("output ", i, ": ", wrong);
  }
  return {};
}

void Out::run(const Sample& sample, DType dtype, uint64_t seed, Verdict& verdict) {
  const std::optional<Operands> operands = make_operands(sample, dtype, Layout::kContiguous, device(), seed);
  const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
  if (!types) return;
  const auto expected = evaluate(op(), operands->values, sample.attrs.get(), *types, kRandomState);
  const auto each = [&](auto make) {
    std::vector<Tensor> outs;
    for (const RefTensor& result : expected) outs.push_back(make(result));
    return outs;
  };
  for (const Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kSliced})
    verdict.check(dtype, layout, str_cat("sample ", seed), [&] {
      return write(each([&](RefTensor blank) {
                     std::fill(blank.values.begin(), blank.values.end(), Complex(1));
                     return arrange(blank, layout, device());
                   }),
                   *operands, sample, expected);
    });
  verdict.check(dtype, Layout::kContiguous, str_cat("sample ", seed, ", resized"), [&] {
    return write(each([&](const RefTensor& result) {
                   return to_tensor({{0}, result.dtype, {}}, device());
                 }),
                 *operands, sample, expected);
  });
  if (expected[0].values.empty()) return;
  verdict.check(dtype, Layout::kContiguous, str_cat("sample ", seed, ", wrong shape"),
                [&] { return refuse(*operands, sample, expected); });
}

// All but the first could take the results.
std::string Out::refuse(const Operands& operands, const Sample& sample, const std::vector<RefTensor>& expected) {
  std::vector<RefTensor> wrong = expected;
  wrong[0] = {{7, 11}, expected[0].dtype, std::vector<Complex>(77, Complex(1))};
  std::vector<Tensor> outs;
  std::vector<Tensor*> destinations;
  for (const RefTensor& values : wrong) outs.push_back(to_tensor(values, device()));
  for (Tensor& out : outs) destinations.push_back(&out);
  std::vector<uint32_t> versions;
  for (const Tensor& out : outs) versions.push_back(out.version());
  std::string text =
      throws<ShapeError>([&] { call_out_all(slot(), destinations, operands.inputs(), sample.attrs.get()); });
  for (size_t i = 0; i < outs.size() && text.empty(); ++i) text = same(outs[i], wrong[i], versions[i]);
  return text;
}

// The destination is the window of input 0's memory one row further on.
void Out::overlap(const Sample& sample, DType dtype, uint64_t seed, Verdict& verdict) {
  std::optional<Operands> operands = make_operands(sample, dtype, Layout::kContiguous, device(), seed);
  const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
  if (sample.contiguous_only || !types || types->output != operands->values[0].dtype) return;
  const auto expected = evaluate(op(), operands->values, sample.attrs.get(), *types, kRandomState);
  if (expected[0].shape.empty() || expected[0].shape != operands->values[0].shape) return;
  RefTensor longer = operands->values[0];
  const int64_t rows = longer.shape[0];
  if (rows == 0) return;
  const size_t row = longer.values.size() / static_cast<size_t>(rows);
  longer.shape[0] = rows + 1;
  longer.values.resize(longer.values.size() + row, Complex(1));
  verdict.check(dtype, Layout::kAliased, str_cat("sample ", seed), [&] {
    const Tensor memory = to_tensor(longer, device());
    operands->tensors[0] = memory.slice(0, 0, rows);
    std::vector<Tensor> outs = {memory.slice(0, 1, rows + 1)};
    for (size_t i = 1; i < expected.size(); ++i) outs.push_back(to_tensor(expected[i], device()));
    return write(std::move(outs), *operands, sample, expected);
  });
}

TEST_P(Out, EqualsFunctionalForm) {
  Verdict verdict("out", GetParam());
  uint64_t seed = 200;
  for (const Sample& sample : samples()) {
    for (const DType dtype : kEveryDType) {
      run(sample, dtype, seed, verdict);
      overlap(sample, dtype, seed, verdict);
    }
    ++seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, Out, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return op.outputs != kVariadic && !op.overwrites && op.kind != OpKind::kView;
                         })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
