// Forms that write into `out`: values are those of the form without, which conformance compares; here stand results of
// PyTorch 1.13.1, what is resized, what overlaps, and what is refused and then left as it was.

#include <gmock/gmock.h>

#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
Tensor of(std::initializer_list<double> v) { return tensor<double>(v, kFloat64); }
Tensor none(DType dtype = kFloat64) { return empty({0}, dtype); }

template <typename E, typename F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another error: ") + e.what();
  }
  return "did not throw";
}

// [[3, 1, 2], [9, 8, 7]]
class TwoResults : public ::testing::Test {
 protected:
  const Tensor x = of({3, 1, 2, 9, 8, 7}).view({2, 3});
  Tensor v = none(), i = none(kInt64);
};

TEST_F(TwoResults, AreResizedAndReturned) {
  const std::pair<Tensor&, Tensor&> both = min_out(v, i, x, 0, true);
  EXPECT_TRUE(both.first.is_same(v) && both.second.is_same(i));
  EXPECT_EQ(v.shape(), Dims({1, 3}));
  EXPECT_THAT(values(v), ElementsAre(3, 1, 2));
  EXPECT_THAT(values(i), ElementsAre(0, 0, 0));
}

TEST_F(TwoResults, OfEachOperatorAreThoseOfPyTorch) {
  max_out(v, i, x, 1);
  EXPECT_THAT(values(v), ElementsAre(3, 9));
  EXPECT_THAT(values(i), ElementsAre(0, 0));
  v = none(), i = none(kInt64);
  sort_out(v, i, x, 1, true);
  EXPECT_THAT(values(v), ElementsAre(3, 2, 1, 9, 8, 7));
  EXPECT_THAT(values(i), ElementsAre(0, 2, 1, 0, 1, 2));
  v = none(), i = none(kInt64);
  topk_out(v, i, x, 2, 1, false);
  EXPECT_THAT(values(v), ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(values(i), ElementsAre(1, 2, 2, 1));
}

TEST_F(TwoResults, MayBeWindowsAndOfOtherDTypes) {
  Tensor wide = zeros({2, 4}, kFloat32), places = zeros({2, 2}, kInt32);
  Tensor window = wide.slice(1, 0, 4, 2), turned = places.t();
  topk_out(window, turned, x, 2);
  EXPECT_THAT(values(wide), ElementsAre(3, 0, 2, 0, 9, 0, 8, 0));
  EXPECT_THAT(values(places), ElementsAre(0, 0, 2, 1));
}

TEST_F(TwoResults, MayOverwriteTheOperand) {
  Tensor line = of({3, 1, 2});
  const uint32_t before = line.version();
  sort_out(line, i, line, 0);
  EXPECT_THAT(values(line), ElementsAre(1, 2, 3));
  EXPECT_THAT(values(i), ElementsAre(1, 2, 0));
  EXPECT_GT(line.version(), before);
}

TEST_F(TwoResults, ThatDoNotFitLeaveBothAsTheyWere) {
  Tensor two = of({5, 5}), three = zeros({3}, kInt64), real = zeros({2}, kFloat64);
  const uint32_t before = two.version();
  EXPECT_THAT(message<ShapeError>([&] { max_out(two, three, x, 1); }), HasSubstr("max: out has shape [3]"));
  Tensor truths = zeros({2}, kBool);
  EXPECT_THAT(message<DTypeError>([&] { max_out(two, truths, x, 1); }), HasSubstr("result type int64"));
  EXPECT_THAT(message<InvalidArgumentError>([&] { max_out(real, real, x, 1); }), HasSubstr("the same storage"));
  Tensor undefined;
  EXPECT_THAT(message<InvalidArgumentError>([&] { max_out(two, undefined, x, 1); }), HasSubstr("out is undefined"));
  EXPECT_THAT(values(two), ElementsAre(5, 5));
  EXPECT_EQ(two.version(), before);
}

TEST_F(TwoResults, HaveNoGradient) {
  const Tensor leaf = x.clone().requires_grad_();
  EXPECT_THAT(message<AutogradError>([&] { sort_out(v, i, leaf); }), HasSubstr("sort: functions with out="));
}

TEST(OutForms, OfFactoriesTakeTheDTypeOfOut) {
  Tensor line = none(), whole = none(kInt64), truth = none(kBool), half = none(kFloat16);
  EXPECT_THAT(values(arange_out(line, 0, 3, 0.75)), ElementsAre(0, 0.75, 1.5, 2.25));
  EXPECT_THAT(values(linspace_out(half, 0, 1, 3)), ElementsAre(0, 0.5, 1));
  EXPECT_EQ(half.dtype(), kFloat16);
  EXPECT_THAT(values(eye_out(truth, 2)), ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(truth.dtype(), kBool);
  EXPECT_THAT(values(full_out(whole, {2}, 1.5)), ElementsAre(1, 1));
  EXPECT_THAT(values(arange_out(whole, 2)), ElementsAre(0, 1));
  EXPECT_THAT(values(zeros_out(whole, {2})), ElementsAre(0, 0));
  EXPECT_THAT(values(ones_out(whole, {2})), ElementsAre(1, 1));
}

TEST(OutForms, OfFactoriesFillWindows) {
  Tensor board = zeros({2, 3}, kFloat64), column = board.select(1, 1);
  const uint32_t before = board.version();
  full_out(column, {2}, 7);
  EXPECT_THAT(values(board), ElementsAre(0, 7, 0, 0, 7, 0));
  EXPECT_GT(board.version(), before);
}

TEST(OutForms, OfFactoriesRefuseAnotherShape) {
  Tensor line = of({1, 2});
  EXPECT_THAT(message<ShapeError>([&] { arange_out(line, 3); }), HasSubstr("arange: out has shape [2]"));
  EXPECT_THROW(zeros_out(line, {-1}), ShapeError);
  EXPECT_THAT(message<DTypeError>([&] { full_out(line, {2}, complex128(0, 1)); }), HasSubstr("full"));
  Tensor leaf = of({1, 2}).requires_grad_(), undefined;
  EXPECT_THROW(ones_out(leaf, {2}), AutogradError);
  EXPECT_THROW(ones_out(undefined, {2}), InvalidArgumentError);
  EXPECT_THAT(values(line), ElementsAre(1, 2));
}

TEST(OutForms, OfRandomNumbersDrawWhatTheFactoryDraws) {
  const auto drawn = [](auto draw) {
    default_generator(Device(kCPU)).set_state({7, 0});
    return values(draw());
  };
  Tensor out = none(kFloat32), whole = none(kInt64);
  EXPECT_EQ(drawn([&] { return rand_out(out, {5}); }), drawn([] { return rand({5}); }));
  EXPECT_EQ(drawn([&] { return randn_out(out, {5}); }), drawn([] { return randn({5}); }));
  EXPECT_EQ(drawn([&] { return randperm_out(whole, 5); }), drawn([] { return randperm(5); }));
}

TEST(OutForms, OfStackTakesAnOperandAsOut) {
  Tensor a = of({1, 2}), out = none();
  EXPECT_THAT(values(stack_out(out, std::vector{a, of({3, 4})}, -1)), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(out.shape(), Dims({2, 2}));
  Tensor row = out.select(0, 0);
  stack_out(out, std::vector{out.select(0, 1), row});
  EXPECT_THAT(values(out), ElementsAre(2, 4, 1, 3));
}

TEST(OutForms, OfProductsAreThoseOfPyTorch) {
  const Tensor a = of({1, 2, 3, 4}).view({2, 2}), b = of({5, 6, 7, 8}).view({2, 2}), x = of({1, 10});
  Tensor m = none(), line = none(), one = none(), batches = none();
  EXPECT_THAT(values(addmm_out(m, a, a, b, 2, 3)), ElementsAre(59, 70, 135, 158));
  EXPECT_THAT(values(baddbmm_out(batches, ones({1, 2, 2}, kFloat64), a.unsqueeze(0), b.unsqueeze(0), 0.5, 2)),
              ElementsAre(38.5, 44.5, 86.5, 100.5));
  EXPECT_THAT(values(mm_out(m, a, b)), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(values(mv_out(line, a, x)), ElementsAre(21, 43));
  EXPECT_THAT(values(matmul_out(line, x, a)), ElementsAre(31, 42));
  EXPECT_THAT(values(dot_out(one, x, x)), ElementsAre(101));
  EXPECT_EQ(one.shape(), Dims());
  EXPECT_THAT(values(outer_out(m, x, x)), ElementsAre(1, 10, 10, 100));
}

TEST(OutForms, OfAddmmMayOverwriteEachOperand) {
  for (const int at : {0, 1, 2}) {
    Tensor operands[] = {of({1, 2, 3, 4}).view({2, 2}), of({1, 2, 3, 4}).view({2, 2}), of({5, 6, 7, 8}).view({2, 2})};
    addmm_out(operands[at], operands[0], operands[1], operands[2], 2, 3);
    EXPECT_THAT(values(operands[at]), ElementsAre(59, 70, 135, 158)) << at;
  }
}

TEST(OutForms, OfAddmmHaveNoGradient) {
  const Tensor m = ones({2, 2}).requires_grad_();
  Tensor out = empty({2, 2});
  EXPECT_THAT(message<AutogradError>([&] { addmm_out(out, ones({2, 2}), m, m); }), HasSubstr("addmm: functions with"));
}

TEST(OutForms, OfClampBetweenTensors) {
  const Tensor x = of({-3, 0, 3}), low = of({-1, 1, -1}), high = of({1, 2, 2});
  Tensor out = none(), self = x.clone();
  EXPECT_THAT(values(clamp_out(out, x, low, high)), ElementsAre(-1, 1, 2));
  EXPECT_THAT(values(clamp_out(out, x, low)), ElementsAre(-1, 1, 3));
  EXPECT_THAT(values(clamp_out(out, x, Tensor(), high)), ElementsAre(-3, 0, 2));
  EXPECT_THAT(values(self.clamp_(low, high)), ElementsAre(-1, 1, 2));
}

// --- A number in the place of an operand

struct NumberForm {
  const char* name;
  Tensor& (*write)(Tensor& out, const Tensor& x);
  std::vector<double> of_line;  // of [-3, 0.5, 2, 5]
};

const NumberForm kArithmetic[] = {
    {"add", [](Tensor& out, const Tensor& x) -> Tensor& { return add_out(out, x, 2.5); }, {-0.5, 3, 4.5, 7.5}},
    {"sub", [](Tensor& out, const Tensor& x) -> Tensor& { return sub_out(out, x, 2.5); }, {-5.5, -2, -0.5, 2.5}},
    {"mul", [](Tensor& out, const Tensor& x) -> Tensor& { return mul_out(out, x, 2.5); }, {-7.5, 1.25, 5, 12.5}},
    {"div", [](Tensor& out, const Tensor& x) -> Tensor& { return div_out(out, x, 2.5); }, {-1.2, 0.2, 0.8, 2}},
    {"div", [](Tensor& out, const Tensor& x) -> Tensor& { return div_out(out, x, 2., "floor"); }, {-2, 0, 1, 2}},
    {"div", [](Tensor& out, const Tensor& x) -> Tensor& { return div_out(out, x, 2., "trunc"); }, {-1, 0, 1, 2}},
    {"fmod", [](Tensor& out, const Tensor& x) -> Tensor& { return fmod_out(out, x, 2.); }, {-1, 0.5, 0, 1}},
    {"remainder", [](Tensor& out, const Tensor& x) -> Tensor& { return remainder_out(out, x, 2.); }, {1, 0.5, 0, 1}},
    {"pow", [](Tensor& out, const Tensor& x) -> Tensor& { return pow_out(out, x, 2.); }, {9, 0.25, 4, 25}},
    {"pow",
     [](Tensor& out, const Tensor& x) -> Tensor& { return pow_out(out, 2., x); },
     {0.125, 1.4142135623730951, 4, 32}},
};
const NumberForm kComparisons[] = {
    {"eq", [](Tensor& out, const Tensor& x) -> Tensor& { return eq_out(out, x, 2); }, {0, 0, 1, 0}},
    {"ne", [](Tensor& out, const Tensor& x) -> Tensor& { return ne_out(out, x, 2); }, {1, 1, 0, 1}},
    {"lt", [](Tensor& out, const Tensor& x) -> Tensor& { return lt_out(out, x, 2); }, {1, 1, 0, 0}},
    {"le", [](Tensor& out, const Tensor& x) -> Tensor& { return le_out(out, x, 2); }, {1, 1, 1, 0}},
    {"gt", [](Tensor& out, const Tensor& x) -> Tensor& { return gt_out(out, x, 2); }, {0, 0, 0, 1}},
    {"ge", [](Tensor& out, const Tensor& x) -> Tensor& { return ge_out(out, x, 2); }, {0, 0, 1, 1}},
};

template <typename F>
void each_number_form(F f) {
  using Forms = std::span<const NumberForm>;
  for (const Forms forms : {Forms(kArithmetic), Forms(kComparisons)})
    for (const NumberForm& form : forms) {
      SCOPED_TRACE(::testing::Message() << form.name << " -> " << ::testing::PrintToString(form.of_line));
      f(form);
    }
}

Tensor line() { return of({-3, 0.5, 2, 5}); }

auto are(const std::vector<double>& expected) { return ::testing::Pointwise(::testing::DoubleEq(), expected); }

TEST(OutFormsWithNumbers, AreThoseOfPyTorch) {
  each_number_form([](const NumberForm& form) {
    Tensor out = none();
    EXPECT_TRUE(form.write(out, line()).is_same(out));
    EXPECT_EQ(out.shape(), Dims({4}));
    EXPECT_THAT(values(out), are(form.of_line));
  });
}

TEST(OutFormsWithNumbers, MayOverwriteTheOperandAndWhatOverlapsIt) {
  each_number_form([](const NumberForm& form) {
    Tensor self = line(), memory = of({-3, 0.5, 2, 5, 0}), next = memory.slice(0, 1, 5);
    const uint32_t before = self.version();
    EXPECT_THAT(values(form.write(self, self)), are(form.of_line));
    EXPECT_GT(self.version(), before);
    EXPECT_THAT(values(form.write(next, memory.slice(0, 0, 4))), are(form.of_line));
    EXPECT_EQ(memory.select(0, 0).item(), -3);
  });
}

TEST(OutFormsWithNumbers, LeaveWhatTheyRefuseAsItWas) {
  each_number_form([](const NumberForm& form) {
    Tensor two = of({5, 5}), repeated = of({5}).expand({4}), undefined;
    const uint32_t before = two.version();
    EXPECT_THAT(message<ShapeError>([&] { form.write(two, line()); }), HasSubstr("out has shape [2], the result [4]"));
    EXPECT_THAT(message<InvalidArgumentError>([&] { form.write(repeated, line()); }), HasSubstr("single memory"));
    EXPECT_THAT(message<InvalidArgumentError>([&] { form.write(undefined, line()); }), HasSubstr("out is undefined"));
    EXPECT_THAT(message<AutogradError>([&] {
                  form.write(two, of({1, 2}).requires_grad_());
                }),
                HasSubstr("functions with out= arguments"));
    EXPECT_THAT(values(two), ElementsAre(5, 5));
    EXPECT_EQ(two.version(), before);
  });
}

TEST(OutFormsWithNumbers, RefuseToFallInCategory) {
  for (const NumberForm& form : kArithmetic) {
    SCOPED_TRACE(form.name);
    Tensor whole = tensor<int64_t>({5, 5, 5, 5});
    EXPECT_THAT(message<DTypeError>([&] { form.write(whole, line()); }), HasSubstr("result type float64"));
    EXPECT_THAT(values(whole), ElementsAre(5, 5, 5, 5));
  }
}

TEST(OutFormsWithNumbers, PromoteByTheCategoryOfTheNumber) {
  const Tensor whole = tensor<int64_t>({1, 2});
  Tensor real = none(kFloat32), integers = none(kInt64), z = none(kComplex64), truth = none(kBool);
  EXPECT_THAT(values(add_out(real, whole, 2.5)), ElementsAre(3.5, 4.5));
  EXPECT_THAT(values(pow_out(integers, 2, whole)), ElementsAre(2, 4));
  EXPECT_THAT(values(lt_out(truth, whole, 1.5)), ElementsAre(1, 0));
  mul_out(z, ones({1}), complex64(0, 2));
  EXPECT_EQ(z.to_vector<complex64>(), std::vector<complex64>({{0, 2}}));
  EXPECT_THAT(message<DTypeError>([&] { add_out(integers, whole, 0.5); }), HasSubstr("add: result type float32"));
}

// As in every form: 0.998 in bfloat16 would be 0.99609375, and the product 128.
TEST(OutFormsWithNumbers, DoNotRoundTheNumberToHalves) {
  const Tensor x = tensor<float>({129}).to(kBFloat16);
  Tensor out = none(kBFloat16), wide = none(kFloat32), two = ones({2}, kBFloat16);
  EXPECT_THAT(values(mul_out(out, x, 0.998)), ElementsAre(129));
  EXPECT_EQ(out.dtype(), kBFloat16);
  EXPECT_THAT(values(mul_out(wide, x, 0.998)), ElementsAre(129));
  EXPECT_THAT(message<ShapeError>([&] { mul_out(two, x, 0.998); }), HasSubstr("mul: out has shape [2]"));
  EXPECT_THAT(message<AutogradError>([&] { mul_out(out, x.clone().requires_grad_(), 0.998); }), HasSubstr("mul: "));
}

TEST(OutFormsWithNumbers, RefuseToDivideIntegersByZero) {
  Tensor out = tensor<int64_t>({7});
  EXPECT_THROW(div_out(out, tensor<int64_t>({1}), 0, "floor"), InvalidArgumentError);
  EXPECT_THROW(remainder_out(out, tensor<int64_t>({1}), 0), InvalidArgumentError);
  EXPECT_THAT(values(out), ElementsAre(7));
}

TEST(OutForms, OfSelections) {
  const Tensor x = of({4, 0, 6});
  Tensor out = none(), places = none(kInt64), z = none(kComplex128);
  EXPECT_THAT(values(masked_select_out(out, x, x > Scalar(1))), ElementsAre(4, 6));
  EXPECT_THAT(values(nonzero_out(places, x)), ElementsAre(0, 2));
  out = none();
  EXPECT_THAT(values(take_along_dim_out(out, x, tensor<int64_t>({2, 2, 0}))), ElementsAre(6, 6, 4));
  EXPECT_THAT(values(where_out(out, x > Scalar(1), x, neg(x))), ElementsAre(4, 0, 6));
  EXPECT_EQ(complex_out(z, of({1}), of({2})).to_vector<complex128>(), std::vector<complex128>({{1, 2}}));
}

TEST(OutForms, OfSumsConvertToTheDTypeFirst) {
  const Tensor x = tensor<int64_t>({100, 100});
  Tensor narrow = none(kInt8), wide = none(), real = none();
  EXPECT_THAT(values(sum_out(narrow, x, {0}, true, kInt8)), ElementsAre(-56));
  EXPECT_THAT(values(prod_out(wide, x, {0}, true, kFloat64)), ElementsAre(10000));
  EXPECT_THAT(values(mean_out(real, x, {0}, true, kFloat64)), ElementsAre(100));
}

}  // namespace
}  // namespace vellum
