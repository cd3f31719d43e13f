// The faces of pointwise operators: functions, methods, writes in place and into `out`, result dtypes, and errors.

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
auto near(std::vector<double> v) { return Pointwise(DoubleNear(1e-12), std::move(v)); }
Tensor of(std::initializer_list<double> v) { return tensor<double>(v, kFloat64); }
Tensor integers(std::initializer_list<int64_t> v) { return tensor<int64_t>(v); }
Tensor truths(std::initializer_list<bool> v) { return tensor<bool>(v); }

#define EXPECT_ERROR(Type, statement, phrase)     \
  try {                                           \
    statement;                                    \
    ADD_FAILURE() << "nothing was thrown";        \
  } catch (const Type& error) {                   \
    EXPECT_THAT(error.what(), HasSubstr(phrase)); \
  }

struct Unary {
  double (*reference)(double);
  Tensor (*function)(const Tensor&);
  Tensor (Tensor::*method)() const;
  Tensor& (Tensor::*in_place)();
  Tensor& (*out)(Tensor&, const Tensor&);
};

const Unary kUnary[] = {
    {[](double x) { return -x; }, neg, &Tensor::neg, &Tensor::neg_, neg_out},
    {[](double x) { return std::abs(x); }, abs, &Tensor::abs, &Tensor::abs_, abs_out},
    {[](double x) { return x < 0 ? -1. : 1.; }, sign, &Tensor::sign, &Tensor::sign_, sign_out},
    {[](double x) { return x < 0 ? -1. : 1.; }, sgn, &Tensor::sgn, &Tensor::sgn_, sgn_out},
    {[](double x) { return x * x; }, square, &Tensor::square, &Tensor::square_, square_out},
    {[](double x) { return 1 / x; }, reciprocal, &Tensor::reciprocal, &Tensor::reciprocal_, reciprocal_out},
    {[](double x) { return std::sqrt(x); }, sqrt, &Tensor::sqrt, &Tensor::sqrt_, sqrt_out},
    {[](double x) { return 1 / std::sqrt(x); }, rsqrt, &Tensor::rsqrt, &Tensor::rsqrt_, rsqrt_out},
    {[](double x) { return std::exp(x); }, exp, &Tensor::exp, &Tensor::exp_, exp_out},
    {[](double x) { return std::expm1(x); }, expm1, &Tensor::expm1, &Tensor::expm1_, expm1_out},
    {[](double x) { return std::log(x); }, log, &Tensor::log, &Tensor::log_, log_out},
    {[](double x) { return std::log1p(x); }, log1p, &Tensor::log1p, &Tensor::log1p_, log1p_out},
    {[](double x) { return std::log2(x); }, log2, &Tensor::log2, &Tensor::log2_, log2_out},
    {[](double x) { return std::sin(x); }, sin, &Tensor::sin, &Tensor::sin_, sin_out},
    {[](double x) { return std::cos(x); }, cos, &Tensor::cos, &Tensor::cos_, cos_out},
    {[](double x) { return std::tanh(x); }, tanh, &Tensor::tanh, &Tensor::tanh_, tanh_out},
    {[](double x) { return 1 / (1 + std::exp(-x)); }, sigmoid, &Tensor::sigmoid, &Tensor::sigmoid_, sigmoid_out},
    {[](double x) { return std::erf(x); }, erf, &Tensor::erf, &Tensor::erf_, erf_out},
    {[](double x) { return std::floor(x); }, floor, &Tensor::floor, &Tensor::floor_, floor_out},
    {[](double x) { return std::ceil(x); }, ceil, &Tensor::ceil, &Tensor::ceil_, ceil_out},
    {[](double x) { return std::trunc(x); }, trunc, &Tensor::trunc, &Tensor::trunc_, trunc_out},
};

TEST(Pointwise, UnaryOperatorsHaveFourForms) {
  for (const Unary& op : kUnary)
    for (const double at : {0.375, 1.75, -0.625}) {
      const double expected = op.reference(at);
      if (std::isnan(expected)) continue;
      SCOPED_TRACE(&op - kUnary);
      const Tensor x = of({at});
      EXPECT_NEAR(op.function(x).item(), expected, 1e-15);
      EXPECT_NEAR((x.*op.method)().item(), expected, 1e-15);
      Tensor out = of({0}), self = x.clone();
      EXPECT_TRUE(op.out(out, x).is_same(out));
      EXPECT_NEAR(out.item(), expected, 1e-15);
      EXPECT_TRUE((self.*op.in_place)().is_same(self));
      EXPECT_NEAR(self.item(), expected, 1e-15);
    }
}

struct Binary {
  double (*reference)(double, double);
  Tensor (*function)(const Tensor&, const Tensor&);
  Tensor (Tensor::*method)(const Tensor&) const;
  Tensor& (Tensor::*in_place)(const Tensor&);  // or null
  Tensor& (*out)(Tensor&, const Tensor&, const Tensor&);
};

const Binary kBinary[] = {
    {[](double a, double b) { return std::pow(a, b); }, pow, &Tensor::pow, &Tensor::pow_, pow_out},
    {[](double a, double b) { return std::fmod(a, b); }, fmod, &Tensor::fmod, &Tensor::fmod_, fmod_out},
    {[](double a, double b) { return a - b * std::floor(a / b); }, remainder, &Tensor::remainder, &Tensor::remainder_,
     remainder_out},
    {[](double a, double b) { return std::fmax(a, b); }, maximum, &Tensor::maximum, nullptr, maximum_out},
    {[](double a, double b) { return std::fmin(a, b); }, minimum, &Tensor::minimum, nullptr, minimum_out},
    {[](double a, double b) { return double(a == b); }, eq, &Tensor::eq, &Tensor::eq_, eq_out},
    {[](double a, double b) { return double(a != b); }, ne, &Tensor::ne, &Tensor::ne_, ne_out},
    {[](double a, double b) { return double(a < b); }, lt, &Tensor::lt, &Tensor::lt_, lt_out},
    {[](double a, double b) { return double(a <= b); }, le, &Tensor::le, &Tensor::le_, le_out},
    {[](double a, double b) { return double(a > b); }, gt, &Tensor::gt, &Tensor::gt_, gt_out},
    {[](double a, double b) { return double(a >= b); }, ge, &Tensor::ge, &Tensor::ge_, ge_out},
    {[](double a, double b) { return double(a != 0 && b != 0); }, logical_and, &Tensor::logical_and,
     &Tensor::logical_and_, logical_and_out},
    {[](double a, double b) { return double(a != 0 || b != 0); }, logical_or, &Tensor::logical_or, &Tensor::logical_or_,
     logical_or_out},
    {[](double a, double b) { return double((a != 0) != (b != 0)); }, logical_xor, &Tensor::logical_xor,
     &Tensor::logical_xor_, logical_xor_out},
};

TEST(Pointwise, BinaryOperatorsHaveFourForms) {
  for (const Binary& op : kBinary)
    for (const auto& [a, b] : {std::pair(3.5, 2.0), std::pair(2.0, 3.0), std::pair(2.0, 2.0), std::pair(0.0, 1.0)}) {
      SCOPED_TRACE(&op - kBinary);
      const double expected = op.reference(a, b);
      const Tensor x = of({a}), y = of({b});
      EXPECT_DOUBLE_EQ(op.function(x, y).item(), expected);
      EXPECT_DOUBLE_EQ((x.*op.method)(y).item(), expected);
      Tensor out = of({7}), self = x.clone();
      EXPECT_TRUE(op.out(out, x, y).is_same(out));
      EXPECT_DOUBLE_EQ(out.item(), expected);
      if (!op.in_place) continue;
      EXPECT_TRUE((self.*op.in_place)(y).is_same(self));
      EXPECT_DOUBLE_EQ(self.item(), expected);
    }
}

// Of PyTorch 1.13.1.
TEST(InPlaceComparison, KeepsTheDTypeOfSelf) {
  Tensor whole = integers({0, 1}), real = of({1.5, 2}), z = tensor({complex64(1, 2), complex64(2)});
  EXPECT_THAT(values(whole.eq_(of({0, 1.5}))), ElementsAre(1, 0));
  EXPECT_EQ(whole.dtype(), kInt64);
  EXPECT_THAT(values(real.clone().lt_(1.7)), ElementsAre(1, 0));
  EXPECT_THAT(values(real.clone().le_(1.5)), ElementsAre(1, 0));
  EXPECT_THAT(values(real.clone().gt_(1.5)), ElementsAre(0, 1));
  EXPECT_THAT(values(real.clone().ge_(2)), ElementsAre(0, 1));
  EXPECT_THAT(values(real.clone().ne_(2)), ElementsAre(1, 0));
  EXPECT_THAT(values(real.logical_and_(integers({0, 1}))), ElementsAre(0, 1));
  EXPECT_EQ(z.eq_(2).to_vector<complex64>(), std::vector<complex64>({0, 1}));
}

TEST(InPlaceComparison, EndsTheHistoryOfSelf) {
  const auto gradient = [](auto compare) {
    const Tensor leaf = of({1.5, 2}).requires_grad_();
    Tensor y = leaf.mul(2);
    compare(y);
    y.sum().backward();
    return leaf.grad().defined() ? values(leaf.grad()) : std::vector<double>(2);
  };
  EXPECT_THAT(gradient([](Tensor& y) { y.eq_(3); }), ElementsAre(0, 0));
  EXPECT_THAT(gradient([](Tensor& y) { y.logical_not_(); }), ElementsAre(0, 0));
  EXPECT_THAT(gradient([](Tensor& y) {
                Tensor window = y.select(0, 1);
                window.ge_(3);
              }),
              ElementsAre(2, 0));
}

TEST(InPlaceComparison, IsRefusedWhereItDoesNotFit) {
  Tensor leaf = of({1}).requires_grad_(), one = of({1});
  EXPECT_ERROR(AutogradError, leaf.eq_(1), "eq: a leaf Variable");
  EXPECT_ERROR(ShapeError, one.lt_(of({1, 2})), "lt_: the result has shape [2]");
  Tensor y = leaf.mul(2);
  EXPECT_ERROR(ShapeError, y.lt_(of({1, 2})), "lt_: the result has shape [2]");
  EXPECT_EQ(y.item(), 2);
}

TEST(Pointwise, NumbersStandForTensors) {
  const Tensor x = of({1, 2, 3});
  EXPECT_THAT(values(x.lt(2)), ElementsAre(1, 0, 0));
  EXPECT_THAT(values(x.le(2)), ElementsAre(1, 1, 0));
  EXPECT_THAT(values(x.gt(2)), ElementsAre(0, 0, 1));
  EXPECT_THAT(values(x.ge(2)), ElementsAre(0, 1, 1));
  EXPECT_THAT(values(x.eq(2)), ElementsAre(0, 1, 0));
  EXPECT_THAT(values(x.ne(2)), ElementsAre(1, 0, 1));
  EXPECT_THAT(values(pow(2, x)), ElementsAre(2, 4, 8));
  EXPECT_THAT(values(x.pow(2)), ElementsAre(1, 4, 9));
  EXPECT_THAT(values(x.remainder(2)), ElementsAre(1, 0, 1));
  EXPECT_THAT(values(neg(x).fmod(2)), ElementsAre(-1, 0, -1));
  EXPECT_THAT(values(neg(x).div(2, "floor")), ElementsAre(-1, -1, -2));
  EXPECT_THAT(values(neg(x).div(2, "trunc")), ElementsAre(0, -1, -1));
  Tensor y = x.clone();
  EXPECT_THAT(values(y.pow_(2).div_(2, "floor").remainder_(3).fmod_(2)), ElementsAre(0, 0, 1));
}

TEST(Pointwise, ClampTakesEitherBoundOrBoth) {
  const Tensor x = of({-3, 0, 3}), one = of({1, 1, 1});
  EXPECT_THAT(values(clamp(x, -1, 2)), ElementsAre(-1, 0, 2));
  EXPECT_THAT(values(x.clamp(-1)), ElementsAre(-1, 0, 3));
  EXPECT_THAT(values(x.clamp({}, 2)), ElementsAre(-3, 0, 2));
  EXPECT_THAT(values(x.clamp(neg(one), one)), ElementsAre(-1, 0, 1));
  EXPECT_THAT(values(x.clamp(one)), ElementsAre(1, 1, 3));
  EXPECT_THAT(values(clamp(x, Tensor(), one)), ElementsAre(-3, 0, 1));
  Tensor y = x.clone(), out = of({});
  EXPECT_THAT(values(y.clamp_(-2, 2)), ElementsAre(-2, 0, 2));
  EXPECT_THAT(values(y.clamp_(neg(one), one)), ElementsAre(-1, 0, 1));
  EXPECT_THAT(values(y.clamp_(of({0, 0, 0}))), ElementsAre(0, 0, 1));
  EXPECT_THAT(values(clamp_out(out, x, -1, 2)), ElementsAre(-1, 0, 2));
}

TEST(Pointwise, TernaryOperatorsHaveFourForms) {
  const Tensor x = of({1, 2}), a = of({3, 4}), b = of({2, 8});
  Tensor out = of({});
  EXPECT_THAT(values(addcmul(x, a, b, 2)), ElementsAre(13, 66));
  EXPECT_THAT(values(x.addcmul(a, b)), ElementsAre(7, 34));
  EXPECT_THAT(values(x.clone().addcmul_(a, b, -1)), ElementsAre(-5, -30));
  EXPECT_THAT(values(addcmul_out(out, x, a, b)), ElementsAre(7, 34));
  EXPECT_THAT(values(addcdiv(x, a, b, 2)), ElementsAre(4, 3));
  EXPECT_THAT(values(x.addcdiv(a, b)), ElementsAre(2.5, 2.5));
  EXPECT_THAT(values(x.clone().addcdiv_(a, b, 4)), ElementsAre(7, 4));
  EXPECT_THAT(values(addcdiv_out(out, x, a, b)), ElementsAre(2.5, 2.5));
  EXPECT_THAT(values(lerp(x, a, 0.25)), ElementsAre(1.5, 2.5));
  EXPECT_THAT(values(x.lerp(a, of({0, 1}))), ElementsAre(1, 4));
  EXPECT_THAT(values(x.clone().lerp_(a, 0.5)), ElementsAre(2, 3));
  EXPECT_THAT(values(x.clone().lerp_(a, of({1, 0.5}))), ElementsAre(3, 3));
  EXPECT_THAT(values(lerp_out(out, x, a, 0.25)), ElementsAre(1.5, 2.5));
  EXPECT_THAT(values(lerp_out(out, x, a, of({1, 0}))), ElementsAre(3, 2));
}

TEST(Pointwise, MaskedFillTakesNumbersAndTensorsOfRankZero) {
  const Tensor x = of({1, 2, 3}), mask = truths({true, false, true});
  EXPECT_THAT(values(x.masked_fill(mask, 7)), ElementsAre(7, 2, 7));
  EXPECT_THAT(values(x.masked_fill(mask, scalar_tensor(0.5))), ElementsAre(0.5, 2, 0.5));
  Tensor y = x.clone();
  EXPECT_THAT(values(y.masked_fill_(mask, 7)), ElementsAre(7, 2, 7));
  EXPECT_THAT(values(y.masked_fill_(mask.logical_not(), scalar_tensor(0.5))), ElementsAre(7, 0.5, 7));
  EXPECT_EQ(integers({1, 2, 3}).masked_fill(mask, 7).dtype(), kInt64);
}

TEST(Pointwise, RoundsHalfToEvenAndToDecimals) {
  EXPECT_THAT(values(of({-2.5, -0.5, 0.5, 1.5, 2.5}).round()), ElementsAre(-2, 0, 0, 2, 2));
  EXPECT_THAT(values(of({1.25, -1.875}).round(2)), ElementsAre(1.25, -1.88));
  EXPECT_THAT(values(of({15, 25, -34}).round(-1)), ElementsAre(20, 20, -30));
  Tensor x = of({2.5, 3.5}), out = of({});
  EXPECT_THAT(values(round_out(out, x)), ElementsAre(2, 4));
  EXPECT_THAT(values(x.round_()), ElementsAre(2, 4));
}

TEST(Pointwise, ActivationsWriteInPlaceAndIntoOut) {
  const Tensor x = of({-1, 2});
  Tensor out = of({}), y = x.clone();
  EXPECT_THAT(values(gelu_out(out, x)), near({-0.158655253931457, 1.954499736103642}));
  EXPECT_THAT(values(gelu_out(out, x, "tanh")), near({-0.158808009391723, 1.954597694087775}));
  EXPECT_THAT(values(silu_out(out, x)), near({-0.268941421369995, 1.761594155955765}));
  EXPECT_THAT(values(softplus_out(out, x)), near({0.313261687518223, 2.126928011042973}));
  EXPECT_THAT(values(leaky_relu_out(out, x, 0.5)), ElementsAre(-0.5, 2));
  EXPECT_THAT(values(elu_out(out, x)), near({-0.632120558828558, 2}));
  EXPECT_THAT(values(leaky_relu_(y, 0.5)), ElementsAre(-0.5, 2));
  EXPECT_THAT(values(elu_(y)), near({-0.393469340287367, 2}));
  EXPECT_THAT(values(relu_(y)), ElementsAre(0, 2));
  EXPECT_THAT(values(silu_(y)), near({0, 1.761594155955765}));
}

TEST(Pointwise, ResultDTypesAreThoseOfPyTorch) {
  const Tensor truth = truths({true}), number = integers({2}), z = tensor({complex64(3, 4)});
  EXPECT_EQ(exp(number).dtype(), kFloat32);
  EXPECT_EQ(sigmoid(truth).dtype(), kFloat32);
  EXPECT_EQ(rsqrt(of({1}).to(kFloat16)).dtype(), kFloat16);
  EXPECT_EQ(abs(number).dtype(), kInt64);
  EXPECT_EQ(abs(z).dtype(), kFloat32);
  EXPECT_EQ(angle(z).dtype(), kFloat32);
  EXPECT_EQ(angle(number).dtype(), kFloat32);
  EXPECT_EQ(polar(of({1}), of({2})).dtype(), kComplex128);
  EXPECT_EQ(sign(truth).dtype(), kBool);
  EXPECT_EQ(square(truth).dtype(), kInt64);
  EXPECT_EQ(pow(truth, 2).dtype(), kInt64);
  EXPECT_EQ(floor(number).dtype(), kInt64);
  EXPECT_EQ(clamp(number, 0.5).dtype(), kFloat32);
  EXPECT_EQ(clamp(truth, 0).dtype(), kInt64);
  EXPECT_EQ(maximum(truth, truth).dtype(), kBool);
  EXPECT_EQ(div(number, number, "floor").dtype(), kInt64);
  EXPECT_EQ(isnan(number).dtype(), kBool);
}

TEST(Pointwise, BoundsBeyondAnIntegerDTypeDoNotWrap) {
  EXPECT_THAT(values(clamp(tensor<uint8_t>({3, 200}), -5, 300)), ElementsAre(3, 200));
}

TEST(Pointwise, IntegerDivisionByZeroChangesNothing) {
  Tensor a = integers({6, 7}), zero = integers({2, 0});
  const uint32_t version = a.version();
  EXPECT_ERROR(InvalidArgumentError, a.div_(zero, "floor"), "div_floor");
  EXPECT_ERROR(InvalidArgumentError, a.remainder_(zero), "ZeroDivisionError");
  EXPECT_ERROR(InvalidArgumentError, fmod(a, 0), "fmod");
  EXPECT_THAT(values(a), ElementsAre(6, 7));
  EXPECT_EQ(a.version(), version);
}

TEST(Pointwise, TheSmallestIntegerDividedByMinusOneWraps) {
  const Tensor least = tensor<int32_t>({std::numeric_limits<int32_t>::min()});
  EXPECT_EQ(div(least, -1, "trunc").item<int32_t>(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(remainder(least, -1).item<int32_t>(), 0);
}

TEST(Pointwise, RefusesWhatHasNoMeaning) {
  const Tensor x = of({1}), number = integers({2}), truth = truths({true}), z = tensor({complex64(3, 4)});
  Tensor w = z.clone();
  EXPECT_ERROR(DTypeError, abs(truth), "abs");
  EXPECT_ERROR(DTypeError, w.abs_(), "real");
  EXPECT_ERROR(DTypeError, sign(z), "sign");
  EXPECT_ERROR(DTypeError, floor(truth), "floor");
  EXPECT_ERROR(DTypeError, round(number, 1), "decimals");
  EXPECT_ERROR(DTypeError, gelu(number), "gelu");
  EXPECT_ERROR(InvalidArgumentError, gelu(x, "cubic"), "approximate");
  EXPECT_ERROR(InvalidArgumentError, clamp(x), "at least one");
  EXPECT_ERROR(DTypeError, clamp(x, complex128(0, 1)), "complex bound");
  EXPECT_ERROR(DTypeError, maximum(z, z), "maximum");
  EXPECT_ERROR(InvalidArgumentError, div(x, x, "ceil"), "rounding_mode");
  EXPECT_ERROR(DTypeError, lerp(number, number, 1), "lerp");
  EXPECT_ERROR(DTypeError, lerp(x, x, complex128(0, 1)), "weight");
  EXPECT_ERROR(DTypeError, addcmul(number, number, number, 0.5), "value");
  const Tensor first = integers({0}), bytes = number.to(kInt8);
  EXPECT_ERROR(DTypeError, index_add(number, 0, first, number, 0.5), "index_add: alpha is real");
  EXPECT_ERROR(DTypeError, index_add(x, 0, first, x, complex128(0, 1)), "index_add: alpha is complex");
  EXPECT_ERROR(DTypeError, index_add(bytes, 0, first, bytes, 1000), "1000 does not fit");
  EXPECT_ERROR(DTypeError, add(bytes, bytes, 1000), "1000 does not fit");
  EXPECT_ERROR(DTypeError, addcmul(bytes, bytes, bytes, 1000), "1000 does not fit");
  const Tensor matrix = number.view({1, 1});
  EXPECT_ERROR(DTypeError, addmm(matrix, matrix, matrix, 0.5), "addmm: beta is real");
  EXPECT_ERROR(DTypeError, addmm(matrix, matrix, matrix, 0, 0.5), "addmm: alpha is real");
  EXPECT_ERROR(DTypeError, addmm(x.view({1, 1}), x.view({1, 1}), x.view({1, 1}), 0, complex128(0, 1)),
               "addmm: alpha is complex");
  EXPECT_ERROR(DTypeError, addcdiv(number, number, number), "addcdiv");
  EXPECT_ERROR(DTypeError, x.masked_fill(number, 1), "mask must be bool");
  EXPECT_ERROR(DTypeError, number.masked_fill(truth, 0.5), "does not fit");
  EXPECT_ERROR(ShapeError, x.masked_fill(truth, of({1, 2})), "rank 0");
  EXPECT_ERROR(DTypeError, polar(z, z), "polar");
}

// Values of PyTorch 1.13.1: the number is not rounded to the half dtype first.
TEST(NumberBesideHalf, KeepsItsPrecision) {
  const Tensor x = tensor({100.f, 3.f}).to(kBFloat16);
  Tensor y = x.clone();
  EXPECT_EQ(y.mul_(0.99).to_vector<float>(), std::vector<float>({99, 2.96875}));
  EXPECT_EQ(x.mul(0.999).to_vector<float>(), std::vector<float>({100, 3}));
  EXPECT_EQ(x.to(kFloat16).mul(0.999).to_vector<float>(), std::vector<float>({99.875, 2.99609375}));
  EXPECT_EQ(add(x, x, 0.1).to_vector<float>(), std::vector<float>({110, 3.296875}));
  EXPECT_EQ((1.001 / x.to(kFloat16)).dtype(), kFloat16);
  EXPECT_EQ(y.dtype(), kBFloat16);
}

// The exact result, rounded once. With alpha rounded to the half dtype first the last bits are others.
TEST(NumberBesideHalf, ScalesInFloat32InEveryForm) {
  const Tensor x = tensor({3.f, 7.f}).to(kBFloat16), h = tensor({11.f, 7.f}).to(kFloat16);
  const auto floats = [](const Tensor& t) { return t.to_vector<float>(); };
  const std::vector<float> of_x = {1.203125, 2.796875}, of_h = {3.30078125, 2.099609375};
  EXPECT_EQ(floats(sub(x, x, 0.6)), of_x);
  EXPECT_EQ(floats(sub(h, h, 0.7)), of_h);
  Tensor out = empty({2}, kBFloat16), wide = empty({2}), of_half = empty({0}, kFloat16);
  EXPECT_EQ(floats(sub_out(out, x, x, 0.6)), of_x);
  EXPECT_EQ(floats(add_out(out, x, neg(x), 0.6)), of_x);
  EXPECT_EQ(floats(sub_out(of_half, h, h, 0.7)), of_h);
  EXPECT_EQ(floats(sub_out(wide, x, x, 0.6)), of_x);
  EXPECT_EQ(floats(sub(x, integers({3, 7}), 0.6)), of_x);
  EXPECT_EQ(floats(x.clone().sub_(x, 0.6)), of_x);
  EXPECT_EQ(floats(sub_out(out, out.copy_(x), x, 0.6)), of_x);
  const Tensor index = integers({0, 1});
  EXPECT_EQ(floats(index_add(zeros({2}, kBFloat16), 0, index, tensor({77.f, 9.f}).to(kBFloat16), 0.1)),
            std::vector<float>({7.6875, 0.8984375}));
  EXPECT_EQ(floats(index_add(zeros({2}, kFloat16), 0, index, tensor({51.f, 7.f}).to(kFloat16), 0.1)),
            std::vector<float>({5.1015625, 0.7001953125}));
}

}  // namespace
}  // namespace vellum
