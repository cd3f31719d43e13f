// Who a block is said to be held by.

#include <algorithm>
#include <atomic>
#include <thread>

#include "vellum/memory/internal/holder_graph.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tests/memory/testing.h"

namespace vellum::testing {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(Holders, AreNobodyInParticularWhileTheLedgerIsOff) {
  const Tensor x = ones({1000});
  EXPECT_FALSE(is_ledger_enabled());
  EXPECT_EQ(holder_of(x).data, nullptr);
  EXPECT_GE(bytes_of(MemoryCategory::kUntracked), 4000);
}

TEST(Holders, AHandleIsNamedByItsLabelElseByItsOperator) {
  const LedgerScope ledger;
  Tensor x = ones({1000});
  const Tensor y = x * x;
  EXPECT_EQ(holder_of(y).category, MemoryCategory::kUser);
  EXPECT_THAT(holder_of(y).path, MatchesRegex("mul#[0-9]+"));
  EXPECT_EQ(holder_of(y).operator_name, "mul");
  EXPECT_EQ(holder_of(y).shape, Dims({1000}));
  EXPECT_EQ(holder_of(y).dtype, kFloat32);
  x.set_name("batch");
  EXPECT_EQ(holder_of(x).path, "batch");
  EXPECT_EQ(holder_of(x).name, "batch");
}

TEST(Holders, ASavedTensorIsNamedByThePathToTheNodeThatSavedIt) {
  const LedgerScope ledger;
  const Tensor w = ones({1000}).requires_grad_();
  Tensor total = (w * 2).square().sum() + 1;
  total.set_name("total");
  const MemoryHolder* saved = nullptr;
  const std::vector<MemoryHolder> rows = memory_holders();
  for (const MemoryHolder& row : rows)
    if (row.category == MemoryCategory::kSaved && row.operator_name == "square") saved = &row;
  ASSERT_NE(saved, nullptr);
  EXPECT_THAT(saved->path, MatchesRegex("total -> add#[0-9]+ -> sum#[0-9]+ -> square#[0-9]+\\.self"));
  EXPECT_GE(saved->bytes, 4000);
}

TEST(Holders, AreFreedOfWhatBackwardReleases) {
  const LedgerScope ledger;
  const Tensor w = ones({1000}).requires_grad_();
  const Tensor loss = (w * 2).square().sum();
  EXPECT_GT(bytes_of(MemoryCategory::kSaved), 0);
  loss.backward();
  EXPECT_EQ(bytes_of(MemoryCategory::kSaved), 0);
  EXPECT_GE(bytes_of(MemoryCategory::kGradient), 4000);
}

TEST(Holders, AViewHoldsWhatNoHandleToItsBaseHolds) {
  const LedgerScope ledger;
  Tensor x = ones({1000});
  x.set_name("x");
  const Tensor view = x.slice(0, 0, 10);
  EXPECT_EQ(holder_of(view).category, MemoryCategory::kUser);
  x.reset();
  EXPECT_EQ(holder_of(view).category, MemoryCategory::kView);
  EXPECT_THAT(holder_of(view).path, ::testing::EndsWith("view of x"));
  EXPECT_GE(holder_of(view).bytes, 4000);  // all of it
}

TEST(Holders, AGradientIsNamedByItsTensor) {
  const LedgerScope ledger;
  Tensor w = ones({1000}).requires_grad_();
  w.set_name("w");
  (w * w).sum().backward();
  EXPECT_EQ(holder_of(w.grad()).path, "w.grad");
  EXPECT_EQ(holder_of(w.grad()).category, MemoryCategory::kGradient);
}

TEST(Holders, OfAModelAreItsParametersGradientsAndOptimizerStateByModule) {
  const LedgerScope ledger;
  nn::Sequential model{nn::Sequential{nn::Linear(8, 300)}, nn::Linear(300, 200)};
  optim::AdamW adamw(model.parameters());
  model(ones({4, 8})).sum().backward();
  adamw.step();
  const std::vector<ModuleMemory> modules = memory_by_module();
  const auto of = [&](std::string_view path, MemoryCategory category) -> int64_t {
    for (const ModuleMemory& m : modules)
      if (m.module == path) return m.by_category[static_cast<size_t>(category)];
    return -1;
  };
  const int64_t weights = of("1", MemoryCategory::kParameter);
  EXPECT_GE(weights, 300 * 200 * 4);
  EXPECT_EQ(of("1", MemoryCategory::kGradient), weights);
  EXPECT_EQ(of("1", MemoryCategory::kOptimizerState), 2 * weights);
  EXPECT_GE(of("0.0", MemoryCategory::kParameter), 8 * 300 * 4);
}

TEST(Holders, OfAModelThatIsOlderThanTheLedgerAreKnown) {
  nn::Linear model(300, 200);
  const LedgerScope ledger;
  EXPECT_EQ(holder_of(model.parameters()[0]).category, MemoryCategory::kParameter);
  EXPECT_EQ(holder_of(model.parameters()[0]).path, "weight");
}

TEST(Holders, KnowTheModuleOfTheForwardCallAndTheLabelOfTheUser) {
  const LedgerScope ledger;
  nn::Sequential model{nn::Sequential{nn::Linear(8, 300)}, nn::Linear(300, 2)};
  const AnnotationScope label(Annotation::Kind::kUser, "evaluation");
  const Tensor y = model(ones({4, 8}));
  EXPECT_EQ(holder_of(y).module, "1");
  EXPECT_EQ(holder_of(y).label, "evaluation");
  // Its input is the other module's output, but it is the one that saved it.
  int64_t in_inner = 0;
  for (const MemoryHolder& row : memory_holders())
    in_inner += row.module == "0.0" && row.category == MemoryCategory::kSaved;
  EXPECT_EQ(in_inner, 1);
}

TEST(Holders, WithinABackwardStepAreNamedByThatStepAndTheModuleOfItsForwardCall) {
  const LedgerScope ledger;
  nn::Sequential model{nn::Linear(8, 300)};
  Tensor x = ones({4, 8}).requires_grad_();
  model(x).sum().backward();
  EXPECT_EQ(holder_of(x.grad()).operator_name, "LinearBackward");
  EXPECT_EQ(holder_of(x.grad()).module, "0");
}

TEST(Holders, OfAnotherThreadAreUntrackedUnlessItTurnsTheLedgerOn) {
  const LedgerScope ledger;
  const int64_t before = bytes_of(MemoryCategory::kUntracked);
  Tensor a, b;
  std::thread([&] { a = ones({1000}); }).join();
  std::thread([&] {
    const LedgerScope own;
    b = ones({1000});
  }).join();
  EXPECT_GE(bytes_of(MemoryCategory::kUntracked), before + 4000);
  EXPECT_EQ(holder_of(b).category, MemoryCategory::kUser);
}

// Under --config=tsan and asan too.
TEST(Holders, CanBeAskedForWhileOtherThreadsAllocateAndFree) {
  const LedgerScope ledger;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const LedgerScope own;
      const NoGradGuard no_grad;
      while (!stop) {
        Tensor x = ones({100});
        x.set_name("batch");
        const Tensor y = (x * x).slice(0, 0, 10);
      }
    });
  for (int i = 0; i < 200; ++i) memory_holders();
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(bytes_of(MemoryCategory::kOther), 0);
}

// A block may outlive the scope in which the ledger was on.
TEST(Holders, ThatEndWhileTheLedgerIsOffAreForgotten) {
  Tensor x;
  {
    const LedgerScope ledger;
    x = ones({1000}).requires_grad_();
    x = x * x;
  }
  EXPECT_EQ(holder_of(x).category, MemoryCategory::kUser);
  const int64_t before = static_cast<int64_t>(memory_holders().size());
  x.reset();
  EXPECT_LT(static_cast<int64_t>(memory_holders().size()), before);
}

// As the dispatcher does around a kernel.
TEST(Holders, OfScratchMemoryAreKernels) {
  const LedgerScope ledger;
  const AnnotationScope op(Annotation::Kind::kOperator, "matmul");
  Allocator& source = allocator(Device());
  Block block;
  ASSERT_TRUE(source.allocate(5000, kDefaultAlignment, Stream(), &block).ok());
  hooks().ledger->workspace_allocated(source, block, Stream());
  const int64_t bytes = bytes_of(MemoryCategory::kWorkspace);
  EXPECT_EQ(bytes, static_cast<int64_t>(source.active_bytes(block)));
  EXPECT_GE(bytes, 5000);
  hooks().ledger->workspace_freed(block);
  source.deallocate(block, Stream());
  EXPECT_EQ(bytes_of(MemoryCategory::kWorkspace), 0);
}

TEST(Holders, InATableAreSummedByCategory) {
  const LedgerScope ledger;
  Tensor x = ones({1 << 20});
  x.set_name("images");
  const std::string table = memory_holders_table();
  EXPECT_THAT(table, StartsWith("Memory of cpu by holder: "));
  EXPECT_THAT(table, HasSubstr("4.00 MiB  user             images, float32[1048576]\n"));
  EXPECT_THROW(memory_holders_table({}, -1), InvalidArgumentError);
}

// set_data() changes all of a tensor before it lets go of the old memory.
TEST(Holders, SeeATensorBeforeOrAfterItsMemoryIsReplaced) {
  const LedgerScope ledger;
  Tensor x = ones({10});
  x.set_name("x");
  MemoryHolder seen;
  const auto look = [](void* found) {
    for (const MemoryHolder& row : memory_holders())
      if (row.path == "x") *static_cast<MemoryHolder*>(found) = row;
  };
  x.impl().storage->watch(look, &seen);  // called when it is freed
  x.set_data(ones({100'000}));
  EXPECT_EQ(seen.shape, Dims({100'000}));
  EXPECT_GE(seen.bytes, 400'000);
}

TEST(Holders, StandInTheTextOfAnOutOfMemoryError) {
  const LedgerScope ledger;
  Tensor x = ones({1 << 20});
  x.set_name("images");
  const std::string text = message_of<OutOfMemoryError>([] { empty({int64_t{1} << 50}); });
  EXPECT_THAT(text, HasSubstr("Top holders:"));
  EXPECT_THAT(text, HasSubstr("user: images"));
}

TEST(Holders, InAnErrorAreThoseOfTheAllocatorThatFailed) {
  const LedgerScope ledger;
  Tensor x = ones({1 << 20});
  x.set_name("images");
  Tensor pinned = ones({1000}).pin_memory(Device(kCPU));
  pinned.set_name("batch");
  const std::string text =
      message_of<OutOfMemoryError>([&] { x[0].expand({int64_t{1} << 50}).pin_memory(Device(kCPU)); });
  EXPECT_THAT(text, HasSubstr("user: batch"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("images")));
}

// Has memory for all requests but the last.
class LastFails final : public AllocatorOverride, public Allocator {
 public:
  explicit LastFails(int served) : left_(served) {}

  Allocator& allocator_for(Device) override { return *this; }
  std::string_view name() const override { return "last_fails"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    if (left_-- <= 0) return {StatusCode::kOutOfMemory, "no more"};
    return upstream_.allocate(bytes, alignment, stream, out);
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override { upstream_.deallocate(block, stream); }
  MemoryStats stats() const override { return upstream_.stats(); }
  void reset_peak_stats() noexcept override {}
  void release_stream(const Stream&) noexcept override {}
  int64_t allocated_on_this_thread() noexcept override { return 0; }

 private:
  Allocator& upstream_ = allocator(Device());
  int left_;
};

TEST(Holders, StandInTheErrorOfAKernelThatGetsNoScratchMemory) {
  const LedgerScope ledger;
  static LastFails last_fails(2);  // outlives its blocks
  const AllocatorScope scope(last_fails);
  Tensor x = ones({300, 300}, kFloat64);
  x.set_name("images");
  const std::string text = message_of<OutOfMemoryError>([&] { matmul(x, x); });
  EXPECT_THAT(text, StartsWith("matmul: out of memory on cpu ('last_fails' allocator)"));
  EXPECT_THAT(text, HasSubstr("user: images"));
}

// Another thread, where the ledger is off, may be replacing it.
TEST(Holders, InAnErrorDoNotLeadToWhatIsNotTracked) {
  const Tensor w = ones({1000}).requires_grad_();
  set_memory_role(w, MemoryRole::kParameter);
  (w * w).sum().backward();
  const internal::TensorImpl* gradient = &w.grad().impl();
  const LedgerScope ledger;
  const auto reaches_it = [&](internal::HolderGraph::Reach reach) {
    const internal::HolderGraph graph(reach);
    return std::ranges::any_of(graph.vertices(), [&](const auto& vertex) { return vertex.tensor == gradient; });
  };
  EXPECT_TRUE(reaches_it(internal::HolderGraph::Reach::kAll));
  EXPECT_FALSE(reaches_it(internal::HolderGraph::Reach::kCareful));
}

TEST(Holders, InAnErrorAreNodesForWhatTheySaved) {
  const LedgerScope ledger;
  const Tensor w = ones({1000}).requires_grad_();
  const Tensor y = (w * 2).square();
  EXPECT_THAT(message_of<OutOfMemoryError>([] { empty({int64_t{1} << 50}); }), HasSubstr(".self"));
}

}  // namespace
}  // namespace vellum::testing
