#ifndef VELLUM_TESTS_CONFORMANCE_CASES_H_
#define VELLUM_TESTS_CONFORMANCE_CASES_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "vellum/tensor/op_def.h"
#include "vellum/tests/conformance/sample.h"
#include "vellum/tests/conformance/values.h"

// What the suites share: which operators there are, and how one is called.

namespace vellum::conformance {

// The names of the operators that `wanted` picks, for INSTANTIATE_TEST_SUITE_P, which asks after all have registered.
std::vector<std::string> operator_names(bool (*wanted)(const OpDef&) = nullptr);
inline std::string test_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

// Skips the test, saying why, where the target's device is not on this machine; fails it instead where the environment
// variable VELLUM_REQUIRE_DEVICE is set, so that a machine that should have the device cannot pass by skipping. Called
// by SetUp().
void require_device();

// One test for each operator.
class OperatorTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { require_device(); }
  OpSlot& slot() const { return *find_operator(GetParam()); }
  const OpDef& op() const { return slot().def(); }
  // Empty, and a failure, when nobody has written samples.
  std::vector<Sample> samples() const;
  Device device() const;
  bool shape_only() const;
};

// The dtypes of a call, or none where the operator does not take the operands' dtypes.
std::optional<DTypes> dtypes_of(const OpDef& op, const Operands& operands, const Sample& sample);

// The state that `call` gives to the generator of the device beforehand.
inline constexpr RandomState kRandomState{1234, 8};

// All outputs; an operator that overwrites does so to operand 0 and returns it.
std::vector<Tensor> call_sample(OpSlot& slot, Operands& operands, const Sample& sample);

inline constexpr DType kEveryDType[] = {kBool,    kUInt8,    kInt8,    kInt16,   kInt32,     kInt64,
                                        kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128};

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_CASES_H_
