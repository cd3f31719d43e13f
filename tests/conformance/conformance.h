#ifndef VELLUM_TESTS_CONFORMANCE_CONFORMANCE_H_
#define VELLUM_TESTS_CONFORMANCE_CONFORMANCE_H_

#include <string_view>
#include <vector>

// What a backend says of itself to the conformance suites. Its test is made by backend_conformance_test() in
// conformance.bzl and consists of one source that defines target().

namespace vellum::conformance {

// Checks that are known to fail. "*" stands for any. One that passes is reported as a failure.
struct ExpectedFailure {
  std::string_view op;
  std::string_view dtype = "*";   // "float16"
  std::string_view layout = "*";  // "contiguous", "transposed", "sliced", "expanded", "aliased"
  std::string_view reason;
  std::string_view suite = "forward";  // "forward", "in_place", "out", "special_values", "gradient", "parity"
};

struct Target {
  std::string_view device;  // "cpu", "cuda:0"
  std::vector<ExpectedFailure> expected_failures;
};

// Defined by the backend's test.
Target target();

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_CONFORMANCE_H_
