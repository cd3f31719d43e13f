// Functions that are made of other operators, and forms that only pick one: values and gradients of PyTorch 1.13.1.

#include <gmock/gmock.h>

#include <limits>

#include "vellum/autograd/autograd.h"
#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
auto near(std::vector<double> v) { return Pointwise(DoubleNear(1e-12), std::move(v)); }
Tensor of(std::initializer_list<double> v) { return tensor<double>(v, kFloat64); }
Tensor places(std::initializer_list<int64_t> v) { return tensor<int64_t>(v); }
// Real and imaginary parts in turn.
std::vector<double> parts(const Tensor& z) { return values(z.detach().view_as_real()); }
Tensor complex_leaf() { return tensor<complex128>({{1, 2}, {-0.5, -1}, {0.25, 3}}).requires_grad_(); }

template <typename E, typename F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "did not throw";
}

TEST(Silu, TakesComplexNumbers) {
  const Tensor z = complex_leaf();
  const std::vector<double> expected = {0.21453795200909556,  2.4462694344259037, -0.42414517822363473,
                                        -0.21766447807406458, -4.223161500089394, 11.073942550942173};
  const Tensor y = silu(z);
  EXPECT_THAT(parts(y), near(expected));
  y.backward(tensor<complex128>({{1, 0}, {0, 0.5}, {2, -1}}));
  EXPECT_THAT(parts(z.grad()), near({2.003740731152765, -0.2644980415161039, -0.2510374020514434, 0.060183570278099036,
                                     85.69408385622572, 5.487367250812248}));
  Tensor out = empty({0}, kComplex128), self = z.detach().clone();
  EXPECT_THAT(parts(silu_out(out, z.detach())), near(expected));
  EXPECT_THAT(parts(silu_(self)), near(expected));
}

TEST(LogSumExp, TakesComplexNumbers) {
  const Tensor z = complex_leaf();
  const Tensor y = z.logsumexp({0});
  EXPECT_EQ(y.shape(), Dims());
  EXPECT_THAT(parts(y), near({1.0927321705582096, 2.3400998751902473}));
  y.backward(scalar_tensor(complex128(1, -2), kComplex128));
  EXPECT_THAT(parts(z.grad()), near({1.4673086364536296, -1.4144248488754363, -0.2795867527950188, 0.35864527163043575,
                                     -0.18772188365861073, -0.9442204227549995}));
}

TEST(LogSumExp, OfLargeComplexNumbersDoesNotOverflow) {
  const Tensor z = tensor<complex128>({{1000, 1}, {1000, 1}}).view({1, 2});
  Tensor out = empty({0}, kComplex128);
  EXPECT_THAT(parts(logsumexp(z, {1}, true)), near({1000.6931471805599453, 1}));
  EXPECT_THAT(parts(logsumexp_out(out, z, {1})), near({1000.6931471805599453, 1}));
  EXPECT_EQ(out.shape(), Dims({1}));
  EXPECT_EQ(parts(logsumexp(zeros({0, 1}, kComplex128), {0})), std::vector<double>({-kInfinity, 0}));
}

TEST(L1Loss, TakesComplexNumbers) {
  const Tensor z = complex_leaf(), target = tensor<complex128>({{0, 0}, {1, 1}, {0.25, 3}});
  EXPECT_THAT(values(l1_loss(z.detach(), target, {Reduction::kNone})), near({2.23606797749979, 2.5, 0}));
  EXPECT_THAT(values(l1_loss(z.detach(), target)), near({1.5786893258332633}));
  l1_loss(z, target, {Reduction::kSum}).backward();
  EXPECT_THAT(parts(z.grad()), near({0.44721359549995787, 0.8944271909999157, -0.6, -0.8, 0, 0}));
}

TEST(Cumprod, HasTheGradientOfPyTorchBesideZeros) {
  const Tensor x = of({2, 0, 3, -1, 0, 5}).requires_grad_();
  const Tensor y = x.cumprod(0);
  EXPECT_THAT(values(y.detach()), ElementsAre(2, 0, 0, 0, 0, 0));
  y.backward(of({1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(values(x.grad()), ElementsAre(1, -2, 0, 0, 0, 0));
}

TEST(Cumprod, OfIntegersIsInt64UnlessAskedOtherwise) {
  const Tensor x = tensor<int8_t>({100, 100, 7});
  Tensor out = empty({0}, kInt16);
  EXPECT_EQ(cumprod(x, 0).dtype(), kInt64);
  EXPECT_THAT(values(cumprod(x, 0)), ElementsAre(100, 10000, 70000));
  EXPECT_EQ(cumprod(x, 0, kInt8).dtype(), kInt8);
  EXPECT_THAT(values(cumprod(x, 0, kInt8)), ElementsAre(100, 16, 112));
  EXPECT_THAT(values(cumprod_out(out, x, 0, kInt16)), ElementsAre(100, 10000, 4464));
  EXPECT_THROW(cumprod(x, 1), IndexError);
}

TEST(MatrixNorm, IsThatOfPyTorch) {
  const struct {
    double ord, norm;
    std::vector<double> gradient;
  } cases[] = {{1, 9, {0, 0, 1, 0, 0, -1}},
               {-1, 5, {1, 0, 0, -1, 0, 0}},
               {kInfinity, 15, {0, 0, 0, -1, 1, -1}},
               {-kInfinity, 6, {1, -1, 1, 0, 0, 0}}};
  for (const auto& c : cases) {
    const Tensor leaf = of({1, -2, 3, -4, 5, -6}).requires_grad_();
    const Tensor norm = matrix_norm(leaf.view({2, 3}), c.ord);
    EXPECT_EQ(norm.item(), c.norm) << c.ord;
    norm.backward();
    EXPECT_EQ(values(leaf.grad()), c.gradient) << c.ord;
  }
  EXPECT_THAT(values(matrix_norm(of({1, -2, 3, -4, 5, -6}).view({2, 3}))), near({9.539392014169456}));
}

TEST(MatrixNorm, LiesAlongAnyTwoDimensions) {
  const Tensor x = arange(1, 13, 1, kFloat64).view({2, 3, 2});
  EXPECT_THAT(values(matrix_norm(x, 1, {0, 2})), ElementsAre(10, 14, 18));
  EXPECT_THAT(values(matrix_norm(x, -1, {2, 0})), ElementsAre(3, 7, 11));
  EXPECT_EQ(matrix_norm(x, kInfinity, {0, 2}, true).shape(), Dims({1, 3, 1}));
  EXPECT_EQ(matrix_norm(x, "fro", {0, -1}).shape(), Dims({3}));
}

TEST(MatrixNorm, RefusesWhatItHasNot) {
  const Tensor x = ones({2, 3});
  EXPECT_THAT(message<NotImplementedError>([&] { matrix_norm(x, 2); }), HasSubstr("matrix_norm: order 2 is not there"));
  EXPECT_THAT(message<NotImplementedError>([&] { matrix_norm(x, "nuc"); }), HasSubstr("order nuc is not there"));
  EXPECT_THROW(matrix_norm(x, 1, {0}), ShapeError);
  EXPECT_THROW(matrix_norm(ones({3}), 1), ShapeError);
  EXPECT_THROW(matrix_norm(x, 1, {0, -2}), IndexError);
}

TEST(StdMean, IsBoth) {
  const auto [s, m] = std_mean(of({1, 2, 6}), {}, 0);
  EXPECT_NEAR(s.item(), 2.160246849060, 1e-6);
  EXPECT_EQ(m.item(), 3);
}

TEST(Remainder, OfANumberHasTheSignOfTheTensor) {
  EXPECT_THAT(values(7 % places({3, -3})), ElementsAre(1, -2));
  EXPECT_THAT(values(remainder(5.5, of({3, -3}))), ElementsAre(2.5, -0.5));
  EXPECT_THAT(values(of({7, -7}) % 3), ElementsAre(1, 2));
  EXPECT_THAT(values(places({7, -7}) % places({3, 4})), ElementsAre(1, 1));
  EXPECT_EQ((7 % places({3})).dtype(), kInt64);
  EXPECT_EQ((5.5 % places({3})).dtype(), kFloat32);
}

TEST(Narrow, StartsAtAnIntegerTensor) {
  const Tensor x = of({1, 2, 3});
  EXPECT_THAT(values(x.narrow(0, scalar_tensor(1), 2)), ElementsAre(2, 3));
  EXPECT_THAT(values(x.narrow(0, scalar_tensor(-1, kInt32), 1)), ElementsAre(3));
  EXPECT_TRUE(x.narrow(0, scalar_tensor(1), 2).shares_storage_with(x));
  EXPECT_THAT(message<DTypeError>([&] { x.narrow(0, places({1}), 1); }), HasSubstr("it is int64[1]"));
  EXPECT_THROW(x.narrow(0, scalar_tensor(1.0), 1), DTypeError);
  EXPECT_THROW(x.narrow(0, scalar_tensor(2), 2), IndexError);
}

TEST(ScatterWithReduce, CombinesWithWhatIsThere) {
  const Tensor x = of({2, 3, 5}), at = places({0, 1, 1}), source = of({2, 3, 4});
  EXPECT_THAT(values(scatter(x, 0, at, source, "multiply")), ElementsAre(4, 36, 5));
  EXPECT_THAT(values(scatter(x, 0, at, source, "add")), ElementsAre(4, 10, 5));
  EXPECT_THAT(values(scatter(x, 0, at, 2, "multiply")), ElementsAre(4, 12, 5));
  EXPECT_THAT(values(x.clone().scatter_(0, at, source, "multiply")), ElementsAre(4, 36, 5));
  EXPECT_THAT(values(x.clone().scatter_(0, at, 1, "add")), ElementsAre(3, 5, 5));
  Tensor out = empty({0}, kFloat64);
  EXPECT_THAT(values(scatter_out(out, x, 0, at, source, "multiply")), ElementsAre(4, 36, 5));
  const Tensor bytes = tensor<uint8_t>({100}), three = tensor<uint8_t>({3, 3});
  EXPECT_THAT(values(scatter(bytes, 0, places({0, 0}), three, "multiply")), ElementsAre(132));
}

TEST(ScatterWithReduce, HasAGradientWhereItAdds) {
  const Tensor x = of({2, 3, 5}).requires_grad_(), source = of({2, 3, 4}).requires_grad_();
  scatter(x, 0, places({0, 1, 1}), source, "add").backward(of({1, 10, 100}));
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 10, 100));
  EXPECT_THAT(values(source.grad()), ElementsAre(1, 10, 10));
  EXPECT_THAT(message<AutogradError>([&] {
                scatter(x, 0, places({0, 1, 1}), of({2, 3, 4}), "multiply");
              }),
              HasSubstr("has no gradient"));
  EXPECT_THROW(scatter(x.detach(), 0, places({0}), of({2}), "divide"), InvalidArgumentError);
}

TEST(Linear, TakesIntegers) {
  const Tensor x = places({1, 2, 3, 4}).view({2, 2}), w = places({5, 6}).view({1, 2});
  EXPECT_THAT(values(linear(x, w, places({7}))), ElementsAre(24, 46));
  EXPECT_THAT(values(linear(x[0], w)), ElementsAre(17));
  EXPECT_THAT(message<ShapeError>([&] { linear(x, places({5}).view({1, 1})); }), HasSubstr("linear: input [2, 2]"));
}

}  // namespace
}  // namespace vellum
