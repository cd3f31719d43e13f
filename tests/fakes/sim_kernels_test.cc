// The kernels of the simulated accelerator: operators as work on its streams.

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/fakes/sim_fixture.h"

namespace vellum::sim {
namespace {

using ::testing::ElementsAre;

class SimKernels : public SimTest {
 protected:
  SimKernels() {}
  static float first(const Tensor& t) {
    float value;
    std::memcpy(&value, reach(t.impl().data, sizeof value), sizeof value);
    return value;
  }
  const StreamGuard guard_{a_};
  const Tensor x_ = tensor({1.f, 2.f}, device_);
};

TEST_F(SimKernels, RunWhenTheirTurnComes) {
  const Tensor y = x_ + x_;
  EXPECT_EQ(pending(a_), 1u);
  EXPECT_NE(first(y), 2);
  EXPECT_TRUE(run_one(a_));
  EXPECT_EQ(first(y), 2);
}

TEST_F(SimKernels, ReadTheirOperandsThen) {
  const Tensor y = x_ + x_;
  *static_cast<float*>(reach(x_.impl().data, sizeof(float))) = 5;
  run_one(a_);
  EXPECT_EQ(first(y), 10);
}

TEST_F(SimKernels, KeepAttributesShapesAndStridesOfTheCall) {
  const Tensor rows = tensor({1.f, 2.f, 3.f, 4.f}, device_).reshape({2, 2});
  const Tensor sums = rows.t().sum({1}), products = matmul(rows.t(), rows), sevens = full({2}, 7, device_);
  EXPECT_GT(pending(a_), 2u);
  EXPECT_THAT(sums.to_vector<float>(), ElementsAre(4, 6));
  EXPECT_THAT(products.to_vector<float>(), ElementsAre(10, 14, 14, 20));
  EXPECT_THAT(sevens.to_vector<float>(), ElementsAre(7, 7));
}

TEST_F(SimKernels, AreThoseOfAFewOperatorsOnOneOfTheTwoBackends) {
  const auto of = [](std::string_view op, std::string_view device) {
    return find_operator(op)->provenance(Device(device).type, kFloat32);
  };
  EXPECT_EQ(of("add", "sim"), Provenance::kNative);
  EXPECT_EQ(of("tanh", "sim"), Provenance::kHostFallback);
  EXPECT_EQ(of("add", "bare"), Provenance::kHostFallback);
}

}  // namespace
}  // namespace vellum::sim
