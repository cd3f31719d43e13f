#include "vellum/tests/fakes/reference_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"
#include "vellum/tools/replay/replay.h"

namespace vellum::testing {
namespace {

// Operators that no kernel serves, so that only their references can.
constexpr OpDef kDoubled{.name = "test_doubled", .reference = reference::real_or_complex([](auto x) { return x + x; })};
OpSlot doubled_slot{kDoubled, "test"};

constexpr OpDef kReversed{.name = "test_reversed",
                          .kind = OpKind::kGeneral,
                          .dtypes = dtype_rules::same,
                          .infer = [](Inference& call) { call.add_output(call.input(0).shape()); },
                          .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                            RefTensor out = call.inputs[0];
                            std::reverse(out.values.begin(), out.values.end());
                            return {out};
                          }}};
OpSlot reversed_slot{kReversed, "test"};

constexpr OpDef kThrowing{
    .name = "test_throwing",
    .reference = {.tensors = [](const RefCall&) -> std::vector<RefTensor> { throw std::runtime_error("no"); }}};
OpSlot throwing_slot{kThrowing, "test"};

// Not judged by PyTorch's samples: random numbers, copy_, clamp by two bounds and scatter that multiplies, of which the
// database has none, and this test's own.
const std::set<std::string_view> kUnjudged{
    "uniform_",       "normal_",      "dropout",      "dropout_backward", "randperm",      "copy_",           "clamp",
    "clamp_backward", "clamp_tensor", "test_doubled", "test_reversed",    "test_throwing", "scatter_multiply"};

Device device() {
  static const DeviceType type = register_reference_backend();
  return Device(type);
}

Tensor on_device(std::initializer_list<float> values) { return tensor(values).to(device()); }

TEST(ReferenceBackend, ComputesWhatTheReferenceOfAnElementSays) {
  const Tensor x = on_device({1, 2, 3});
  EXPECT_EQ(call(doubled_slot, {&x}).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(ReferenceBackend, ComputesWhatTheReferenceOfTensorsSays) {
  const Tensor x = on_device({1, 2, 3});
  EXPECT_EQ(call(reversed_slot, {&x}).to_vector<float>(), (std::vector<float>{3, 2, 1}));
}

TEST(ReferenceBackend, ReadsAndWritesThroughStrides) {
  Tensor x = on_device({1, 2, 3, 4, 5, 6}).view({2, 3});
  Tensor column = x.select(1, 1);
  const Tensor* inputs[] = {&column};
  call_in_place(doubled_slot, column, inputs);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 4, 3, 4, 10, 6}));
}

TEST(ReferenceBackend, ReportsAReferenceThatThrows) {
  const Tensor x = on_device({1});
  EXPECT_THROW(call(throwing_slot, {&x}), Error);
}

TEST(ReferenceBackend, HasAllReferencesJudgedByTheKeptCases) {
  replay::KnownDifferences none;
  replay::replay(replay::find_files({"tests/replay/cases"}), {.device = device()}, none);
  const std::set<std::string_view> used = references_used();
  for (const OpSlot* slot : all_operators()) {
    const OpDef& op = slot->def();
    if (op.kind == OpKind::kView || op.name == "to_device") continue;
    EXPECT_TRUE(used.contains(op.name) || kUnjudged.contains(op.name))
        << op.name << ": no kept case computes its reference; bind an operator of PyTorch that does";
  }
}

}  // namespace
}  // namespace vellum::testing
