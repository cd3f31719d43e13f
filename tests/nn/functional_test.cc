// Goldens are from goldens/losses.py.

#include "vellum/nn/functional.h"

#include <cmath>

#include "vellum/tests/nn/testing.h"

namespace vellum::nn::functional {
namespace {

using namespace vellum::testing;

struct CrossEntropyCase {
  std::vector<int64_t> target;
  CrossEntropyOptions options;
  std::vector<double> loss, grad;
};

TEST(CrossEntropy, AgreesWithPyTorch) {
  const CrossEntropyCase cases[] = {
      {{2, 0, 3},
       {Reduction::kNone, -100},
       {1.3157695533766089, 0.7873386716983295, 0.93124717760318354},
       {0.12672073466632397, 0.44229882380699442, -0.73173220260622185, 0.16271264413290334, -0.54494576607658873,
        0.27600434470659363, 0.16740509727844333, 0.10153632409155181, 0.30689574631975497, 0.18614167947832197,
        0.1129006356540042, -0.60593806145208118}},
      {{2, 0, 3},
       {Reduction::kMean, -100},
       {1.0114518008927074},
       {0.042240244888774654, 0.14743294126899814, -0.24391073420207393, 0.054237548044301115, -0.18164858869219624,
        0.092001448235531205, 0.05580169909281444, 0.033845441363850599, 0.10229858210658499, 0.062047226492773985,
        0.037633545218001399, -0.20197935381736037}},
      {{2, 0, 3},
       {Reduction::kSum, -100},
       {3.0343554026781221},
       {0.12672073466632397, 0.44229882380699442, -0.73173220260622185, 0.16271264413290334, -0.54494576607658873,
        0.27600434470659363, 0.16740509727844333, 0.10153632409155181, 0.30689574631975497, 0.18614167947832197,
        0.1129006356540042, -0.60593806145208118}},
      {{2, -100, 3},
       {Reduction::kNone, -100},
       {1.3157695533766089, 0, 0.93124717760318354},
       {0.12672073466632397, 0.44229882380699442, -0.73173220260622185, 0.16271264413290334, 0, 0, 0, 0,
        0.30689574631975497, 0.18614167947832197, 0.1129006356540042, -0.60593806145208118}},
      {{2, -100, 3},
       {Reduction::kMean, -100},
       {1.1235083654898963},
       {0.063360367333161985, 0.22114941190349721, -0.36586610130311092, 0.081356322066451672, 0, 0, 0, 0,
        0.15344787315987748, 0.093070839739160985, 0.056450317827002099, -0.30296903072604059}},
      {{2, -100, 3},
       {Reduction::kSum, -100},
       {2.2470167309797926},
       {0.12672073466632397, 0.44229882380699442, -0.73173220260622185, 0.16271264413290334, 0, 0, 0, 0,
        0.30689574631975497, 0.18614167947832197, 0.1129006356540042, -0.60593806145208118}},
      {{1, 0, 1},
       {Reduction::kNone, 1},
       {0, 0.7873386716983295, 0},
       {0, 0, 0, 0, -0.54494576607658873, 0.27600434470659363, 0.16740509727844333, 0.10153632409155181, 0, 0, 0, 0}},
      {{1, 0, 1},
       {Reduction::kMean, 1},
       {0.7873386716983295},
       {0, 0, 0, 0, -0.54494576607658873, 0.27600434470659363, 0.16740509727844333, 0.10153632409155181, 0, 0, 0, 0}},
      {{1, 0, 1},
       {Reduction::kSum, 1},
       {0.7873386716983295},
       {0, 0, 0, 0, -0.54494576607658873, 0.27600434470659363, 0.16740509727844333, 0.10153632409155181, 0, 0, 0, 0}},
  };
  for (const CrossEntropyCase& c : cases) {
    SCOPED_TRACE(&c - cases);
    Tensor x = pattern({3, 4}).requires_grad_();
    const Tensor loss = cross_entropy(x, tensor(c.target), c.options);
    loss.sum().backward();
    expect_near(loss, c.loss);
    expect_near(x.grad(), c.grad);
  }
}

// -log(softmax) of the target's class, written out.
TEST(CrossEntropy, OfTwoScoresIsTheLogisticLoss) {
  const Tensor x = tensor({0.25, -1.5}, kFloat64).view({1, 2});
  expect_near(cross_entropy(x, tensor({int64_t{0}})), {std::log1p(std::exp(-1.75))});
  expect_near(cross_entropy(x, tensor({int64_t{1}})), {std::log1p(std::exp(1.75))});
}

TEST(CrossEntropy, StaysFiniteForLargeScores) {
  const Tensor x = tensor({1000., 0., -1000., 0.}, kFloat64).view({2, 2});
  expect_near(cross_entropy(x, tensor({int64_t{1}, int64_t{1}}), {.reduction = Reduction::kNone}), {1000, 0});
}

TEST(CrossEntropy, OfNoTargetsIsNan) {
  EXPECT_TRUE(std::isnan(cross_entropy(ones({1, 2}), tensor({int64_t{-100}})).item()));
}

TEST(CrossEntropy, RejectsWhatDoesNotFit) {
  const Tensor x = ones({2, 3}), target = tensor({int64_t{0}, int64_t{1}});
  EXPECT_THAT(message_of<ShapeError>([&] { cross_entropy(ones({3}), target); }),
              HasSubstr("target [2] does not fit scores [3]; it must be []"));
  EXPECT_THAT(message_of<ShapeError>([&] { cross_entropy(x, tensor({int64_t{0}})); }), HasSubstr("[1] does not fit"));
  EXPECT_THAT(message_of<DTypeError>([&] { cross_entropy(x, target.to(kInt32)); }), HasSubstr("int32"));
  EXPECT_THROW(cross_entropy(x.to(kInt64), target), DTypeError);
  EXPECT_THROW(cross_entropy(x, tensor({int64_t{0}, int64_t{3}})), InvalidArgumentError);
  EXPECT_THROW(cross_entropy(x, tensor({int64_t{0}, int64_t{-1}})), InvalidArgumentError);
}

TEST(MseLoss, AgreesWithPyTorch) {
  struct Case {
    Reduction reduction;
    std::vector<double> loss, grad;
  };
  const Case cases[] = {
      {Reduction::kNone, {2.25, 1, 0, 1, 2.25, 0.25}, {3, -2, 0, 2, -3, -1}},
      {Reduction::kMean, {1.125}, {0.5, -0.33333333333333331, 0, 0.33333333333333331, -0.5, -0.16666666666666666}},
      {Reduction::kSum, {6.75}, {3, -2, 0, 2, -3, -1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.reduction));
    Tensor x = pattern({2, 3}).requires_grad_();
    const Tensor loss = mse_loss(x, pattern({2, 3}) * 3, {c.reduction});
    loss.sum().backward();
    expect_near(loss, c.loss);
    expect_near(x.grad(), c.grad);
  }
}

TEST(MseLoss, RejectsShapesThatWouldBroadcast) {
  EXPECT_THAT(message_of<ShapeError>([] { mse_loss(ones({4, 1}), ones({4})); }), HasSubstr("[4, 1] and target [4]"));
  EXPECT_THROW(mse_loss(ones({2}, kComplex64), ones({2})), DTypeError);
}

TEST(Functional, NamesTheOperatorsOfTheOuterNamespaceWithoutAmbiguity) {
  using namespace vellum;
  EXPECT_THAT(values(relu(tensor({-1.f, 1.f}))), ElementsAre(0, 1));
  EXPECT_EQ(linear(ones({1, 2}), ones({3, 2})).shape(), (Dims{1, 3}));
  EXPECT_EQ(dropout(ones({2}), 0.5, false).numel(), 2);
}

}  // namespace
}  // namespace vellum::nn::functional
