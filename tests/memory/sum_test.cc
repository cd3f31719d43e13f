// The bytes of all holders sum to what is in use, after every operator of a training step. The allocator's own count is
// the oracle; what the ledger does not find shows as untracked and not as nothing.

#include <functional>

#include "vellum/device/thread_state.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/batch_norm.h"
#include "vellum/nn/dropout.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/memory/testing.h"

namespace vellum::testing {
namespace {

// Calls back when an operator, or a step of the backward pass, has ended.
class AfterOperators final : public ProfilerHook {
 public:
  explicit AfterOperators(std::function<void(std::string_view)> then) : then_(std::move(then)) {
    hooks().profiler = this;
    thread_state().mode |= kModeProfiler;
  }
  ~AfterOperators() {
    thread_state().mode &= ~uint32_t{kModeProfiler};
    hooks().profiler = nullptr;
  }

  void begin(const Annotation&) noexcept override {}
  void end(const Annotation& frame) noexcept override {
    if (frame.kind == Annotation::Kind::kOperator || frame.kind == Annotation::Kind::kBackward) then_(frame.text);
  }
  uint32_t module() noexcept override { return 0; }

 private:
  std::function<void(std::string_view)> then_;
};

// An MLP with everything that holds memory in its own way.
class Net : public nn::Module {
 public:
  Tensor forward(const Tensor& x) override {
    Tensor h = relu(norm_(first_(x)));
    h = drop_(h);
    h.select(1, 0).mul_(2);              // in place through a view
    Tensor halves = h.view({8, 2, 12});  // views, of which one is kept
    h = halves.select(1, 0) * halves.select(1, 1).tanh();
    h.add_(1);  // in place
    return second_(h);
  }

 private:
  nn::Linear first_ = register_module("first", nn::Linear(16, 24));
  nn::BatchNorm1d norm_ = register_module("norm", nn::BatchNorm1d(24));
  nn::Dropout drop_ = register_module("drop", nn::Dropout(0.5));
  nn::Linear second_ = register_module("second", nn::Linear(12, 10));
};

struct Sums {
  int operators = 0;
  int64_t most_unknown = 0;  // bytes that no holder explains
  int wrong = 0;             // operators after which the rows did not sum to what is in use
  std::string where;
};

// Trains for three steps, and asks after every operator. `forget` leaves out a kind of holder: a planted fault.
template <typename Optimizer>
Sums train(MemoryCategory forget = MemoryCategory::kOther) {
  Sums sums;
  const LedgerScope ledger;
  const int64_t before = bytes_of(MemoryCategory::kUntracked);
  Net net;
  Optimizer optimizer(net.parameters());
  const Tensor x = randn({8, 16}), target = arange(8);
  const AfterOperators hook([&](std::string_view name) {
    int64_t sum = 0, unknown = -before;
    for (const MemoryHolder& row : memory_holders()) {
      if (row.category == forget) continue;
      sum += row.bytes;
      if (row.category == MemoryCategory::kUntracked || row.category == MemoryCategory::kOther) unknown += row.bytes;
    }
    ++sums.operators;
    if (sum == memory_allocated() && unknown == 0) return;
    ++sums.wrong;
    sums.where = name;
    sums.most_unknown = std::max(sums.most_unknown, unknown);
  });
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net(x), target).backward();
    optimizer.step();
  }
  return sums;
}

TEST(Sum, OfAllHoldersIsWhatIsInUseAfterEveryOperatorOfATrainingStep) {
  for (const Sums& sums : {train<optim::AdamW>(), train<optim::SGD>()}) {
    EXPECT_GT(sums.operators, 100);
    EXPECT_EQ(sums.wrong, 0) << "after " << sums.where << ", " << sums.most_unknown << " bytes unknown";
  }
}

// What the test above would say if a kind of holder were forgotten.
TEST(Sum, MissesAKindOfHolderThatIsLeftOut) {
  for (const MemoryCategory category :
       {MemoryCategory::kParameter, MemoryCategory::kBuffer, MemoryCategory::kOptimizerState, MemoryCategory::kGradient,
        MemoryCategory::kSaved, MemoryCategory::kUser, MemoryCategory::kView})
    EXPECT_GT(train<optim::AdamW>(category).wrong, 0) << memory_category_name(category);
}

TEST(Sum, HoldsOnTheFastPathToo) {
  const LedgerScope ledger;
  const int64_t before = bytes_of(MemoryCategory::kUntracked);
  const auto check = [&](const char* what) {
    int64_t sum = 0;
    for (const MemoryHolder& row : memory_holders()) sum += row.bytes;
    EXPECT_EQ(sum, memory_allocated()) << what;
    EXPECT_EQ(bytes_of(MemoryCategory::kUntracked), before) << what;
    EXPECT_EQ(bytes_of(MemoryCategory::kOther), 0) << what;
  };
  Tensor x = randn({300}).requires_grad_();
  check("randn");
  Tensor y = x * x;
  check("mul");
  Tensor z = y.sin().add_(1);
  check("sin, add_");
  y.reset();
  check("reset");
  z.sum().backward();
  check("backward");
  x.set_grad({});
  check("set_grad");
  z = z.detach().slice(0, 0, 10);
  check("detach, slice");
  x.reset();
  z.reset();
  check("the end");
}

TEST(Sum, HoldsAfterAGraphWasAbandonedByAnException) {
  const LedgerScope ledger;
  const int64_t before = bytes_of(MemoryCategory::kUntracked);
  const Tensor x = randn({10}).requires_grad_();
  EXPECT_ANY_THROW(matmul(x * x, zeros({3, 3})).sum().backward());
  EXPECT_EQ(bytes_of(MemoryCategory::kUntracked), before);
  EXPECT_EQ(bytes_of(MemoryCategory::kSaved), 0);
}

}  // namespace
}  // namespace vellum::testing
