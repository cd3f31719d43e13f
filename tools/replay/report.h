#ifndef VELLUM_TOOLS_REPLAY_REPORT_H_
#define VELLUM_TOOLS_REPLAY_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vellum/tools/replay/run_case.h"

namespace vellum::replay {

// What came of the cases of one operator.
struct Tally {
  int64_t passed = 0, failed = 0, unsupported = 0, known = 0;
  std::vector<std::string> failures;                 // each names its case and the first difference
  std::map<std::string, int64_t> reasons;            // why cases are unsupported, with how many
  std::map<std::string, int64_t> known_differences;  // reasons, with how many

  int64_t skipped() const { return unsupported + known; }
  int64_t all() const { return passed + failed + skipped(); }
};

// Counts outcomes by operator and variant.
class Report {
 public:
  void add(const std::string& label, const std::string& case_name, const Outcome& outcome);
  void add_known_difference(const std::string& label, const std::string& reason);

  const std::map<std::string, Tally>& tallies() const { return tallies_; }
  Tally total() const;
  // A line for each operator; below it the first difference, or with `verbose` those of all cases and what is
  // unsupported and why.
  std::string table(bool verbose) const;
  // "12 passed, 0 failed, 3 skipped"
  std::string last_line() const;

 private:
  std::map<std::string, Tally> tallies_;
};

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_REPORT_H_
