#include "vellum/nn/module.h"

#include "vellum/nn/activation.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/nn/testing.h"

namespace vellum::nn {
namespace {

using namespace vellum::testing;

class Encoder : public Module {
 public:
  Tensor forward(const Tensor& x) override { return layers_(x) * scale_; }

 private:
  Tensor scale_ = register_parameter("scale", ones({3}));
  Sequential layers_ = register_module("layers", Sequential(Linear(2, 3), ReLU()));
};

class Net : public Module {
 public:
  Net() { register_module("head", head_); }
  Tensor forward(const Tensor& x) override {
    seen_.add_(1);
    return head_(encoder_(x));
  }

 private:
  Encoder encoder_ = register_module("encoder", Encoder());
  Linear head_{3, 1, {.bias = false}};  // registered by reference
  Tensor seen_ = register_buffer("seen", zeros({}, kInt64));
};

std::vector<std::string> names_of(const NamedTensors& named) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named) names.push_back(name);
  return names;
}

TEST(Module, NamesParametersByTheirPathOwnOnesFirst) {
  const Net net;
  EXPECT_THAT(names_of(net.named_parameters()),
              ElementsAre("encoder.scale", "encoder.layers.0.weight", "encoder.layers.0.bias", "head.weight"));
  EXPECT_THAT(names_of(net.named_buffers()), ElementsAre("seen"));
  EXPECT_EQ(net.parameters().size(), 4);
}

TEST(Module, LabelsTensorsWithTheirPath) {
  const Net net;
  for (const auto& [name, parameter] : net.named_parameters()) EXPECT_EQ(parameter.name(), name);
}

TEST(Module, KeepsTheLabelsThatTheUserGave) {
  Linear linear(1, 1);
  linear.weight().set_name("mine");
  const Sequential model(std::move(linear));
  EXPECT_EQ(model.parameters()[0].name(), "mine");
  EXPECT_EQ(model.parameters()[1].name(), "0.bias");
}

TEST(Module, ParametersAreLeavesThatRequireGradAndBuffersAreNot) {
  const Net net;
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.is_leaf() && p.requires_grad());
  for (const Tensor& b : net.buffers()) EXPECT_FALSE(b.requires_grad());
}

TEST(Module, ListsATensorThatIsReachedTwiceOnce) {
  Linear tied(2, 2);
  Module model;
  model.register_module("first", tied);
  model.register_module("second", tied);
  EXPECT_THAT(names_of(model.named_parameters()), ElementsAre("first.weight", "first.bias"));
}

TEST(Module, GivesItsDirectChildren) {
  const Net net;
  const NamedModules children = net.named_children();
  ASSERT_EQ(children.size(), 2);
  EXPECT_EQ(children[0].first, "encoder");
  EXPECT_NE(dynamic_cast<Encoder*>(children[0].second), nullptr);
  EXPECT_EQ(children[1].second->name(), "head");
}

TEST(Module, FollowsChildrenThatMove) {
  Net first;
  const std::vector<Tensor> before = first.parameters();
  Net net(std::move(first));
  const std::vector<Tensor> after = net.parameters();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].is_same(after[i]));
  EXPECT_NO_THROW(net.children()[1]->forward(ones({1, 3})));
  net.eval();
  EXPECT_FALSE(net.children()[0]->is_training());
  EXPECT_EQ(net(ones({5, 2})).shape(), (Dims{5, 1}));
}

TEST(Module, CannotBeUsedOnceMovedFrom) {
  ReLU first;
  const ReLU second(std::move(first));
  EXPECT_THROW(first.parameters(), InvalidArgumentError);  // NOLINT(bugprone-use-after-move)
}

TEST(Module, KeepsTheParametersOfADestroyedChild) {
  Module model;
  { model.register_module("gone", Linear(2, 3)); }
  EXPECT_EQ(model.parameters().size(), 2);
  EXPECT_TRUE(model.children().empty());
}

TEST(Module, SwitchesTrainingForEverythingBelow) {
  Sequential model(Sequential(Dropout(0.5), ReLU()), Linear(1, 1));
  EXPECT_TRUE(model[0].children()[0]->is_training());
  model.eval();
  EXPECT_FALSE(model.is_training());
  EXPECT_FALSE(model[0].children()[0]->is_training());
  model[0].train();
  EXPECT_FALSE(model.is_training());
  EXPECT_TRUE(model[0].children()[0]->is_training());
}

TEST(Module, RejectsNamesThatDoNotFit) {
  Module m;
  m.register_parameter("taken", ones({1}));
  const auto parameter = [&](const char* name) {
    return message_of<InvalidArgumentError>([&] { m.register_parameter(name, ones({1})); });
  };
  EXPECT_THAT(parameter("taken"), HasSubstr("'taken' is already taken"));
  EXPECT_THAT(parameter("a.b"), HasSubstr("'a.b' holds a dot"));
  EXPECT_THAT(parameter(""), HasSubstr("empty"));
  EXPECT_THROW(m.register_buffer("taken", ones({1})), InvalidArgumentError);
  EXPECT_THROW(m.register_module("taken", ReLU()), InvalidArgumentError);
  EXPECT_EQ(m.parameters().size(), 1);
}

TEST(Module, RejectsTensorsThatCannotBeParameters) {
  Module m;
  const auto message = [&](const Tensor& t) {
    return message_of<InvalidArgumentError>([&] { m.register_parameter("w", t); });
  };
  EXPECT_THAT(message({}), HasSubstr("'w' is undefined"));
  EXPECT_THAT(message(ones({2, 2}).t()), HasSubstr("view"));
  EXPECT_THAT(message(leaf({1}) * 2), HasSubstr("history"));
  EXPECT_THROW(m.register_parameter("w", arange(3)), AutogradError);
  EXPECT_THROW(m.register_buffer("b", {}), InvalidArgumentError);
  EXPECT_TRUE(m.parameters().empty());
}

TEST(Module, RejectsACycle) {
  Module inner, outer;
  outer.register_module("inner", inner);
  EXPECT_THROW(outer.register_module("self", outer), InvalidArgumentError);
  EXPECT_THROW(inner.register_module("outer", outer), InvalidArgumentError);
}

TEST(Module, WithoutAForwardSaysSo) {
  Module m;
  EXPECT_THAT(message_of<NotImplementedError>([&] { m(ones({1})); }), HasSubstr("has no forward"));
}

TEST(Module, CanRegisterFrozenParameters) {
  Module m;
  EXPECT_FALSE(m.register_parameter("w", ones({1}), false).requires_grad());
}

TEST(Module, FreezesAndThawsItsParameters) {
  Net net;
  net.requires_grad_(false);
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.requires_grad());
  net.requires_grad_();
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.requires_grad());
}

TEST(Module, DropsGradients) {
  Net net;
  net(ones({4, 2})).sum().backward();
  EXPECT_TRUE(net.parameters()[0].grad().defined());
  net.zero_grad();
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Module, ZeroesGradientsInPlaceWhenAskedTo) {
  Linear linear(2, 1);
  linear(ones({4, 2})).sum().backward();
  const Tensor grad = linear.weight().grad();
  linear.zero_grad(/*set_to_none=*/false);
  EXPECT_TRUE(linear.weight().grad().is_same(grad));
  EXPECT_THAT(values(grad), ElementsAre(0, 0));
}

class Probe : public Module {
 public:
  explicit Probe(std::vector<std::string>* paths) : paths_(paths) {}
  Tensor forward(const Tensor& x) override {
    paths_->push_back(annotation_path(Annotation::Kind::kModule));
    return x;
  }

 private:
  std::vector<std::string>* paths_;
};

TEST(Module, TellsTheAllocatorItsPathWhileItRuns) {
  std::vector<std::string> paths;
  Sequential encoder{Sequential{Probe(&paths)}, Probe(&paths)};
  Sequential model;
  model.push_back("encoder", std::move(encoder));
  model.push_back(Probe(&paths));
  model(ones({1}));
  EXPECT_THAT(paths, ElementsAre("encoder.0.0", "encoder.1", "1"));
  EXPECT_EQ(annotation_path(Annotation::Kind::kModule), "");
}

TEST(Module, LeavesItsPathWhenForwardThrows) {
  Sequential model{Module()};
  EXPECT_THROW(model(ones({1})), NotImplementedError);
  EXPECT_EQ(annotation_path(Annotation::Kind::kModule), "");
}

TEST(ModuleTo, ConvertsFloatsOnlyAndKeepsEveryHandle) {
  Net net;
  const std::vector<Tensor> handles = net.parameters();
  const std::vector<double> weight = values(handles[1]);
  net.to(kFloat64);
  for (const Tensor& p : handles) EXPECT_EQ(p.dtype(), kFloat64);
  EXPECT_TRUE(net.parameters()[1].is_same(handles[1]));
  EXPECT_TRUE(handles[1].is_leaf() && handles[1].requires_grad());
  EXPECT_EQ(values(handles[1]), weight);
  EXPECT_EQ(net.buffers()[0].dtype(), kInt64);
  EXPECT_EQ(net(ones({1, 2}, kFloat64)).dtype(), kFloat64);
}

TEST(ModuleTo, ConvertsGradientsAndAccumulatesOn) {
  Linear linear(2, 1, {.bias = false});
  linear(ones({1, 2})).sum().backward();
  linear.to(kFloat64);
  EXPECT_EQ(linear.weight().grad().dtype(), kFloat64);
  linear(ones({1, 2}, kFloat64)).sum().backward();
  EXPECT_THAT(values(linear.weight().grad()), ElementsAre(2, 2));
}

TEST(ModuleTo, KeepsComplexParametersComplex) {
  Linear linear(2, 2, {.dtype = kComplex64});
  linear.to(kFloat64);
  EXPECT_EQ(linear.weight().dtype(), kComplex128);
}

TEST(ModuleTo, RejectsIntegers) {
  Linear linear(2, 2);
  EXPECT_THROW(linear.to(kInt64), DTypeError);
  EXPECT_EQ(linear.weight().dtype(), kFloat32);
}

TEST(ModuleTo, ChangesNothingWhenABufferCannotMove) {
  class Running : public Module {
   public:
    Tensor weight = register_parameter("weight", ones({2}));
    Tensor average = register_buffer("average", zeros({2}));
  } module;
  module.average.add_(module.weight);  // gives the buffer a history
  EXPECT_THAT(message_of<InvalidArgumentError>([&] { module.to(kFloat64); }), HasSubstr("'average'"));
  EXPECT_EQ(module.weight.dtype(), kFloat32);
  EXPECT_EQ(module.average.dtype(), kFloat32);
}

TEST(ModuleTo, MovesParametersBuffersAndGradientsToADevice) {
  const Device sim("sim:1");
  Net net;
  net(ones({1, 2})).sum().backward();
  const std::vector<double> grad = values(net.parameters()[3].grad());
  net.to(sim);
  for (const Tensor& p : net.parameters()) EXPECT_EQ(p.device(), sim);
  EXPECT_EQ(net.buffers()[0].device(), sim);
  EXPECT_EQ(net.parameters()[3].grad().device(), sim);
  EXPECT_EQ(values(net.parameters()[3].grad()), grad);
  EXPECT_EQ(net(ones({1, 2}, sim)).device(), sim);
  net.to(Device(kCPU), kFloat64);
  EXPECT_EQ(net.parameters()[0].device(), Device(kCPU));
  EXPECT_EQ(net.parameters()[0].dtype(), kFloat64);
}

TEST(ModuleTo, GivesTheOldMemoryBack) {
  const int64_t before = live_bytes();
  {
    Linear linear(256, 256);
    linear(ones({1, 256})).sum().backward();
    linear.to(Device("sim"));
    EXPECT_EQ(live_bytes(), before);
  }
  EXPECT_EQ(memory_allocated(Device("sim")), 0);
}

TEST(Module, GivesAllMemoryBack) {
  const int64_t before = live_bytes();
  {
    Net net;
    net(ones({4, 2})).sum().backward();
    EXPECT_GT(live_bytes(), before);
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(Sequential, RunsItsModulesInOrder) {
  Linear first(1, 1), second(1, 1);
  first.weight().detach().fill_(2);
  first.bias().detach().fill_(-8);
  second.weight().detach().fill_(3);
  second.bias().detach().fill_(1);
  Sequential model(std::move(first), ReLU(), std::move(second));
  EXPECT_THAT(values(model(tensor({3.f, 5.f}).unsqueeze(1))), ElementsAre(1, 7));
  EXPECT_EQ(model.size(), 3);
}

TEST(Sequential, WithoutModulesGivesItsInput) {
  Sequential model;
  const Tensor x = ones({2});
  EXPECT_TRUE(model(x).is_same(x));
}

TEST(Sequential, NamesModulesByPositionOrAsAsked) {
  Sequential model(Linear(1, 2));
  model.push_back("relu", ReLU());
  model.push_back(Linear(2, 1));
  EXPECT_EQ(model[0].name(), "0");
  EXPECT_EQ(model[1].name(), "relu");
  EXPECT_EQ(model[2].name(), "2");
  EXPECT_THROW(model.push_back("relu", ReLU()), InvalidArgumentError);
  EXPECT_EQ(model.size(), 3);
}

TEST(Sequential, RejectsNullAndIndicesBeyondItsEnd) {
  Sequential model{ReLU()};
  EXPECT_THROW(model.push_back(std::unique_ptr<Module>()), InvalidArgumentError);
  EXPECT_THROW(model[1], IndexError);
}

}  // namespace
}  // namespace vellum::nn
