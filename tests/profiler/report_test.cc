// What the table and the trace say, by a clock that moves by 1 us whenever it is read.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "vellum/device/thread_state.h"
#include "vellum/nn/module.h"
#include "vellum/tests/profiler/testing.h"

namespace vellum::testing {
namespace {

using ::testing::Not;
using ::testing::StartsWith;
using Kind = Annotation::Kind;

class Report : public ::testing::Test {
 protected:
  Report() {
    FakeClock::now = 0;
    FakeClock::tick = 1000;
  }
  ~Report() override { FakeClock::tick = 0; }

  // Two products and a sum under a label and a module.
  void record(ProfilerOptions options = {}) {
    const Tensor x = ones({4, 4});
    profiler_.emplace(with_fake_clock(options));
    const AnnotationScope label(Kind::kUser, "step");
    const nn::ModuleScope module("block");
    const Tensor y = add(mul(x, x), mul(x, x));
    profiler_->stop();
  }

  std::string path(const std::string& name) const { return std::string(std::getenv("TEST_TMPDIR")) + "/" + name; }

  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::optional<Profiler> profiler_;
};

TEST_F(Report, TableShowsOperatorsThenModules) {
  record();
  EXPECT_EQ("\n" + profiler_->table(), R"(
operator  calls     total      self  self %   average  bytes  self bytes
------------------------------------------------------------------------
mul           2  2.000 us  2.000 us  50.00%  1.000 us  128 B       128 B
add           1  1.000 us  1.000 us  25.00%  1.000 us   64 B        64 B
step          1  8.000 us  1.000 us  25.00%  8.000 us  192 B         0 B

module  calls     total      self   self %  backward  bytes  self bytes
-----------------------------------------------------------------------
block       1  7.000 us  7.000 us  100.00%  0.000 us  192 B       192 B

8.000 us in calls, 10.000 us recorded, on 1 thread
)");
}

TEST_F(Report, TableIsSortedAndCutAsAsked) {
  record();
  const auto first = [&](ProfilerSort by) {
    std::istringstream lines(profiler_->table({.sort_by = by, .rows = 1}));
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(lines, line);
    return line.substr(0, line.find(' '));
  };
  EXPECT_EQ(first(ProfilerSort::kSelfTime), "mul");
  EXPECT_EQ(first(ProfilerSort::kTotalTime), "step");
  EXPECT_EQ(first(ProfilerSort::kCalls), "mul");
  EXPECT_EQ(first(ProfilerSort::kBytes), "step");
  EXPECT_EQ(first(ProfilerSort::kSelfBytes), "mul");
  EXPECT_EQ(first(ProfilerSort::kName), "add");
  EXPECT_THAT(profiler_->table({.rows = 1}), Not(HasSubstr("add")));
}

TEST_F(Report, TableKeepsALabelOnOneLine) {
  profiler_.emplace(with_fake_clock());
  { const AnnotationScope label(Kind::kUser, "two\nlines " + std::string(100, 'x')); }
  profiler_->stop();
  EXPECT_THAT(profiler_->table(), HasSubstr("two?lines xxx"));
  EXPECT_THAT(profiler_->table(), HasSubstr("xxx...  "));
}

TEST_F(Report, OfNothingIsATableWithoutRows) {
  profiler_.emplace(with_fake_clock());
  profiler_->stop();
  EXPECT_THAT(profiler_->table(), StartsWith("operator  calls"));
  EXPECT_TRUE(profiler_->operators().empty());
}

TEST_F(Report, TraceHasEveryCallInMicrosecondsWithItsOperands) {
  record({.shapes = true});
  profiler_->write_trace(path("trace.json"));
  const std::string trace = read(path("trace.json"));
  EXPECT_THAT(trace, HasSubstr(R"("name":"step","cat":"user",)"));
  EXPECT_THAT(trace, HasSubstr(R"("ts":1.000,"dur":8.000,"args":{"bytes":192,"module":""}})"));
  EXPECT_THAT(trace, HasSubstr(R"("name":"block","cat":"module",)"));
  EXPECT_THAT(trace, HasSubstr(R"("ts":7.000,"dur":1.000,"args":{"bytes":64,"module":"block",)"
                               R"("dtypes":["float32","float32"],"shapes":[[4,4],[4,4]]}})"));
}

TEST_F(Report, TraceHasNoMoreEventsThanAllowedAndSaysSo) {
  record({.max_events = 3});
  profiler_->write_trace(path("short.json"));
  const std::string trace = read(path("short.json"));
  EXPECT_THAT(trace, HasSubstr(R"("dropped_events":2)"));
  size_t events = 0;
  for (size_t at = 0; (at = trace.find(R"("ph":"X")", at)) != std::string::npos; ++at) ++events;
  EXPECT_EQ(events, 3u);
}

TEST_F(Report, TraceThatCannotBeWrittenIsAnErrorAndLeavesWhatWasThere) {
  record();
  EXPECT_THAT(message_of<IoError>([&] { profiler_->write_trace(path("none/trace.json")); }),
              HasSubstr("none/trace.json: cannot be created: No such file or directory"));
  std::filesystem::create_directories(path("folder/inside"));
  EXPECT_THROW(profiler_->write_trace(path("folder")), IoError);
  EXPECT_TRUE(std::filesystem::exists(path("folder/inside")));
  for (const auto& entry : std::filesystem::directory_iterator(path("")))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

}  // namespace
}  // namespace vellum::testing
