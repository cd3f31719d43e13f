#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/trace.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/adaptors_fixture.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using testing::Over;

using Action = TraceEvent::Action;

std::vector<std::string> described(const TraceLog& log) {
  std::vector<std::string> lines;
  for (const TraceEvent& event : log.events())
    lines.push_back(
        str_cat(static_cast<int>(event.action), " ", event.bytes, " ", event.stream.handle, " ", event.tag));
  return lines;
}

TEST(Trace, RecordsEachCallUnderItsAnnotations) {
  const auto log = std::make_shared<TraceLog>();
  Over<TraceAdaptor> over(log);
  const AnnotationScope module(Annotation::Kind::kModule, "encoder.0");
  Block block;
  {
    const AnnotationScope op(Annotation::Kind::kOperator, "linear");
    block = over.allocate(100, 3);
  }
  over.free(block);
  EXPECT_THAT(described(*log), ElementsAre("0 100 3 encoder.0/linear", "1 100 0 encoder.0"));
  const std::vector<TraceEvent> events = log->events();
  EXPECT_EQ(events[0].address, block.data);
  EXPECT_EQ(events[0].thread, events[1].thread);
  EXPECT_LE(events[0].time, events[1].time);
}

TEST(Trace, CountsTheEventsThatItOverwrites) {
  const auto log = std::make_shared<TraceLog>(3);
  Over<TraceAdaptor> over(log);
  for (size_t bytes = 1; bytes <= 5; ++bytes) over.allocate(bytes);
  EXPECT_THAT(described(*log), ElementsAre("0 3 0 ", "0 4 0 ", "0 5 0 "));
  EXPECT_EQ(log->overwritten(), 2);
  log->clear();
  EXPECT_EQ(log->overwritten(), 0);
  EXPECT_THAT(described(*log), ElementsAre());
  EXPECT_THROW(TraceLog(0), InvalidArgumentError);
}

TEST(Trace, BelowAStrategyItRecordsSegmentsAndPages) {
  const auto log = std::make_shared<TraceLog>();
  Over<TraceAdaptor> over(log, TraceLevel::kSegments);
  const Block block = over.allocate(4096);
  ASSERT_TRUE(over.adaptor.pages()->map(block.data, 8192).ok());
  ASSERT_TRUE(over.adaptor.pages()->unmap(block.data, 8192).ok());
  over.free(block);
  std::vector<Action> actions;
  for (const TraceEvent& event : log->events()) actions.push_back(event.action);
  EXPECT_THAT(actions,
              ElementsAre(Action::kSegmentAlloc, Action::kSegmentMap, Action::kSegmentUnmap, Action::kSegmentFree));
}

TEST(Trace, RecordsWhenMemoryHasRunOut) {
  testing::FakeUpstream::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  TraceAdaptor trace(std::make_unique<testing::FakeUpstream>(&counts, 10), log);
  Block block;
  EXPECT_EQ(trace.allocate(11, kDefaultAlignment, {}, &block).code, StatusCode::kOutOfMemory);
  ASSERT_EQ(log->events().size(), 1);
  EXPECT_EQ(log->events()[0].action, Action::kOom);
  EXPECT_EQ(log->events()[0].bytes, 11);
  EXPECT_EQ(log->events()[0].address, nullptr);
}

// The format as RMM's replay benchmark reads it.
TEST(Trace, ExportsTheFormatOfRMM) {
  testing::FakeUpstream::Counts counts;
  const auto log = std::make_shared<TraceLog>();
  TraceAdaptor trace(std::make_unique<testing::FakeUpstream>(&counts, 300), log);
  Block block, none;
  ASSERT_TRUE(trace.allocate(256, kDefaultAlignment, Stream{{}, 2}, &block).ok());
  EXPECT_FALSE(trace.allocate(100, kDefaultAlignment, {}, &none).ok());
  trace.deallocate(block, Stream{{}, 2});
  log->record(Action::kSegmentAlloc, nullptr, 1, {});  // has no line
  std::ostringstream out;
  log->write_csv(out);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0], "Thread,Time,Action,Pointer,Size,Stream");
  const std::string start = "[0-9]+,[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9][0-9][0-9][0-9][0-9][0-9],";
  EXPECT_THAT(lines[1], MatchesRegex(start + "allocate,0x[0-9a-f]+,256,2"));
  EXPECT_THAT(lines[2], MatchesRegex(start + "allocate failure,0x0,100,0"));
  EXPECT_THAT(lines[3], MatchesRegex(start + "free,0x[0-9a-f]+,256,2"));
  EXPECT_EQ(lines[1].substr(lines[1].find(",0x")), lines[3].substr(lines[3].find(",0x")));
}

TEST(Trace, SaysWhenItCannotBeWritten) {
  EXPECT_THROW(TraceLog().write_csv(::testing::TempDir() + "/no_such_folder/trace.csv"), IoError);
  const std::string path = ::testing::TempDir() + "/trace.csv";
  TraceLog().write_csv(path);
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "Thread,Time,Action,Pointer,Size,Stream");
}

TEST(Trace, ReplacesAFileInOneStep) {
  const std::string path = ::testing::TempDir() + "/replaced.csv";
  std::ofstream(path) << "old";
  std::ifstream old(path);
  TraceLog().write_csv(path);
  std::string line;
  std::getline(old, line);  // whoever has it open still reads the old one
  EXPECT_EQ(line, "old");
}

}  // namespace
}  // namespace vellum
