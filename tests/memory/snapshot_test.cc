// The file of a snapshot, read by a JSON library.

#include "vellum/memory/snapshot.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "vellum/device/stream.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/sequential.h"
#include "vellum/tests/fakes/sim.h"
#include "vellum/tests/memory/snapshot_fixture.h"
#include "vellum/tests/memory/testing.h"

namespace vellum::testing {
namespace {

using nlohmann::json;

class Snapshot : public SnapshotFixture {
 protected:
  // The rows of a table as objects by column.
  static std::vector<json> rows(const json& table) {
    std::vector<json> list;
    for (const json& row : table["rows"]) {
      EXPECT_EQ(row.size(), table["columns"].size());
      json object;
      for (size_t i = 0; i < row.size(); ++i) object[table["columns"][i].get<std::string>()] = row[i];
      list.push_back(object);
    }
    return list;
  }

  static std::string category(const json& snapshot, const json& block) {
    return snapshot["categories"][block["category"].get<size_t>()];
  }

  const int64_t older_ = memory_allocated();
};

TEST_F(Snapshot, HasTheBlocksThatLiveAndTheirHolders) {
  start_memory_recording();
  Tensor x = ones({250, 4});
  x.set_name("batch \"1\"\n");
  const json snapshot = take();
  EXPECT_EQ(snapshot["version"], 1);
  EXPECT_EQ(snapshot["device"], "cpu:0");
  EXPECT_EQ(snapshot["stats"]["active"]["current"], memory_allocated());
  json found;
  for (const json& block : rows(snapshot["blocks"]))
    if (block["name"] == "batch \"1\"\n") found = block;
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found["shape"], json({250, 4}));
  EXPECT_EQ(found["dtype"], "float32");
  EXPECT_EQ(found["requested"], 4000);
  EXPECT_EQ(found["address"], reinterpret_cast<uintptr_t>(x.data<float>()));
  EXPECT_TRUE(found["freed_us"].is_null());
  EXPECT_EQ(category(snapshot, found), "user");
  bool held = false;
  for (const json& holder : rows(snapshot["holders"]))
    if (holder["block"] == found["id"]) held = holder["path"] == "batch \"1\"\n" && holder["bytes"] == found["bytes"];
  EXPECT_TRUE(held);
}

TEST_F(Snapshot, AccountsForEveryByteInUse) {
  const Tensor older = ones({1000});
  start_memory_recording();
  const Tensor w = ones({1000}).requires_grad_();
  const Tensor y = (w * 2).square();
  const json snapshot = take();
  std::map<uint64_t, int64_t> live;
  int64_t held = 0, in_use = 0;
  for (const json& block : rows(snapshot["blocks"]))
    if (block["freed_us"].is_null()) {
      in_use += block["bytes"].get<int64_t>();
      live[block["id"]] = block["bytes"];
    }
  for (const json& holder : rows(snapshot["holders"])) {
    held += holder["bytes"].get<int64_t>();
    EXPECT_EQ(live[holder["block"]], holder["bytes"]);
  }
  EXPECT_EQ(in_use, memory_allocated());
  EXPECT_EQ(held, memory_allocated());
}

TEST_F(Snapshot, IsOfOneAllocator) {
  start_memory_recording();
  const Tensor x = ones({1000});
  const int64_t before = memory_allocated();
  const Tensor pinned = x.pin_memory(Device(kCPU));
  const json snapshot = take();
  EXPECT_EQ(memory_allocated(), before);
  int64_t in_use = 0, allocated = 0;
  for (const json& block : rows(snapshot["blocks"])) {
    if (block["freed_us"].is_null()) in_use += block["bytes"].get<int64_t>();
    EXPECT_NE(block["address"], reinterpret_cast<uintptr_t>(pinned.data<float>()));
  }
  for (const json& event : rows(snapshot["events"]))
    if (event["block"] != 0) allocated += event["bytes"].get<int64_t>();
  EXPECT_EQ(in_use, memory_allocated());
  EXPECT_EQ(allocated, memory_stats().active.current - older_);
}

// The sum of the events is the change of what is in use: the allocator's count is the oracle.
TEST_F(Snapshot, HasAnEventForEveryAllocationAndRelease) {
  start_memory_recording();
  const int64_t before = memory_allocated(), allocated = memory_stats().active.allocated;
  Tensor kept;
  for (int i = 0; i < 10; ++i) kept = (ones({100 + i}).requires_grad_() * 2).square().sum();
  const json snapshot = take();
  int64_t now = before, sum = 0;
  double time = 0;
  for (const json& event : rows(snapshot["events"])) {
    EXPECT_GE(event["time_us"], time);
    time = event["time_us"];
    if (event["block"] == 0) continue;  // of a segment
    const int64_t bytes = event["bytes"];
    EXPECT_TRUE(event["action"] == "alloc" || event["action"] == "free");
    now += event["action"] == "alloc" ? bytes : -bytes;
    sum += event["action"] == "alloc" ? bytes : 0;
  }
  EXPECT_EQ(now, memory_allocated());
  EXPECT_EQ(sum, memory_stats().active.allocated - allocated);
  EXPECT_EQ(snapshot["dropped_events"], 0);
}

TEST_F(Snapshot, RemembersWhatAFreedBlockWas) {
  start_memory_recording();
  {
    nn::Sequential model{nn::Linear(8, 300)};
    model(ones({4, 8})).square().sum().backward();
  }
  const json snapshot = take();
  std::map<std::string, int> freed;
  for (const json& block : rows(snapshot["blocks"]))
    if (!block["freed_us"].is_null()) {
      EXPECT_GE(block["freed_us"], block["allocated_us"]);
      ++freed[category(snapshot, block)];
    }
  EXPECT_EQ(freed["parameter"], 2);
  EXPECT_EQ(freed["gradient"], 2);
  EXPECT_GE(freed["saved"], 2);  // the input, and what square reads
  bool in_module = false;
  for (const json& block : rows(snapshot["blocks"]))
    in_module |= snapshot["operators"][block["operator"].get<size_t>()] == "linear" &&
                 snapshot["modules"][block["module"].get<size_t>()] == "0";
  EXPECT_TRUE(in_module);
}

TEST_F(Snapshot, RemembersGradientsHoweverTheyCameAbout) {
  start_memory_recording();
  {
    Tensor w = ones({1000}).requires_grad_();
    Tensor y = w * 2;
    y.retain_grad();
    y.sum().backward();
    w.square().sum().backward({.create_graph = true});  // a new sum of both
    w.set_grad({});
  }
  const json snapshot = take();
  int gradients = 0;
  for (const json& block : rows(snapshot["blocks"])) gradients += category(snapshot, block) == "gradient";
  EXPECT_EQ(gradients, 3);
}

TEST_F(Snapshot, RemembersWhatAFreedBlockWasCalled) {
  Tensor older;
  {
    const LedgerScope ledger;
    older = ones({11});
  }
  older.set_name("older");
  start_memory_recording();
  {
    Tensor x = ones({12}), y = ones({13}), z = ones({14});
    x.set_name("x");
    x.view({3, 4}).set_name("a view of x");
    y.set_name("first").set_name("renamed");
    z.view({2, 7}).set_name("a view of z");
    const nn::Linear model(15, 1, {.bias = false});
  }
  older.reset();
  std::map<json, std::string> names;
  for (const json& block : rows(take()["blocks"]))
    if (!block["freed_us"].is_null()) names[block["requested"]] = block["name"];
  EXPECT_EQ(names[44], "older");
  EXPECT_EQ(names[48], "x");
  EXPECT_EQ(names[52], "renamed");
  EXPECT_EQ(names[56], "a view of z");
  EXPECT_EQ(names[60], "weight");
}

TEST_F(Snapshot, KnowsABlockByTheTensorThatIsGone) {
  start_memory_recording();
  Tensor x = ones({1234});
  x.set_name("x");
  const Tensor view = x.view({2, 617});
  const Tensor part = view.detach();
  x.reset();
  std::string name;
  for (const json& block : rows(take()["blocks"]))
    if (block["requested"] == 4936) name = block["name"];
  EXPECT_EQ(name, "x");
}

TEST_F(Snapshot, KeepsTheLastEventsAndCountsTheOthers) {
  ones({100});  // takes the segment
  start_memory_recording(10);
  const MemoryStats before = memory_stats();
  for (int i = 0; i < 20; ++i) ones({100});
  const MemoryStats after = memory_stats();
  const int64_t segments = after.upstream_allocations + after.upstream_frees - before.upstream_allocations -
                           before.upstream_frees;  // none from a cache
  const json snapshot = take();
  EXPECT_EQ(snapshot["events"]["rows"].size(), 10u);
  EXPECT_EQ(snapshot["dropped_events"], 40 + segments - 10);
}

TEST_F(Snapshot, WithoutARecordingHasWhatTheLedgerKnows) {
  const LedgerScope ledger;
  Tensor x = ones({1000});
  x.set_name("x");
  const json snapshot = take();
  EXPECT_EQ(snapshot["events"]["rows"].size(), 0u);
  int64_t in_use = 0;
  for (const json& block : rows(snapshot["blocks"])) in_use += block["bytes"].get<int64_t>();
  EXPECT_EQ(in_use, memory_allocated());
}

TEST_F(Snapshot, TurnsTheLedgerOnAndLeavesItAsItWas) {
  start_memory_recording();
  EXPECT_TRUE(is_ledger_enabled());
  EXPECT_THROW(start_memory_recording(), InvalidArgumentError);
  stop_memory_recording();
  EXPECT_FALSE(is_ledger_enabled());
  EXPECT_THROW(start_memory_recording(0), InvalidArgumentError);
}

TEST_F(Snapshot, LeavesTheLedgerOfAThreadThatOnlyEndsTheRecording) {
  start_memory_recording();
  bool stays_on = false;
  std::thread([&] {
    const LedgerScope own;
    stop_memory_recording();
    stays_on = is_ledger_enabled();
  }).join();
  EXPECT_TRUE(stays_on);
  EXPECT_TRUE(is_ledger_enabled());
  set_ledger_enabled(false);
}

TEST_F(Snapshot, ShowsWhatWaitsForAnotherStream) {
  const Device device("sim");
  {
    const sim::ModeScope mode(sim::Mode::kManual);
    const StreamGuard stream(create_stream(device));
    const Stream other = create_stream(device);
    const sim::Gate gate = sim::hold(other);
    Tensor x = zeros({1000}, device);
    x.record_stream(other);
    x.reset();
    memory_snapshot(path_, device);
    gate.open();
  }
  std::ifstream file(path_);
  const json snapshot = json::parse(file);
  int64_t pending = 0;
  for (const json& holder : rows(snapshot["holders"]))
    if (holder["category"] == "pending") pending += holder["bytes"].get<int64_t>();
  EXPECT_GE(pending, 4000);
  sim::reset(device);
}

TEST_F(Snapshot, NamesThePathThatCannotBeWritten) {
  EXPECT_THAT(message_of<IoError>([] { memory_snapshot("/no/such/folder/s.json"); }), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace vellum::testing
