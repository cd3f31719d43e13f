#include "vellum/tests/conformance/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "vellum/device/error.h"

namespace vellum::conformance {
namespace {

constexpr size_t kShownFailures = 8;

using Counts = std::map<std::string, std::map<std::string, int64_t>>;

Counts& counts() {
  static Counts& instance = *new Counts;
  return instance;
}

// Prints how many checks ran for each operator in each suite.
class CountPrinter : public ::testing::Environment {
 public:
  void TearDown() override {
    std::map<std::string, int64_t> totals;
    int64_t all = 0;
    for (const auto& [op, suites] : counts()) {
      std::string line;
      for (const auto& [suite, n] : suites) {
        line += str_cat("  ", suite, " ", n);
        totals[suite] += n;
        all += n;
      }
      std::printf("%-22s%s\n", op.c_str(), line.c_str());
    }
    std::string line;
    for (const auto& [suite, n] : totals) line += str_cat("  ", suite, " ", n);
    std::printf("%-22s%s\n%lld checks of %zu operators on %s\n", "all", line.c_str(), static_cast<long long>(all),
                counts().size(), std::string(target().device).c_str());
  }
};

[[maybe_unused]] ::testing::Environment* const kPrinter = ::testing::AddGlobalTestEnvironment(new CountPrinter);

bool fits(std::string_view pattern, std::string_view text) { return pattern == "*" || pattern == text; }

}  // namespace

Verdict::Verdict(std::string_view suite, std::string_view op) : suite_(suite), op_(op) {
  for (const ExpectedFailure& e : target().expected_failures)
    if (e.suite == suite && fits(e.op, op)) expected_.push_back(e);
}

Verdict::Verdict(std::string_view suite, std::string_view op, std::vector<ExpectedFailure> expected)
    : suite_(suite), op_(op), expected_(std::move(expected)), reports_(false) {}

Verdict::~Verdict() {
  if (!reports_) return;
  const std::vector<std::string> all = complaints();
  for (size_t i = 0; i < std::min(all.size(), kShownFailures); ++i) ADD_FAILURE() << all[i];
  if (all.size() > kShownFailures) ADD_FAILURE() << op_ << ": " << all.size() - kShownFailures << " more";
}

void Verdict::add(DType dtype, Layout layout, std::string_view what, const std::string& wrong) {
  if (reports_) ++counts()[std::string(op_)][std::string(suite_)];
  if (wrong.empty()) return;
  failures_.push_back({dtype, layout, str_cat(op_, "(", dtype, ", ", layout_name(layout), ") ", what, ": ", wrong)});
}

std::vector<std::string> Verdict::complaints() const {
  std::vector<std::string> out;
  std::vector<bool> came(expected_.size());
  for (const Failure& f : failures_) {
    bool known = false;
    for (size_t i = 0; i < expected_.size(); ++i) {
      if (!fits(expected_[i].dtype, dtype_name(f.dtype)) || !fits(expected_[i].layout, layout_name(f.layout))) continue;
      known = came[i] = true;
    }
    if (!known) out.push_back(f.text);
  }
  for (size_t i = 0; i < expected_.size(); ++i)
    if (!came[i])
      out.push_back(str_cat(op_, "(", expected_[i].dtype, ", ", expected_[i].layout, "): expected to fail (",
                            expected_[i].reason, ") but passes; take the entry out"));
  return out;
}

}  // namespace vellum::conformance
