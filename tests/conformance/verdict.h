#ifndef VELLUM_TESTS_CONFORMANCE_VERDICT_H_
#define VELLUM_TESTS_CONFORMANCE_VERDICT_H_

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/tensor/op_def.h"
#include "vellum/tests/conformance/conformance.h"
#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {

// Gathers the checks of one operator in one suite and holds them against the expected failures when it goes.
class Verdict {
 public:
  Verdict(std::string_view suite, std::string_view op);
  Verdict(std::string_view suite, std::string_view op, std::vector<ExpectedFailure> expected);
  ~Verdict();
  Verdict(const Verdict&) = delete;
  Verdict& operator=(const Verdict&) = delete;

  // Runs one check: f() returns what is wrong, or nothing. An exception is wrong too.
  template <typename F>
  void check(DType dtype, Layout layout, std::string_view what, F f) {
    std::string wrong;
    try {
      wrong = f();
    } catch (const std::exception& e) {
      wrong = std::string("threw: ") + e.what();
    }
    add(dtype, layout, what, wrong);
  }

  // What is left to report: failures that nobody expected, and expected ones that did not come.
  std::vector<std::string> complaints() const;

 private:
  struct Failure {
    DType dtype;
    Layout layout;
    std::string text;
  };

  void add(DType dtype, Layout layout, std::string_view what, const std::string& wrong);

  std::string_view suite_, op_;
  std::vector<ExpectedFailure> expected_;
  std::vector<Failure> failures_;
  bool reports_ = true;
};

// "" when f throws an E and nothing else, else what happened.
template <typename E, typename F>
std::string throws(F f) {
  try {
    f();
  } catch (const E&) {
    return {};
  } catch (const std::exception& e) {
    return std::string("threw another error: ") + e.what();
  }
  return "did not throw";
}

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_VERDICT_H_
