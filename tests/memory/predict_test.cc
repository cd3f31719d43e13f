// What a dry run allows, refuses, tells, and leaves as it was.

#include <sstream>
#include <thread>

#include "vellum/tests/memory/predict_testing.h"

namespace vellum {
namespace {

using testing::expect_same;
using testing::message_of;

void expect_contains(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) EXPECT_NE(text.find(part), text.npos) << part << " is not in: " << text;
}

// The message of what a dry run of `fn` throws.
template <typename E = InvalidArgumentError>
std::string refusal(const std::function<void()>& fn) {
  return message_of<E>([&] { predict_peak(fn); });
}

Tensor leaf(const Dims& shape) {
  Tensor t = ones(shape);
  t.requires_grad_();
  return t;
}

// --- What it tells

TEST(Predict, CountsBytesByHand) {
  const auto program = [] {
    const Tensor a = empty({1000});  // 4000 bytes, 4096 occupied
    { const Tensor b = empty({3}, kFloat64); }
    const Tensor c = empty({0});
  };
  const MemoryPeaks direct = predict_peak(program, {.strategy = "direct"});
  EXPECT_EQ(direct.requested, 4024);
  EXPECT_EQ(direct.active, 4032 + 64);
  EXPECT_EQ(direct.reserved, 4032 + 64);
  EXPECT_EQ(direct.fragmentation, 0);
  EXPECT_EQ(direct.allocations, 3);
  EXPECT_EQ(direct.strategy, "direct");
  const MemoryPeaks caching = predict_peak(program, {.strategy = "caching"});
  EXPECT_EQ(caching.requested, 4024);
  EXPECT_EQ(caching.active, 4096 + 64);
  EXPECT_EQ(caching.reserved, 2 << 20);
  EXPECT_EQ(caching.fragmentation, (2 << 20) - 4096);
}

TEST(Predict, TakesTheDevicesStrategyUnlessTold) {
  EXPECT_EQ(predict_peak([] {}).strategy, allocator({}).name());
  expect_contains(message_of<InvalidArgumentError>([] { predict_peak([] {}, {.strategy = "magic"}); }),
                  {"magic", "caching", "direct"});
}

TEST(Predict, TakesAStrategyWithOptions) {
  const auto make = [](Device device) { return make_strategy("direct", device); };
  EXPECT_EQ(predict_peak([] { empty({1}); }, {.make_strategy = make}).reserved, 64);
}

TEST(Predict, StartsFromAnEmptyPoolWhateverIsAlive) {
  const auto program = [] { empty({100, 100}); };
  const MemoryPeaks first = predict_peak(program);
  const Tensor large = empty({1000, 1000});
  expect_same(predict_peak(program), first);
  predict_peak([&] { expect_same(predict_peak(program), first); });
}

TEST(Predict, NeedsNoMemory) {
  const int64_t before = memory_stats().requested.allocated;
  const MemoryPeaks peaks = predict_peak([] { empty({int64_t{1} << 38}).exp(); });
  EXPECT_EQ(peaks.requested, int64_t{1} << 41);
  EXPECT_EQ(memory_stats().requested.allocated, before);
}

TEST(Predict, ShowsTheFunctionItsOwnStatistics) {
  int64_t live = -1;
  predict_peak([&] {
    const Tensor x = empty({16});
    live = memory_allocated();
  });
  EXPECT_EQ(live, 64);
}

TEST(Predict, NamesTheOperatorAtThePeak) {
  const MemoryPeaks peaks = predict_peak([] {
    const AnnotationScope label(Annotation::Kind::kUser, "warm-up");
    const Tensor x = zeros({1000});
    const Tensor y = x.exp();
    { y.sum(); }
  });
  EXPECT_EQ(peaks.active_at, "warm-up > sum");
  EXPECT_EQ(peaks.reserved_at, "warm-up");
}

TEST(Predict, NamesTheStepOfTheBackwardPassAtThePeak) {
  const MemoryPeaks peaks = predict_peak([] { leaf({1000}).exp().backward(ones({1000})); });
  EXPECT_EQ(peaks.active_at, "ExpBackward > mul");
}

TEST(Predict, NamesTheModuleAtThePeak) {
  const MemoryPeaks peaks = predict_peak([] {
    const NoGradGuard no_grad;
    nn::Sequential model(nn::Linear(4, 4), nn::Sequential(nn::Linear(4, 4000), nn::Linear(4000, 1)));
    model(ones({100, 4}));
  });
  expect_contains(peaks.active_at, {"1.0 > linear"});
}

TEST(Predict, PrintsATable) {
  MemoryPeaks a{.strategy = "caching", .requested = 1536, .active = 2048, .active_at = "mul", .reserved_at = "add"};
  const std::string text = peaks_table({{"predicted", a}, {"measured", {.strategy = "caching", .reserved = 77}}});
  expect_contains(text, {"predicted", "measured", "1536 (1.50 KiB)", "2048 (2.00 KiB)", "77 (77 B)", "caching on cpu",
                         "predicted: live peak in mul; reserved peak in add"});
}

// --- What is allowed

TEST(Predict, TakesFactoriesAndHostData) {
  std::vector<float> memory(6, 1);
  const auto program = [&] {
    tensor({1.0, 2.0, 3.0}).add(arange(3)).mul(linspace(0, 1, 3)).add(2);
    tensor(std::span<const float>(memory), {2, 3}).matmul(from_blob(memory.data(), {3, 2}, {}));
    eye(3).add(full({3, 3}, 7)).add(scalar_tensor(1));
    rand({10}).add(randn({10})).add(randperm(10)).normal_().uniform_();
  };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(Predict, TakesDataLoaders) {
  const data::TensorDataset dataset(randn({10, 3}), arange(10));
  const auto program = [&] {
    data::DataLoader loader(dataset, {.batch_size = 4, .shuffle = true});
    for (const data::Batch& batch : loader) batch.data.mul(2);
  };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(Predict, ReadsTensorsFromOutside) {
  const Tensor factor = tensor({3.0}), weight = leaf({3});
  predict_peak([&] {
    EXPECT_EQ(factor.item(), 3);
    EXPECT_EQ(*factor.data<float>(), 3);
    const Tensor x = weight * factor;
    EXPECT_TRUE(grad({x}, {weight}, {ones({3})})[0].defined());
  });
}

TEST(Predict, ConvertsAndPrintsTensorsFromOutside) {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).view({2, 2});
  const auto program = [&] {
    EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(x.t().to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
    std::ostringstream text;
    text << x;
    expect_contains(text.str(), {"[1., 2.]", "[3., 4.]"});
  };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(Predict, KnowsNumbersUntilTheyAreChanged) {
  predict_peak([] {
    Tensor number = scalar_tensor(2.5);
    EXPECT_EQ(number.item(), 2.5);
    EXPECT_EQ(number.to_vector<int>(), std::vector<int>{2});
    number.view({1}).add_(1);
    EXPECT_THROW(number.item(), InvalidArgumentError);
    EXPECT_THROW(number.to_vector<int>(), InvalidArgumentError);
  });
}

TEST(Predict, DifferentiatesPowersOfNumbers) {
  for (const double exponent : {0.0, 1.0, 2.0, 2.5, 3.0}) {
    const auto program = [exponent] {
      const Tensor w = leaf({100});
      const Tensor slope = grad({pow(w, exponent).sum()}, {w}, {}, {.create_graph = true})[0];
      if (slope.requires_grad()) slope.sum().backward();
    };
    expect_same(predict_peak(program), measure_peak(program));
  }
}

TEST(Predict, DifferentiatesPowersOfComputedNumbers) {
  for (const double exponent : {0.0, 1.0, 2.0, 2.5}) {
    const auto program = [exponent] {
      const Tensor w = leaf({100}), computed = scalar_tensor(exponent) * 1;
      grad({pow(w, computed).sum()}, {w}, {}, {.create_graph = true})[0].sum().backward();
    };
    expect_same(predict_peak(program), measure_peak(program));
  }
}

TEST(Predict, TakesRunningAveragesOfAllBatches) {
  const auto program = [] { nn::BatchNorm1d(3, {.momentum = std::nullopt})(ones({4, 3})); };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(Predict, DoesNotCountPinnedMemory) {
  const auto program = [] { EXPECT_TRUE(ones({3}).pin_memory().mul_(2).is_pinned()); };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(Predict, TellsWhatTheThreadAllocated) {
  const int64_t before = allocated_on_this_thread();
  predict_peak([&] {
    empty({16});
    EXPECT_EQ(allocated_on_this_thread(), before + 64);
    predict_peak([] { empty({16}); });
    EXPECT_EQ(allocated_on_this_thread(), before + 128);
  });
  EXPECT_EQ(allocated_on_this_thread(), before + 128);
}

TEST(Predict, LeavesOtherThreadsAlone) {
  double value = 0;
  predict_peak([&] { std::thread([&] { value = ones({3}).sum().item(); }).join(); });
  EXPECT_EQ(value, 3);
}

// --- What is refused

TEST(Predict, RefusesToReadValues) {
  expect_contains(refusal([] { zeros({2}).set_name("loss").sum().item(); }), {"item: ", "float32", "dry run"});
  expect_contains(refusal([] { zeros({2}).set_name("loss").data<float>(); }), {"data: ", "'loss' float32[2]"});
  expect_contains(refusal([] { zeros({2}).mutable_data<float>(); }), {"mutable_data: ", "float32[2]"});
  expect_contains(refusal([] { zeros({4}).narrow(0, arange(3).sum(), 1); }),
                  {"narrow: ", "int64", "dry run", "give it as a number"});
  expect_contains(refusal([] { zeros({2}).to_vector<int>(); }), {"to_vector: ", "float32[2]"});
  expect_contains(refusal([] { std::ostringstream() << zeros({2}); }), {"float32[2]", "printing"});
  expect_contains(refusal([] {
                    safetensors::save_file("unwritten.safetensors", {{"w", zeros({2})}});
                  }),
                  {"save_file: "});
}

TEST(Predict, RefusesShapesThatDependOnValues) {
  const Tensor outside = ones({3}, kBool);
  const std::string_view why = "shapes that depend on values cannot be predicted";
  expect_contains(refusal([&] { nonzero(outside); }), {"nonzero: ", why, "bool[3]"});
  expect_contains(refusal([] { nonzero(zeros({4})); }), {"nonzero: ", why, "float32[4]"});
  expect_contains(refusal([&] { masked_select(zeros({3}), outside); }), {"masked_select: ", why, "bool[3]"});
  expect_contains(refusal([&] { zeros({3}).index({outside}); }), {"index: ", why, "bool[3]"});
  expect_contains(refusal([] { one_hot(arange(3)); }), {"one_hot: ", why, "int64[3]"});
  EXPECT_NO_THROW(predict_peak([] { one_hot(arange(3), 3); }));
}

TEST(Predict, ChangesNoTensorFromOutside) {
  Tensor x = ones({3}), none = empty({0}), view = x.slice(0, 1);
  x.set_name("x");
  const uint32_t version = x.version();
  expect_contains(refusal([&] { x.add_(1); }), {"add: ", "'x' float32[3]", "clone()"});
  expect_contains(refusal([&] { x.fill_(2); }), {"fill_: ", "'x' float32[3]"});
  expect_contains(refusal([&] { x.copy_(zeros({3})); }), {"copy_: ", "'x' float32[3]"});
  expect_contains(refusal([&] { x.slice(0, 1).mul_(2); }), {"mul: ", "float32[2]"});
  expect_contains(refusal([&] { view.normal_(); }), {"normal_: ", "float32[2]"});
  expect_contains(refusal([&] { x.index_add_(0, tensor({1}), ones({1})); }), {"index_add", "'x' float32[3]"});
  expect_contains(refusal([&] { mul_out(x, x, x); }), {"mul: ", "'x' float32[3]"});
  expect_contains(refusal([&] { mul_out(none, x, x); }), {"mul: ", "float32[0]"});
  expect_contains(refusal([&] { x.mutable_data<float>(); }), {"mutable_data: ", "'x' float32[3]"});
  expect_contains(refusal([&] { x.set_data(zeros({2})); }), {"set_data: ", "'x' float32[3]"});
  expect_contains(refusal([&] { x.requires_grad_(); }), {"requires_grad_: ", "'x' float32[3]"});
  EXPECT_EQ(x.version(), version);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_FALSE(x.requires_grad());
}

TEST(Predict, SetsNoGradientsOutside) {
  Tensor w = leaf({3});
  w.set_name("w");
  expect_contains(refusal<AutogradError>([&] { (w * 2).sum().backward(); }), {"'w' float32[3]", "build the model"});
  expect_contains(refusal([&] { w.set_grad(zeros({3})); }), {"set_grad: ", "'w' float32[3]"});
  EXPECT_FALSE(w.grad().defined());
  w.set_grad(ones({3}));
  expect_contains(refusal([&] { w.set_grad({}); }), {"set_grad: ", "'w' float32[3]"});
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

TEST(Predict, SetsNoGradientsOfViewsOutside) {
  const Tensor w = leaf({4});
  Tensor view = w.view({2, 2});
  view.set_name("view");
  view.retain_grad();
  expect_contains(refusal<AutogradError>([&] { (view * 2).sum().backward(); }), {"'view' float32[2, 2]"});
  EXPECT_FALSE(view.grad().defined());
  (view * 2).sum().backward();
  EXPECT_EQ(view.grad().to_vector<float>(), (std::vector<float>{2, 2, 2, 2}));
}

TEST(Predict, ConsumesNoGraphFromOutside) {
  Tensor w = leaf({3}), y = w.exp();
  y.set_name("y");
  expect_contains(refusal<AutogradError>([&] { (y * 2).sum().backward(); }), {"mul: ", "'y' float32[3]", "detach()"});
  expect_contains(refusal<AutogradError>([&] { y.backward(ones({3})); }), {"backward: ", "'y' float32[3]"});
  expect_contains(refusal<AutogradError>([&] { y.slice(0, 1).square(); }), {"slice: ", "'y' float32[3]"});
  predict_peak([&] { y.detach().exp(); });
  y.sum().backward();
  EXPECT_TRUE(w.grad().defined());
}

TEST(Predict, ViewsOfALeafFromOutsideMayBeRecordedWheneverMade) {
  const Tensor w = leaf({3}), before = w.slice(0, 1);
  predict_peak([&] {
    const Tensor loss = w.slice(0, 1).view({2, 1}).exp().sum() + before.exp().sum();
    EXPECT_EQ(grad({loss}, {w})[0].shape(), Dims{3});
  });
  before.sum().backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{0, 1, 1}));
}

TEST(Predict, RefusesTensorsThatAreLeftBehind) {
  Tensor escaped, second;
  const std::string text = refusal([&] {
    escaped = zeros({3, 4}).exp();
    second = escaped.slice(0, 1);
    zeros({5});
  });
  expect_contains(text, {"1 tensors outlive the function", "float32[3, 4] of exp"});
  expect_contains(message_of<InvalidArgumentError>([&] { escaped.data<float>(); }), {"data: ", "float32[3, 4]"});
  escaped.reset();
  second.reset();
  EXPECT_NO_THROW(predict_peak([] { zeros({3, 4}); }));
}

TEST(Predict, FreesWhatWasKeptForTensorsThatWereLeftBehind) {
  for (int i = 0; i < 300; ++i) {  // more than the simulated devices that can be alive at once
    Tensor escaped;
    expect_contains(refusal([&] { escaped = zeros({3}); }), {"outlive the function"});
  }
}

TEST(Predict, NumbersThatAreLeftBehindKeepTheirValue) {
  Tensor escaped;
  expect_contains(refusal([&] { escaped = scalar_tensor(3); }), {"outlive the function"});
  EXPECT_EQ(escaped.item(), 3);
}

TEST(Predict, KnowsInnerFromOuterDryRuns) {
  predict_peak([] {
    Tensor outer = zeros({3});
    expect_contains(refusal([&] { outer.add_(1); }), {"add: ", "float32[3]"});
    predict_peak([&] { outer.reset(); });
  });
}

TEST(Predict, RefusesAnEmptyFunction) {
  EXPECT_THROW(predict_peak(nullptr), InvalidArgumentError);
  EXPECT_THROW(measure_peak(nullptr), InvalidArgumentError);
}

TEST(Predict, RefusesToMeasureWithin) {
  expect_contains(refusal([] { measure_peak([] {}); }), {"measure_peak: ", "dry run"});
}

TEST(Predict, RefusesAliasesFromOutsideThatWouldRequireGradients) {
  const Tensor w = ones({3});
  expect_contains(refusal([&] { w.detach().requires_grad_(); }), {"requires_grad_: ", "float32[3]"});
}

TEST(Predict, RefusesAnotherAllocatorInBetween) {
  expect_contains(refusal([] { set_allocator(Device(kCPU), make_strategy("direct", kCPU)); }), {"set_allocator"});
}

// --- What it leaves as it was

TEST(Predict, PutsRandomGeneratorsBack) {
  default_generator().set_state({5, 8});
  predict_peak([] {
    rand({10});
    manual_seed(7);
    dropout(rand({10}), 0.5);
    randperm(4);
  });
  EXPECT_EQ(default_generator().state().seed, 5);
  EXPECT_EQ(default_generator().state().offset, 8);
}

TEST(Predict, IsOverWhenTheFunctionThrows) {
  EXPECT_EQ(message_of<std::runtime_error>([] {
              predict_peak([] {
                const Tensor x = rand({10});
                throw std::runtime_error("mine");
              });
            }),
            "mine");
  EXPECT_EQ(ones({2}).sum().item(), 2);
}

TEST(Predict, TurnsABudgetIntoOutOfMemory) {
  const auto program = [] { empty({1 << 20}).exp(); };
  EXPECT_EQ(predict_peak(program, {.strategy = "direct", .budget = 8 << 20}).reserved, 8 << 20);
  expect_contains(
      message_of<OutOfMemoryError>([&] { predict_peak(program, {.strategy = "direct", .budget = (8 << 20) - 1}); }),
      {"out of memory on cpu", "(4194304 bytes) requested, 4.00 MiB live"});
  EXPECT_EQ(ones({2}).sum().item(), 2);
}

// --- The real thing

TEST(Measure, UsesAPoolOfItsOwn) {
  const MemoryStats before = memory_stats();
  double sum = 0;
  const MemoryPeaks peaks = measure_peak([&] { sum = ones({1000}).sum().item(); });
  EXPECT_EQ(sum, 1000);
  EXPECT_EQ(peaks.requested, 4004);
  EXPECT_EQ(memory_stats().requested.allocated, before.requested.allocated);
}

TEST(Measure, LetsTensorsOutliveIt) {
  Tensor kept;
  measure_peak([&] { kept = ones({1000}); });
  EXPECT_EQ(kept.add_(1).sum().item(), 2000);
  kept.reset();
}

TEST(Measure, GivesMemoryFromBeforeBackToWhereItCameFrom) {
  const int64_t before = memory_allocated();
  Tensor old = ones({1000});
  measure_peak([&] { old = ones({500}); });
  EXPECT_EQ(memory_allocated(), before);
}

}  // namespace
}  // namespace vellum
