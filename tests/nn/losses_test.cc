// Losses against PyTorch's values.

#include <cmath>
#include <functional>
#include <limits>

#include "vellum/allocator/memory.h"
#include "vellum/nn/functional.h"
#include "vellum/tests/nn/goldens.h"

namespace vellum::nn::functional {
namespace {

using namespace vellum::testing;

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {"none", Reduction::kNone}, {"mean", Reduction::kMean}, {"sum", Reduction::kSum}};

// --- Over classes

Dims shape_of_rank(int rank) { return rank == 1 ? Dims{4} : rank == 2 ? Dims{3, 4} : Dims{2, 4, 3}; }

Tensor classes_of_rank(int rank) {
  const Dims shape = rank == 1 ? Dims{} : rank == 2 ? Dims{3} : Dims{2, 3};
  std::vector<int64_t> classes;
  for (int64_t k = 0; k < numel_of(shape); ++k) classes.push_back(3 * k % 4);
  return tensor(std::span<const int64_t>(classes), shape);
}

Tensor class_weights(bool weighted) { return weighted ? tensor({0.5, 1., 2., 0.25}) : Tensor(); }

// Calls f(rank, weight, reduction, start of a golden's name).
void for_each_class_loss(const std::function<void(int, const Tensor&, Reduction, const std::string&)>& f) {
  for (const int rank : {1, 2, 3})
    for (const bool weighted : {false, true})
      for (const auto& [name, reduction] : kReductions)
        f(rank, class_weights(weighted), reduction, str_cat(rank, "/", int{weighted}, "/", name));
}

TEST(NllLoss, AgreesWithPyTorch) {
  for_each_class_loss([](int rank, const Tensor& weight, Reduction reduction, const std::string& name) {
    Tensor x = testing::pattern(shape_of_rank(rank)).requires_grad_();
    const Tensor loss = nll_loss(x, classes_of_rank(rank), {reduction, 1, weight});
    loss.sum().backward();
    expect_golden(str_cat("nll_loss/", name), {loss, x.grad()});
  });
}

TEST(CrossEntropy, OfClassesAgreesWithPyTorch) {
  for_each_class_loss([](int rank, const Tensor& weight, Reduction reduction, const std::string& name) {
    for (const double smoothing : {0.0, 0.25}) {
      Tensor x = testing::pattern(shape_of_rank(rank)).requires_grad_();
      const Tensor loss = cross_entropy(x, classes_of_rank(rank), {reduction, 1, weight, smoothing});
      loss.sum().backward();
      expect_golden(str_cat("cross_entropy/", name, "/", smoothing), {loss, x.grad()});
    }
  });
}

TEST(CrossEntropy, OfProbabilitiesAgreesWithPyTorch) {
  for_each_class_loss([](int rank, const Tensor& weight, Reduction reduction, const std::string& name) {
    for (const double smoothing : {0.0, 0.25}) {
      const Dims shape = shape_of_rank(rank);
      Tensor x = testing::pattern(shape).requires_grad_();
      Tensor target = (testing::pattern(shape, 3, 5) + 0.5).requires_grad_();
      const Tensor loss = cross_entropy(x, target, {reduction, -100, weight, smoothing});
      loss.sum().backward();
      expect_golden(str_cat("cross_entropy_of_probabilities/", name, "/", smoothing), {loss, x.grad(), target.grad()});
    }
  });
}

TEST(CrossEntropy, OfEachDTypeIsThatOfItsValues) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32})
    for (const bool weighted : {false, true})
      for (const double smoothing : {0.0, 0.25})
        for (const auto& [reduction_name, reduction] : kReductions) {
          const std::string name = str_cat("cross_entropy/2/", int{weighted}, "/", reduction_name, "/", smoothing);
          SCOPED_TRACE(str_cat(name, " ", dtype));
          Tensor x = testing::pattern({3, 4}).to(dtype).requires_grad_();
          const Tensor weight = weighted ? class_weights(true).to(dtype) : Tensor();
          const Tensor loss = cross_entropy(x, classes_of_rank(2), {reduction, 1, weight, smoothing});
          loss.sum().backward();
          EXPECT_EQ(loss.dtype(), dtype);
          EXPECT_EQ(x.grad().dtype(), dtype);
          // With weights losses reach 6, where the steps of halves are wider.
          const double step = weighted ? 2 : 1;
          const double tolerance = dtype == kFloat16 ? 1e-3 * step : dtype == kBFloat16 ? 1e-2 * step : 1e-6;
          expect_near(loss, golden(name, 0), tolerance);
          expect_near(x.grad(), golden(name, 1), tolerance);
        }
}

TEST(CrossEntropy, IsDifferentiatedTwiceAsInPyTorch) {
  for (const bool weighted : {false, true})
    for (const double smoothing : {0.0, 0.25})
      for (const auto& [reduction_name, reduction] : kReductions) {
        const Tensor x = testing::pattern({3, 4}).requires_grad_();
        const Tensor loss = cross_entropy(x, classes_of_rank(2), {reduction, 1, class_weights(weighted), smoothing});
        const Tensor slopes = grad({(loss * loss).sum()}, {x}, {}, {.create_graph = true})[0];
        const Tensor length = (slopes * slopes).sum();
        expect_golden(str_cat("cross_entropy_twice/", int{weighted}, "/", reduction_name, "/", smoothing),
                      {length, grad({length}, {x})[0]});
      }
}

// The ways of a row and of places in an image, which is made of several operators.
TEST(CrossEntropy, OfRowsIsThatOfPlacesWithOneElement) {
  const Tensor x = testing::pattern({3, 4}).requires_grad_();
  const Tensor weight = class_weights(true).to(kFloat64).requires_grad_();
  for (const auto& [name, reduction] : kReductions) {
    SCOPED_TRACE(name);
    const CrossEntropyOptions options{reduction, 1, weight, 0.25};
    const Tensor rows = cross_entropy(x, classes_of_rank(2), options);
    const Tensor places = cross_entropy(x.unsqueeze(2), classes_of_rank(2).unsqueeze(1), options);
    expect_near(rows, values(places));
    const std::vector<Tensor> of_rows = grad({rows.sum()}, {x, weight}), of_places = grad({places.sum()}, {x, weight});
    for (size_t i = 0; i < 2; ++i) expect_near(of_rows[i], values(of_places[i]));
  }
}

TEST(CrossEntropy, HasAnExactGradientBesideLargeScores) {
  Tensor x = tensor({30000.f, 29999.f}).view({1, 2}).detach().requires_grad_();
  cross_entropy(x, tensor({int64_t{0}})).backward();
  const double p = 1 / (1 + std::exp(-1.0));
  expect_near(x.grad(), {p - 1, 1 - p}, 1e-7);
}

TEST(CrossEntropy, WithClassWeightsKeepsNoProbabilities) {
  const Tensor x = testing::pattern({8, 4000}).requires_grad_(), target = zeros({8}, kInt64);
  const Tensor weight = ones({4000}, kFloat64);
  const int64_t before = memory_allocated();
  for (const double smoothing : {0.0, 0.25}) {
    const Tensor loss = cross_entropy(x, target, {.weight = weight, .label_smoothing = smoothing});
    EXPECT_LT(memory_allocated() - before, x.nbytes() / 8);
  }
}

// The losses are PyTorch's, which gives no gradient in the weight. By the definition, sum_i w[t_i] l_i / sum_i w[t_i],
// it is (l_i - loss) / sum_i w[t_i] for the row i of a class.
TEST(CrossEntropy, HasAGradientInTheClassWeights) {
  const Tensor x = constant({1, 2, 0.5, 0.25, -1, 3, 2, 2, 1}).view({3, 3}), target = tensor<int64_t>({2, 0, 1});
  Tensor weight = constant({0.5, 2, 3}).requires_grad_();
  const Tensor each = cross_entropy(x, target, {Reduction::kNone, 0, weight.detach()});
  expect_near(each, {5.8931063523238345, 0, 1.7239896081165023}, 1e-12);
  const Tensor loss = cross_entropy(x, target, {Reduction::kMean, 0, weight});
  expect_near(loss, {1.5234191920880673}, 1e-12);
  loss.backward();
  const double mean = 7.617095960440337 / 5;
  expect_near(weight.grad(), {0, (1.7239896081165023 / 2 - mean) / 5, (5.8931063523238345 / 3 - mean) / 5}, 1e-12);
}

TEST(CrossEntropy, RefusesWhatHasNoMeaning) {
  const Tensor x = ones({2, 3}), target = tensor({int64_t{0}, int64_t{1}});
  EXPECT_THAT(message_of<InvalidArgumentError>([&] { cross_entropy(x, target, {.label_smoothing = 1.5}); }),
              HasSubstr("cross_entropy: label_smoothing must lie in [0, 1]"));
  EXPECT_THAT(message_of<ShapeError>([&] { cross_entropy(x, target, {.weight = ones({2})}); }),
              HasSubstr("cross_entropy: weight [2] does not fit scores [2, 3]"));
  EXPECT_THAT(message_of<ShapeError>([&] { cross_entropy(x, ones({2})); }),
              HasSubstr("class probabilities [2] do not fit scores [2, 3]"));
  EXPECT_THROW(cross_entropy(x, x, {.ignore_index = 1}), InvalidArgumentError);
  EXPECT_THROW(cross_entropy(ones({}), ones({}, kInt64)), ShapeError);
}

// --- Of elements

using ElementLoss = std::function<Tensor(const Tensor& x, const Tensor& target, Reduction reduction)>;

void expect_loss(const std::string& name, const ElementLoss& f) {
  for (const auto& [reduction_name, reduction] : kReductions) {
    Tensor x = testing::pattern({3, 4}).requires_grad_(), target = testing::pattern({3, 4}, 3, 5).requires_grad_();
    const Tensor loss = f(x, target, reduction);
    loss.sum().backward();
    expect_golden(str_cat(name, "/", reduction_name), {loss, x.grad(), target.grad()});
  }
}

TEST(MseLoss, OfBothOperandsAgreesWithPyTorch) {
  expect_loss("mse_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, {r}); });
}

TEST(L1Loss, AgreesWithPyTorch) {
  expect_loss("l1_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, {r}); });
}

TEST(SmoothL1Loss, AgreesWithPyTorch) {
  for (const double beta : {0.5, 1.25})
    expect_loss(str_cat("smooth_l1_loss/", beta), [beta](const Tensor& x, const Tensor& t, Reduction r) {
      return smooth_l1_loss(x, t, {r, beta});
    });
}

// At equal elements too, where PyTorch gives -1.
TEST(SmoothL1Loss, WithoutAQuadraticPartIsL1Loss) {
  Tensor x = constant({1, 2, 3}).requires_grad_(), y = constant({1, 2, 3}).requires_grad_();
  const Tensor target = constant({1, 1, 5});
  smooth_l1_loss(x, target, {.beta = 0}).backward();
  l1_loss(y, target).backward();
  EXPECT_EQ(values(x.grad()), values(y.grad()));
  EXPECT_THAT(values(x.grad()), ElementsAre(0, DoubleEq(1 / 3.), DoubleEq(-1 / 3.)));
}

TEST(BinaryCrossEntropyWithLogits, AgreesWithPyTorch) {
  for (const bool weighted : {false, true})
    for (const bool positive : {false, true}) {
      const Tensor weight = weighted ? testing::pattern({4}) + 2 : Tensor();
      const Tensor pos_weight = positive ? testing::pattern({4}) + 3 : Tensor();
      expect_loss(str_cat("binary_cross_entropy/", int{weighted}, "/", int{positive}),
                  [&](const Tensor& x, const Tensor& t, Reduction r) {
                    return binary_cross_entropy_with_logits(x, t, {r, weight, pos_weight});
                  });
    }
}

TEST(BinaryCrossEntropyWithLogits, StaysFiniteForLargeLogits) {
  const Tensor x = tensor({1000.f, 1000.f, -1000.f, -1000.f}), target = tensor({0.f, 1.f, 0.f, 1.f});
  expect_near(binary_cross_entropy_with_logits(x, target, {Reduction::kNone}), {1000, 0, 0, 1000});
}

TEST(BinaryCrossEntropyWithLogits, KeepsNaN) {
  const Tensor x = full({20}, std::numeric_limits<double>::quiet_NaN());
  for (const double loss : values(binary_cross_entropy_with_logits(x, ones({20}), {Reduction::kNone})))
    EXPECT_TRUE(std::isnan(loss));
}

TEST(ElementLosses, RefuseShapesThatWouldBroadcast) {
  const Tensor x = ones({4, 1}), target = ones({4});
  EXPECT_THAT(message_of<ShapeError>([&] { l1_loss(x, target); }), HasSubstr("l1_loss: input [4, 1] and target [4]"));
  EXPECT_THROW(smooth_l1_loss(x, target), ShapeError);
  EXPECT_THROW(binary_cross_entropy_with_logits(x, target), ShapeError);
  EXPECT_THAT(message_of<ShapeError>([&] {
                binary_cross_entropy_with_logits(x, x, {.pos_weight = ones({3, 1})});
              }),
              HasSubstr("pos_weight [3, 1] does not broadcast to input [4, 1]"));
  EXPECT_THROW(smooth_l1_loss(x, x, {.beta = -1}), InvalidArgumentError);
}

}  // namespace
}  // namespace vellum::nn::functional
