#include "vellum/tools/replay/run_case.h"

#include "vellum/autograd/autograd.h"
#include "vellum/device/error.h"
#include "vellum/tools/replay/binding.h"
#include "vellum/tools/replay/compare.h"

namespace vellum::replay {
namespace {

std::vector<Tensor> expected_results(const Case& c) {
  std::vector<Tensor> expected;
  for (Tensor t = c.numbered("out", 0); t.defined(); t = c.numbered("out", expected.size())) expected.push_back(t);
  return expected;
}

std::vector<Tensor> call(Args& args) {
  const Function* binding = find_binding(args.source().op);
  if (!binding) throw Unsupported("the operator");
  try {
    std::vector<Tensor> results = (*binding)(args).tensors;
    args.check_all_read();
    return results;
  } catch (const DTypeError& e) {
    throw Unsupported(e.what());
  }
}

std::string compare_results(const std::vector<Tensor>& results, const std::vector<Tensor>& expected,
                            const Tolerance* wider) {
  if (results.size() != expected.size()) return str_cat(results.size(), " results, expected ", expected.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (const std::string wrong = difference(results[i], expected[i], wider); !wrong.empty())
      return str_cat("out.", i, ": ", wrong);
  return {};
}

std::string compare_gradients(const Args& args, const std::vector<Tensor>& results, const Tolerance* wider) {
  const Case& c = args.source();
  std::vector<Tensor> roots, cotangents;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor cotangent = c.numbered("cot", i);
    if (!cotangent.defined()) continue;
    if (!results[i].requires_grad()) return str_cat("out.", i, ": does not require a gradient");
    roots.push_back(results[i]);
    cotangents.push_back(cotangent.to(args.device()));
  }
  if (roots.empty()) return "grad is true, but the case has no cotangents";
  backward(roots, cotangents);
  for (const auto& [name, leaf] : args.leaves()) {
    // A gradient that the definition leaves undefined is zero.
    const Tensor gradient = leaf.grad().defined() ? leaf.grad() : zeros_like(leaf);
    if (const std::string wrong = difference(gradient, c.tensors.at("grad." + name), wider); !wrong.empty())
      return str_cat("grad.", name, ": ", wrong);
  }
  return {};
}

std::string first_difference(const Case& c, Device device, const Tolerance* wider) {
  Args args(c, device);
  const std::vector<Tensor> results = call(args);
  const std::string wrong = compare_results(results, expected_results(c), wider);
  return wrong.empty() && c.grad ? compare_gradients(args, results, wider) : wrong;
}

}  // namespace

Outcome run_case(const Case& c, Device device, const Tolerance* wider) {
  try {
    const std::string wrong = first_difference(c, device, wider);
    return {wrong.empty() ? Verdict::kPassed : Verdict::kFailed, wrong};
  } catch (const Unsupported& e) {
    return {Verdict::kUnsupported, e.what()};
  } catch (const NotImplementedError& e) {
    return {Verdict::kUnsupported, e.what()};
  } catch (const std::exception& e) {
    return {Verdict::kFailed, str_cat("threw: ", e.what())};
  }
}

}  // namespace vellum::replay
