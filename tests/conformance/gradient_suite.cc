// Gradients against finite differences, and gradients of gradients, in double precision. Complex ones are
// dL/dRe + i dL/dIm.

#include "vellum/autograd/autograd.h"
#include "vellum/device/error.h"
#include "vellum/tests/conformance/differentiation.h"
#include "vellum/tests/conformance/verdict.h"

namespace vellum::conformance {
namespace {

constexpr Tolerance kOfDifferences{1e-5, 1e-5};
constexpr size_t kMostElements = 48;  // of all operands: the cost grows with the square

// Which outputs get a cotangent; those of the others are undefined.
struct Window {
  size_t first, count;
};

std::vector<Window> windows(size_t outputs) {
  if (outputs < 2) return {{0, outputs}};
  return {{0, outputs}, {0, 1}, {outputs - 1, 1}};
}

std::vector<RefTensor> read_all(const std::vector<Tensor>& tensors) {
  std::vector<RefTensor> out;
  for (const Tensor& t : tensors) out.push_back(read(t));
  return out;
}

std::vector<RefTensor> part(const std::vector<RefTensor>& all, Window w) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(w.first);
  return {begin, begin + static_cast<std::ptrdiff_t>(w.count)};
}

class Gradient : public OperatorTest {
 protected:
  // Calls body(function, dtype, layout, what) for each sample that is differentiable in double precision.
  template <typename F>
  void each_function(F body);
};

bool is_double(const std::vector<RefTensor>& tensors) {
  for (const RefTensor& t : tensors)
    if (t.dtype != kFloat64 && t.dtype != kComplex128) return false;
  return true;
}

template <typename F>
void Gradient::each_function(F body) {
  uint64_t seed = 300;
  for (const Sample& sample : samples()) {
    ++seed;
    if (!sample.gradients) continue;
    for (const DType dtype : {kFloat64, kComplex128})
      for (const Layout layout : {Layout::kContiguous, Layout::kTransposed}) {
        std::optional<Operands> operands = make_operands(sample, dtype, layout, device(), seed);
        if (!operands || !dtypes_of(op(), *operands, sample)) continue;
        size_t elements = 0;
        for (const RefTensor& t : operands->values) elements += t.values.size();
        if (elements > kMostElements) continue;
        const Function f(slot(), sample, std::move(*operands));
        if (is_double(f.variable_values())) body(f, dtype, layout, str_cat("sample ", seed - 301));
      }
  }
}

// --- First order

std::string check_first_order(const Function& f, Window w) {
  const std::vector<RefTensor> variables = f.variable_values();
  const std::vector<RefTensor> outputs = part(read_all(f(f.leaves(variables, 0))), w);
  const std::vector<RefTensor> cotangents = random_like(outputs, 17);
  const auto loss = [&](const std::vector<RefTensor>& at) {
    return pairing(cotangents, part(read_all(f(f.leaves(at, 0))), w));
  };
  const std::vector<RefTensor> all = gradients(f, variables, w.first, cotangents);
  std::string wrong = differ(all, finite_differences(loss, variables), kOfDifferences);
  for (size_t k = 0; k < variables.size() && variables.size() > 1 && wrong.empty(); ++k) {
    const std::vector<RefTensor> alone = gradients(f, variables, w.first, cotangents, 1u << k);
    wrong = differ({alone[k]}, {all[k]}, {1e-12, 1e-12});
    if (!wrong.empty()) wrong = str_cat("wanted alone, not as with all: variable ", k, ": ", wrong);
  }
  return wrong;
}

TEST_P(Gradient, EqualsFiniteDifferences) {
  if (shape_only()) GTEST_SKIP() << "no values on this device";
  Verdict verdict("gradient", GetParam());
  each_function([&](const Function& f, DType dtype, Layout layout, const std::string& what) {
    const std::vector<RefTensor> outputs = read_all(f(f.leaves(f.variable_values(), 0)));
    if (!is_double(outputs)) return;
    for (const Window w : windows(outputs.size()))
      verdict.check(dtype, layout, what, [&] { return check_first_order(f, w); });
  });
}

// --- Second order

// The first-order gradient as a function of variables and cotangents, differentiated once more.
std::vector<RefTensor> second_order(const Function& f, const std::vector<RefTensor>& variables,
                                    const std::vector<RefTensor>& cotangents, const std::vector<RefTensor>& weights) {
  const std::vector<Tensor> leaves = f.leaves(variables);
  const std::vector<Tensor> outputs = f(leaves);
  std::vector<Tensor> all = leaves, roots, seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    seeds.push_back(to_tensor(cotangents[k], outputs[k].device()));
    seeds.back().requires_grad_();
    all.push_back(seeds.back());
  }
  const std::vector<Tensor> first = grad(outputs, leaves, seeds, {.create_graph = true, .allow_unused = true});
  std::vector<Tensor> second_seeds, second(all.size());
  for (size_t k = 0; k < first.size(); ++k) {
    if (!first[k].defined() || !first[k].requires_grad()) continue;
    roots.push_back(first[k]);
    second_seeds.push_back(to_tensor(weights[k], first[k].device()));
  }
  if (!roots.empty()) second = grad(roots, all, second_seeds, {.allow_unused = true});
  std::vector<RefTensor> result;
  for (size_t k = 0; k < all.size(); ++k)
    result.push_back(read_gradient(second[k], k < variables.size() ? variables[k] : cotangents[k - variables.size()]));
  return result;
}

std::string check_second_order(const Function& f, const std::vector<RefTensor>& outputs) {
  const std::vector<RefTensor> variables = f.variable_values();
  const std::vector<RefTensor> cotangents = random_like(outputs, 17), weights = random_like(variables, 23);
  const auto loss = [&](const std::vector<RefTensor>& at) {
    const auto middle = at.begin() + static_cast<std::ptrdiff_t>(variables.size());
    return pairing(weights, gradients(f, {at.begin(), middle}, 0, {middle, at.end()}));
  };
  std::vector<RefTensor> point = variables;
  point.insert(point.end(), cotangents.begin(), cotangents.end());
  return differ(second_order(f, variables, cotangents, weights), finite_differences(loss, point), kOfDifferences);
}

TEST_P(Gradient, OfTheGradientEqualsFiniteDifferences) {
  if (shape_only()) GTEST_SKIP() << "no values on this device";
  Verdict verdict("gradient", GetParam());
  each_function([&](const Function& f, DType dtype, Layout layout, const std::string& what) {
    if (layout != Layout::kContiguous || f.variables().empty()) return;
    const std::vector<Tensor> outputs = f(f.leaves(f.variable_values()));
    if (outputs.empty() || !outputs[0].requires_grad() || !is_double(read_all(outputs))) return;
    verdict.check(dtype, layout, str_cat(what, ", second order"),
                  [&] { return check_second_order(f, read_all(outputs)); });
  });
}

// --- In place

class InPlaceGradient : public OperatorTest {};

TEST_P(InPlaceGradient, IsThatOfTheFunctionalForm) {
  if (shape_only()) GTEST_SKIP() << "no values on this device";
  Verdict verdict("gradient", GetParam());
  const auto run = [](const Function& f) {
    const std::vector<RefTensor> variables = f.variable_values();
    return gradients(f, variables, 0, random_like(read_all(f(f.leaves(variables, 0))), 17));
  };
  uint64_t seed = 500;
  for (const Sample& sample : samples()) {
    ++seed;
    for (const DType dtype : {kFloat64, kComplex128}) {
      const std::optional<Operands> operands = make_operands(sample, dtype, Layout::kContiguous, device(), seed);
      const std::optional<DTypes> types = dtypes_of(op(), *operands, sample);
      if (!types || types->output != operands->values[0].dtype) continue;
      if (evaluate(op(), operands->values, sample.attrs.get(), *types)[0].shape != operands->values[0].shape) continue;
      verdict.check(dtype, Layout::kAliased, str_cat("sample ", seed - 501, " in place"), [&] {
        return differ(run(Function(slot(), sample, *operands, true)), run(Function(slot(), sample, *operands)),
                      {1e-12, 1e-12});
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradient,
                         ::testing::ValuesIn(operator_names([](const OpDef& op) { return op.vjp != nullptr; })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Operators, InPlaceGradient, ::testing::ValuesIn(operator_names([](const OpDef& op) {
                           return op.vjp != nullptr && op.kind == OpKind::kElementwise && !op.overwrites;
                         })),
                         test_name);

}  // namespace
}  // namespace vellum::conformance
