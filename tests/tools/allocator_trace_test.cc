#include <gmock/gmock.h>

#include <sstream>

#include "vellum/device/error.h"
#include "vellum/tools/allocator_replay/trace.h"
#include "vellum/tools/allocator_replay/training_trace.h"

namespace vellum::allocator_replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Values;

constexpr char kHeader[] = "Thread,Time,Action,Pointer,Size,Stream\n";

Trace read(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in, "log.csv");
}

std::string complaint(const std::string& text) {
  try {
    read(text);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "none";
}

// [allocation, bytes, stream, frees]
std::vector<std::vector<uint64_t>> calls(const Trace& trace) {
  std::vector<std::vector<uint64_t>> all;
  for (const Operation& o : trace.operations) all.push_back({o.allocation, o.bytes, o.stream, o.frees});
  return all;
}

using Call = std::vector<uint64_t>;

TEST(AllocatorTrace, CallsAreReadInTheirOrder) {
  const Trace trace = read(std::string(kHeader) +
                           "1,10:20:30.1,allocate,0x10,100,0x0\n"
                           "1,10:20:30.2,allocate,0x20,50,0x0\n"
                           "2,10:20:30.3,free,0x10,100,0x0\n"
                           "1,10:20:30.4,allocate,0x10,70,0x0\n"
                           "1,10:20:30.5,free,0x20,50,0x0\n");
  EXPECT_THAT(calls(trace), ElementsAre(Call{0, 100, 0, 0}, Call{1, 50, 0, 0}, Call{0, 100, 0, 1}, Call{2, 70, 0, 0},
                                        Call{1, 50, 0, 1}));
  EXPECT_EQ(trace.allocations, 3);
  EXPECT_EQ(trace.frees, 2);
  EXPECT_EQ(trace.live_at_end, 1);
  EXPECT_EQ(trace.max_live, 150);  // 100, 150, 50, 120, 70
}

TEST(AllocatorTrace, ColumnsMayStandInAnyOrderAndOthersAreIgnored) {
  const Trace trace = read("Size,Colour,Pointer,Action\r\n8,red,ff,allocate\r\n 8 ,blue, 0xFF , free \r\n\r\n");
  EXPECT_THAT(calls(trace), ElementsAre(Call{0, 8, 0, 0}, Call{0, 8, 0, 1}));
}

TEST(AllocatorTrace, StreamsAreNumberedAsTheyAppear) {
  const Trace trace =
      read("Action,Pointer,Size,Stream\nallocate,1,8,0x7f00\nallocate,2,8,0\nallocate,3,8,2\nfree,1,8,2\n");
  EXPECT_THAT(calls(trace), ElementsAre(Call{0, 8, 1, 0}, Call{1, 8, 0, 0}, Call{2, 8, 2, 0}, Call{0, 8, 2, 1}));
}

TEST(AllocatorTrace, FailedAllocationsAndThoseOfNothingAreIgnored) {
  const Trace trace = read(std::string(kHeader) +
                           "1,t,allocate failure,0x0,99999,0x0\n1,t,allocate_failure,(nil),9,0x0\n"
                           "1,t,allocate,0x0,0,0x0\n1,t,allocate,0x0,0,0x0\n1,t,free,0x0,0,0x0\n");
  EXPECT_THAT(calls(trace), ElementsAre());
  EXPECT_EQ(trace.ignored, 5);
}

TEST(AllocatorTrace, ALogMayBeginInTheMiddleOfAProgram) {
  const Trace trace = read("Action,Pointer,Size\nfree,1,8\nallocate,1,16\nfree,2,8\nfree,1,16\n");
  EXPECT_THAT(calls(trace), ElementsAre(Call{0, 16, 0, 0}, Call{0, 16, 0, 1}));
  EXPECT_EQ(trace.older_frees, 2);
  EXPECT_EQ(trace.max_live, 16);
}

struct Hostile {
  std::string text, complaint;
};

class HostileTrace : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileTrace, IsRefusedByTheNumberOfItsLine) {
  EXPECT_THAT(complaint(GetParam().text), ::testing::StartsWith("log.csv:"));
  EXPECT_THAT(complaint(GetParam().text), HasSubstr(GetParam().complaint));
}

const std::string kColumns = "Action,Pointer,Size\n";

INSTANTIATE_TEST_SUITE_P(
    , HostileTrace,
    Values(Hostile{"", ":0: nothing in it"}, Hostile{"\n\n", ":2: nothing in it"},
           Hostile{"Action,Size\n", ":1: no column 'Pointer'"}, Hostile{"Pointer,Size\n", ":1: no column 'Action'"},
           Hostile{"Action,Pointer\n", ":1: no column 'Size'"},
           Hostile{"Action,Pointer,Size,Size\n", ":1: the column 'Size' stands there twice"},
           Hostile{kColumns + "allocate,1\n", ":2: 2 values under 3 columns"},
           Hostile{kColumns + "allocate,1,2,3\n", ":2: 4 values under 3 columns"},
           Hostile{kColumns + "\nseize,1,2\n", ":3: the action is 'seize'; expected allocate, free"},
           Hostile{kColumns + std::string("\x1b[2J") + std::string(100, 'x') + ",1,2\n", "'?[2Jxxx"},
           Hostile{kColumns + "allocate,xyz,2\n", ":2: Pointer is 'xyz', which is no hexadecimal number"},
           Hostile{kColumns + "allocate,,2\n", ":2: Pointer is ''"},
           Hostile{kColumns + "allocate,0x,2\n", ":2: Pointer is '0x'"},
           Hostile{kColumns + "allocate,12345678123456781,2\n", ":2: Pointer is '12345678123456781'"},
           Hostile{kColumns + "allocate,1,-2\n", ":2: Size is '-2', which is no number"},
           Hostile{kColumns + "allocate,1,0x2\n", ":2: Size is '0x2'"},
           Hostile{kColumns + "allocate,1,1.5\n", ":2: Size is '1.5'"},
           Hostile{kColumns + "allocate,1,99999999999999999999\n", ":2: Size is '99999999999999999999'"},
           Hostile{kColumns + "allocate,1,70368744177665\n", ":2: Size is 70368744177665, more than any device has"},
           Hostile{kColumns + "allocate,1f,2\nallocate,0x1f,3\n", ":3: allocates 0x1f, which is live since line 2"},
           Hostile{kColumns + "allocate,1,2\nfree,1,2\nfree,1,2\n", ":4: frees 0x1, which line 3 freed already"},
           Hostile{kColumns + "free,1,2\nfree,1,2\n", ":3: frees 0x1, which line 2 freed already"},
           Hostile{kColumns + "allocate,1,2\nfree,1,3\n", ":3: frees 3 bytes, but line 2 allocated 2 there"},
           Hostile{"Action,Pointer,Size,Stream\nallocate,1,2,main\n", ":2: Stream is 'main'"},
           Hostile{kColumns + std::string(5000, 'a') + "\n", ":2: a line of more than 4096 characters"}));

TEST(AllocatorTrace, AFileThatIsNotThereIsNamed) {
  EXPECT_THROW(read_trace_file("/no/such/log.csv"), IoError);
  try {
    read_trace_file("/no/such/log.csv");
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/log.csv"));
  }
}

std::string training(const TrainingTraceOptions& options) {
  std::ostringstream out;
  write_training_trace(out, options);
  return out.str();
}

TEST(TrainingTrace, IsALogThatFreesAllItAllocates) {
  const Trace trace = read(training({.layers = 3, .steps = 4, .seed = 1}));
  // For each layer 2 parameters, 4 states; in each step 3 in the forward and 3 in the backward pass and 2 in the
  // update, beside the input and the gradient of the loss.
  EXPECT_EQ(trace.allocations, 3 * 6 + 4 * (3 * 8 + 2));
  EXPECT_EQ(trace.frees, trace.allocations);
  EXPECT_EQ(trace.live_at_end, 0);
}

TEST(TrainingTrace, DependsOnItsOptionsAlone) {
  EXPECT_EQ(training({.layers = 2, .steps = 2, .seed = 5}), training({.layers = 2, .steps = 2, .seed = 5}));
  EXPECT_NE(training({.layers = 2, .steps = 2, .seed = 5}), training({.layers = 2, .steps = 2, .seed = 6}));
}

TEST(TrainingTrace, NeedsLayersAndSteps) {
  EXPECT_THROW(training({.layers = 0}), InvalidArgumentError);
  EXPECT_THROW(training({.steps = 100001}), InvalidArgumentError);
}

}  // namespace
}  // namespace vellum::allocator_replay
