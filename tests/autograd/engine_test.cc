// How a backward pass walks the graph, and what it asks of its roots.

#include "vellum/tests/autograd/testing.h"

namespace vellum {
namespace {

using namespace vellum::testing;

TEST(Engine, GradientsOfSeveralUsesAddUp) {
  Tensor x = leaf({2});
  (x * 3 + x * x + x).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(3 + 4 + 1));
}

TEST(Engine, ADiamondRunsItsApexOnceBothSidesHaveDelivered) {
  Tensor x = leaf({2});
  Tensor apex = x * x;
  Tensor left = apex * 3, right = apex * apex;
  (left * right).sum().backward();  // 3 x^6
  EXPECT_THAT(values(x.grad()), ElementsAre(18 * 32));
}

TEST(Engine, AnOperandUsedTwiceByOneOperatorGetsBothParts) {
  Tensor x = leaf({3});
  Tensor y = x * 1;
  mul(y, y).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(6));
}

TEST(Engine, SeveralRootsRunInOnePass) {
  Tensor x = leaf({2});
  Tensor shared = x * x;  // its saved tensors are freed by the pass, hence one pass for both
  const Tensor roots[] = {(shared * 3).sum(), shared.sum()};
  backward(roots);
  EXPECT_THAT(values(x.grad()), ElementsAre(16));
}

TEST(Engine, ARootMayLieUnderAnother) {
  Tensor x = leaf({2});
  Tensor inner = (x * x).sum();
  const Tensor roots[] = {inner * inner, inner};
  backward(roots);
  EXPECT_THAT(values(x.grad()), ElementsAre(2 * 4 * 4 + 4));
}

TEST(Engine, ALeafIsItsOwnRoot) {
  Tensor x = leaf({2});
  x.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1));
}

TEST(Engine, TheGradientArgumentIsTheCotangentOfTheRoot) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * x;
  y.backward(constant({1, 10, 100}));
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 40, 600));
}

TEST(Engine, TheGradientArgumentMustFitTheRoot) {
  Tensor x = leaf({1, 2, 3});
  EXPECT_AUTOGRAD_ERROR((x * x).backward(constant({1, 2})), "Mismatch in shape");
  EXPECT_AUTOGRAD_ERROR((x * x).backward(tensor<complex128>({1, 2, 3}, kComplex128)),
                        "a real output has a real gradient");
  EXPECT_FALSE(x.grad().defined());
}

TEST(Engine, OnlyARealScalarHasAnImplicitGradient) {
  Tensor x = leaf({1, 2, 3});
  EXPECT_AUTOGRAD_ERROR((x * x).backward(), "grad can be implicitly created only for scalar outputs");
  Tensor z = complex_leaf({{1, 2}});
  EXPECT_AUTOGRAD_ERROR((z * z).backward(), "grad can be implicitly created only for real scalar outputs");
}

TEST(Engine, ARootNeedsAHistory) {
  const Tensor x = constant({1});
  EXPECT_AUTOGRAD_ERROR((x * x).backward(), "element 0 of tensors does not require grad and does not have a grad_fn");
  Tensor y = leaf({1});
  NoGradGuard no_grad;
  EXPECT_AUTOGRAD_ERROR((y * y).backward(), "does not require grad");
}

TEST(Engine, RootsAndGradientsComeInPairs) {
  Tensor x = leaf({1});
  const Tensor roots[] = {x * 2, x * 3};
  const Tensor gradients[] = {constant({1})};
  EXPECT_THROW(backward(roots, gradients), InvalidArgumentError);
}

TEST(Engine, ThePassItselfRecordsNothing) {
  Tensor x = leaf({2});
  (x * x * x).sum().backward();
  EXPECT_FALSE(x.grad().requires_grad());
  EXPECT_TRUE(is_grad_enabled());
}

TEST(Engine, BroadcastGradientsAreSummedToTheShapeOfTheOperand) {
  Tensor scalar = scalar_tensor(2.0, kFloat64).requires_grad_();
  Tensor row = leaf({1, 2, 3});
  Tensor column = constant({1, 2}).view({2, 1}).detach().requires_grad_();
  (row * column * scalar).sum().backward();
  EXPECT_EQ(scalar.grad().shape(), Dims{});
  EXPECT_EQ(row.grad().shape(), Dims{3});
  EXPECT_EQ(column.grad().shape(), (Dims{2, 1}));
  EXPECT_THAT(values(scalar.grad()), ElementsAre(18));
  EXPECT_THAT(values(row.grad()), ElementsAre(6, 6, 6));
  EXPECT_THAT(values(column.grad()), ElementsAre(12, 12));
}

TEST(Engine, GradientsReturnToTheDtypeOfTheOperand) {
  Tensor single = tensor<float>({1, 2}).requires_grad_();
  Tensor wide = leaf({3, 4});
  Tensor half = tensor<float>({5, 6}).to(kFloat16).requires_grad_();
  Tensor z = tensor<complex64>({{1, 2}, {3, 4}}).requires_grad_();
  (single * wide * half * z).real().sum().backward();
  EXPECT_EQ(single.grad().dtype(), kFloat32);
  EXPECT_EQ(wide.grad().dtype(), kFloat64);
  EXPECT_EQ(half.grad().dtype(), kFloat16);
  EXPECT_EQ(z.grad().dtype(), kComplex64);
  EXPECT_THAT(values(single.grad()), ElementsAre(15, 72));
  EXPECT_THAT(values(half.grad()), ElementsAre(3, 24));
}

TEST(Engine, AnOutputThatIsNotUsedContributesNothing) {
  Tensor x = leaf({3, 1, 2});
  const auto [largest, index] = x.max(0);
  EXPECT_FALSE(index.requires_grad());
  largest.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 0));

  Tensor y = leaf({1, 2, 3, 4});
  const std::vector<Tensor> parts = y.split(2);
  (parts[1] * 5).sum().backward();
  EXPECT_THAT(values(y.grad()), ElementsAre(0, 0, 5, 5));
}

TEST(Engine, BackwardMayBeCalledWithinTheLifeOfAnotherGraph) {
  Tensor x = leaf({2});
  Tensor outer = (x * x).sum();
  Tensor inner = (x * 5).sum();
  inner.backward();
  outer.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(9));
}

TEST(Engine, NoGradModeOfTheCallerDoesNotStopThePass) {
  Tensor x = leaf({2});
  Tensor y = (x * x).sum();
  NoGradGuard no_grad;
  y.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(4));
}

TEST(Engine, TheComplexGradientPointsUphill) {  // dL/dRe + i dL/dIm, so that z -= rate * grad descends
  Tensor z = complex_leaf({{1, 2}});
  (z * z.conj()).real().sum().backward();
  EXPECT_THAT(complex_values(z.grad()), ElementsAre(complex128(2, 4)));
}

}  // namespace
}  // namespace vellum
