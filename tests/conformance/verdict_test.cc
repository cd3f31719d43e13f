#include "vellum/tests/conformance/verdict.h"

#include <gmock/gmock.h>

#include "vellum/device/error.h"

namespace vellum::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const auto kRight = [] { return std::string(); };
const auto kWrong = [] { return std::string("is wrong"); };

TEST(Verdict, IsSilentWhenAllChecksPass) {
  Verdict verdict("forward", "mul", {});
  verdict.check(kFloat32, Layout::kSliced, "sample 0", kRight);
  EXPECT_THAT(verdict.complaints(), IsEmpty());
}

TEST(Verdict, NamesWhatFails) {
  Verdict verdict("forward", "mul", {});
  verdict.check(kFloat32, Layout::kSliced, "sample 0", kWrong);
  EXPECT_THAT(verdict.complaints(), ElementsAre("mul(float32, sliced) sample 0: is wrong"));
}

TEST(Verdict, CountsAnExceptionAsFailure) {
  Verdict verdict("forward", "mul", {});
  verdict.check(kInt8, Layout::kContiguous, "sample 0", []() -> std::string { throw_error<ShapeError>("no"); });
  EXPECT_THAT(verdict.complaints(), ElementsAre(HasSubstr("threw: no")));
}

TEST(Verdict, ForgivesExpectedFailuresOnly) {
  Verdict verdict("forward", "mul", {{.op = "mul", .dtype = "float32", .reason = "no such unit"}});
  verdict.check(kFloat32, Layout::kSliced, "sample 0", kWrong);
  EXPECT_THAT(verdict.complaints(), IsEmpty());
  verdict.check(kFloat64, Layout::kSliced, "sample 0", kWrong);
  EXPECT_THAT(verdict.complaints(), ElementsAre(HasSubstr("float64")));
}

TEST(Verdict, ReportsAnExpectedFailureThatPasses) {
  Verdict verdict("forward", "mul", {{.op = "mul", .layout = "sliced", .reason = "no such unit"}});
  verdict.check(kFloat32, Layout::kSliced, "sample 0", kRight);
  EXPECT_THAT(verdict.complaints(), ElementsAre(HasSubstr("expected to fail (no such unit) but passes")));
}

}  // namespace
}  // namespace vellum::conformance
