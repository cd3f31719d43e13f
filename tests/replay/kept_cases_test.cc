#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "vellum/tests/replay/target.h"
#include "vellum/tools/replay/binding.h"
#include "vellum/tools/replay/replay.h"

// The cases in tests/replay/cases, a selection from PyTorch's operator database; see tools/replay_generate.py.

namespace vellum::replay {
namespace {

// Bound, but the database has no samples of them.
const std::set<std::string> kWithoutCases{"full"};

class KeptCases : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    known_ = KnownDifferences(read_known_differences("tests/replay/known_differences.json"), target());
    report_ = replay(find_files({"tests/replay/cases"}), {.device = target()}, known_);
    std::printf("%s%s\n", report_.table(true).c_str(), report_.last_line().c_str());
  }

  static inline KnownDifferences known_;
  static inline Report report_;
};

TEST_F(KeptCases, AgreeWithPyTorch) {
  for (const auto& [label, tally] : report_.tallies())
    for (const std::string& failure : tally.failures) ADD_FAILURE() << label << ": " << failure;
}

TEST_F(KeptCases, DifferWhereTheyAreKnownTo) {
  for (const std::string& stale : known_.stale()) ADD_FAILURE() << stale;
}

TEST_F(KeptCases, PassForEveryBinding) {
  std::set<std::string> missing;
  for (const std::string& op : bound_operators()) missing.insert(op);
  for (const auto& [label, tally] : report_.tallies())
    if (tally.passed > 0)
      for (std::string op = label; !op.empty(); op = op.substr(0, op.rfind('.') == op.npos ? 0 : op.rfind('.')))
        missing.erase(op);
  EXPECT_EQ(missing, kWithoutCases);
}

}  // namespace
}  // namespace vellum::replay
