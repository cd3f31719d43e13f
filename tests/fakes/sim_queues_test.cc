// The streams and events of the simulated accelerator.

#include <algorithm>
#include <set>

#include "vellum/device/error.h"
#include "vellum/tests/fakes/sim_fixture.h"

namespace vellum::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SimStreams : public SimTest {};

TEST_F(SimStreams, RunNothingUntilTheTestSaysSo) {
  void* const data = allocate();
  ASSERT_TRUE(fill(data, 7, a_).ok());
  EXPECT_EQ(first_byte(data), 0xDD);
  EXPECT_EQ(pending(a_), 1u);
  EXPECT_TRUE(run_one(a_));
  EXPECT_EQ(first_byte(data), 7);
  EXPECT_FALSE(run_one(a_)) << "nothing is left";
}

TEST_F(SimStreams, KeepTheOrderWithinEachAndNoneAcross) {
  log(a_, "a1"), log(a_, "a2"), log(b_, "b1");
  EXPECT_THAT(runnable(device_), UnorderedElementsAre(a_, b_));
  run_one(b_), run_one(a_), run_one(a_);
  EXPECT_THAT(log_, ElementsAre("b1", "a1", "a2"));
  EXPECT_THAT(runnable(device_), IsEmpty());
}

TEST_F(SimStreams, AreNotSynchronizedByTheDefaultStream) {
  log(a_, "a"), log({device_, 0}, "default");
  Stream{device_, 0}.synchronize();
  EXPECT_THAT(log_, ElementsAre("default"));
}

TEST_F(SimStreams, SynchronizeOfOneRunsNoMoreThanItNeeds) {
  log(a_, "a"), log(b_, "b");
  a_.synchronize();
  EXPECT_THAT(log_, ElementsAre("a"));
  synchronize(device_);
  EXPECT_THAT(log_, ElementsAre("a", "b"));
}

TEST_F(SimStreams, FinishTheirWorkAfterTheirEnd) {
  const Stream c = create_stream(device_);
  log(c, "c");
  destroy_stream(c);
  EXPECT_THROW(log(c, "later"), InvalidArgumentError);
  run_all(device_);
  EXPECT_THAT(log_, ElementsAre("c"));
  EXPECT_THROW(destroy_stream(c), InvalidArgumentError);
}

TEST_F(SimStreams, AreOfOneDevice) { EXPECT_THROW(log({Device("sim:1"), a_.handle}, "there"), InvalidArgumentError); }

class SimCopies : public SimTest {};

TEST_F(SimCopies, ReadPageableMemoryAtOnce) {
  void* const data = allocate();
  char host[kBytes];
  std::memset(host, 1, kBytes);
  ASSERT_TRUE(copy(data, host, CopyKind::kHostToDevice, a_).ok());
  std::memset(host, 2, kBytes);
  run_all(device_);
  EXPECT_EQ(first_byte(data), 1);
}

TEST_F(SimCopies, ReadPageLockedMemoryWhenTheyRun) {
  void *const data = allocate(), *host = nullptr;
  ASSERT_TRUE(api_.host_allocate(0, kBytes, &host).ok());
  std::memset(host, 1, kBytes);
  ASSERT_TRUE(copy(data, host, CopyKind::kHostToDevice, a_).ok());
  std::memset(host, 2, kBytes);
  run_all(device_);
  EXPECT_EQ(first_byte(data), 2) << "the host wrote too early";
  EXPECT_TRUE(api_.host_deallocate(0, host, kBytes).ok());
}

TEST_F(SimCopies, ToTheHostArriveWhenTheyRun) {
  void* const data = allocate();
  char host[kBytes] = {};
  ASSERT_TRUE(fill(data, 7, a_).ok());
  ASSERT_TRUE(copy(host, data, CopyKind::kDeviceToHost, a_).ok());
  run_one(a_);
  EXPECT_EQ(host[0], 0);
  run_one(a_);
  EXPECT_EQ(host[0], 7);
}

TEST_F(SimCopies, BetweenBlocksReadWhenTheyRun) {
  void *const from = allocate(), *const to = allocate();
  ASSERT_TRUE(copy(to, from, CopyKind::kDeviceToDevice, a_).ok());
  ASSERT_TRUE(fill(from, 7, b_).ok());
  run_one(b_), run_one(a_);
  EXPECT_EQ(first_byte(to), 7) << "nothing ordered the two streams";
}

TEST_F(SimCopies, HoldPageLockedMemoryUntilTheyRan) {
  void *const data = allocate(), *host = nullptr;
  ASSERT_TRUE(api_.host_allocate(0, kBytes, &host).ok());
  std::memset(host, 1, kBytes);
  ASSERT_TRUE(copy(data, host, CopyKind::kHostToDevice, a_).ok());
  EXPECT_TRUE(api_.host_deallocate(0, host, kBytes).ok());
  EXPECT_EQ(first_byte(data), 1);
}

class SimEvents : public SimTest {
 protected:
  Event event_{device_};
};

TEST_F(SimEvents, AreCompleteBeforeTheyAreRecorded) { EXPECT_TRUE(event_.query()); }

TEST_F(SimEvents, AreCompleteWhenTheWorkBeforeHasRun) {
  log(a_, "before");
  event_.record(a_);
  log(a_, "after");
  EXPECT_FALSE(event_.query());
  run_one(a_);
  EXPECT_FALSE(event_.query());
  run_one(a_);
  EXPECT_TRUE(event_.query());
}

TEST_F(SimEvents, OrderOneStreamAfterAnother) {
  log(a_, "a");
  event_.record(a_);
  event_.block(b_);
  log(b_, "b");
  EXPECT_FALSE(run_one(b_));
  b_.synchronize();
  EXPECT_THAT(log_, ElementsAre("a", "b"));
}

TEST_F(SimEvents, OrderStreamsOfTwoDevices) {
  const Stream there = create_stream(Device("sim:1"));
  log(a_, "here");
  event_.record(a_);
  event_.block(there);
  log(there, "there");
  there.synchronize();
  EXPECT_THAT(log_, ElementsAre("here", "there"));
  destroy_stream(there);
}

TEST_F(SimEvents, AreWaitedForAsTheyWereRecordedThen) {
  log(a_, "first");
  event_.record(a_);
  event_.block(b_);
  log(b_, "b");
  log(a_, "second");
  event_.record(a_);
  b_.synchronize();
  EXPECT_THAT(log_, ElementsAre("first", "b"));
  EXPECT_FALSE(event_.query()) << "it stands for the second record now";
}

TEST_F(SimEvents, AreWaitedForByTheHostWithoutWhatComesAfter) {
  log(a_, "before");
  event_.record(a_);
  log(a_, "after");
  event_.synchronize();
  EXPECT_THAT(log_, ElementsAre("before"));
}

TEST_F(SimEvents, MayEndBeforeTheirRecordIsReached) {
  {
    Event brief(device_);
    log(a_, "a");
    brief.record(a_);
    brief.block(b_);
  }
  log(b_, "b");
  synchronize(device_);
  EXPECT_THAT(log_, ElementsAre("a", "b"));
}

class SimGates : public SimTest {};

TEST_F(SimGates, HoldWorkUntilTheyOpen) {
  const Gate gate = hold(a_);
  log(a_, "a");
  run_all(device_);
  EXPECT_THAT(log_, IsEmpty());
  gate.open();
  run_all(device_);
  EXPECT_THAT(log_, ElementsAre("a"));
}

TEST_F(SimGates, ThatAreClosedMakeAWaitAnError) {
  Event event(device_);
  const Gate gate = hold(a_);
  event.record(a_);
  event.block(b_);
  log(b_, "b");
  for (const Mode mode : {Mode::kManual, Mode::kRandom}) {
    set_mode(mode);
    const Status status = api_.stream_synchronize(0, b_.handle);
    EXPECT_EQ(status.code, StatusCode::kDeviceError);
    EXPECT_THAT(status.message, HasSubstr("this wait would never end: stream " + std::to_string(b_.handle) +
                                          " of sim:0 waits for stream " + std::to_string(a_.handle) +
                                          " of sim:0 waits for a gate that is closed"));
  }
  gate.open();
  synchronize(device_);
  EXPECT_THAT(log_, ElementsAre("b")) << "the error does not last";
}

class SimModes : public SimTest {
 protected:
  // The order in which the work of two streams runs.
  std::vector<std::string> order(uint64_t seed) {
    const ModeScope random(Mode::kRandom, seed);
    log_.clear();
    for (const char* const i : {"1", "2", "3", "4"}) log(a_, std::string("a") + i), log(b_, std::string("b") + i);
    synchronize(device_);
    return log_;
  }
};

TEST_F(SimModes, ImmediateRunsWorkAsItComes) {
  const ModeScope immediate(Mode::kImmediate);
  log(a_, "a");
  EXPECT_THAT(log_, ElementsAre("a"));
}

TEST_F(SimModes, ImmediateCatchesUpWhenAGateOpens) {
  const ModeScope immediate(Mode::kImmediate);
  const Gate gate = hold(a_);
  log(a_, "a");
  EXPECT_THAT(log_, IsEmpty());
  gate.open();
  EXPECT_THAT(log_, ElementsAre("a"));
}

TEST_F(SimModes, RandomInterleavesStreamsAndKeepsTheOrderOfEach) {
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(order(seed));
    for (const char stream : {'a', 'b'}) {
      std::vector<std::string> own;
      std::ranges::copy_if(log_, std::back_inserter(own), [&](const std::string& s) { return s[0] == stream; });
      EXPECT_TRUE(std::ranges::is_sorted(own));
      EXPECT_EQ(own.size(), 4u);
    }
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST_F(SimModes, RandomIsAFunctionOfItsSeed) { EXPECT_EQ(order(7), order(7)); }

TEST_F(SimModes, RandomDoesNotRunEverythingAtOnce) {
  const ModeScope random(Mode::kRandom, 3);
  for (int i = 0; i < 100; ++i) log(a_, "a");
  EXPECT_LT(log_.size(), 100u);
}

class SimFaults : public SimTest {};

TEST_F(SimFaults, SurfaceAtTheNextWaitAndInEveryCallAfterIt) {
  enqueue_fault(a_);
  void* const data = allocate();  // nothing has run yet
  const Status status = api_.stream_synchronize(0, a_.handle);
  EXPECT_EQ(status.code, StatusCode::kDeviceError);
  EXPECT_EQ(std::string(status.message), "sim: 'division' failed on stream " + std::to_string(a_.handle) + ": by zero");
  EXPECT_EQ(api_.synchronize(0).code, StatusCode::kDeviceError);
  EXPECT_EQ(fill(data, 1, b_).code, StatusCode::kDeviceError);
  EXPECT_TRUE(api_.synchronize(1).ok()) << "the other device works on";
  reset(device_);
  EXPECT_TRUE(fill(data, 1, b_).ok());
}

TEST_F(SimFaults, EndTheWorkOfTheDevice) {
  log(a_, "before");
  enqueue_fault(a_);
  log(a_, "after"), log(b_, "other");
  Event event(device_);
  event.record(b_);
  EXPECT_THROW(a_.synchronize(), DeviceError);
  EXPECT_THAT(log_, ElementsAre("before"));
  EXPECT_EQ(pending(b_), 0u);
}

TEST_F(SimFaults, LeaveMemoryToBeFreed) {
  void* const data = allocate();
  enqueue_fault(a_);
  run_all(device_);
  EXPECT_EQ(api_.deallocate(0, data, kBytes).code, StatusCode::kDeviceError);
  EXPECT_EQ(reach(data, 1), nullptr);
}

}  // namespace
}  // namespace vellum::sim
