#include "vellum/tools/replay/report.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace vellum::replay {
namespace {

std::string percent(int64_t part, int64_t all) {
  char text[16];
  std::snprintf(text, sizeof(text), "%5.1f %%",
                all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all));
  return text;
}

std::string counts(const Tally& t) {
  std::ostringstream out;
  out << t.passed << " passed, " << t.failed << " failed, " << t.unsupported << " unsupported";
  if (t.known) out << ", " << t.known << " known to differ";
  return out.str();
}

void list_reasons(std::ostream& out, const char* what, const std::map<std::string, int64_t>& reasons) {
  for (const auto& [reason, count] : reasons) out << "    " << what << " (" << count << "): " << reason << "\n";
}

}  // namespace

void Report::add(const std::string& label, const std::string& case_name, const Outcome& outcome) {
  Tally& tally = tallies_[label];
  switch (outcome.verdict) {
    case Verdict::kPassed:
      ++tally.passed;
      return;
    case Verdict::kUnsupported:
      ++tally.unsupported;
      ++tally.reasons[outcome.why];
      return;
    case Verdict::kFailed:
      ++tally.failed;
      tally.failures.push_back(case_name + ": " + outcome.why);
  }
}

void Report::add_known_difference(const std::string& label, const std::string& reason) {
  Tally& tally = tallies_[label];
  ++tally.known;
  ++tally.known_differences[reason];
}

Tally Report::total() const {
  Tally sum;
  for (const auto& [label, tally] : tallies_) {
    sum.passed += tally.passed;
    sum.failed += tally.failed;
    sum.unsupported += tally.unsupported;
    sum.known += tally.known;
  }
  return sum;
}

std::string Report::table(bool verbose) const {
  size_t width = 0;
  for (const auto& [label, tally] : tallies_) width = std::max(width, label.size());
  std::ostringstream out;
  for (const auto& [label, tally] : tallies_) {
    out << label << std::string(width + 2 - label.size(), ' ') << percent(tally.passed, tally.all()) << "  "
        << counts(tally) << "\n";
    for (const std::string& failure : tally.failures) {
      out << "    failed: " << failure << "\n";
      if (!verbose) break;
    }
    list_reasons(out, "known to differ", tally.known_differences);
    if (verbose) list_reasons(out, "unsupported", tally.reasons);
  }
  const Tally sum = total();
  out << percent(sum.passed, sum.all()) << " of " << sum.all() << " cases passed\n";
  return out.str();
}

std::string Report::last_line() const {
  const Tally sum = total();
  std::ostringstream out;
  out << sum.passed << " passed, " << sum.failed << " failed, " << sum.skipped() << " skipped";
  return out.str();
}

}  // namespace vellum::replay
