#include "vellum/tools/allocator_replay/report.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace vellum::allocator_replay {
namespace {

std::string mib(uint64_t bytes) { return absl::StrFormat("%.2f MiB", static_cast<double>(bytes) / (1 << 20)); }

// How many times what no allocator can do without; 1 where nothing was ever live.
double over_bound(const Trace& trace, const Outcome& outcome) {
  if (trace.max_live == 0) return 1;
  return static_cast<double>(outcome.reserved_peak) / static_cast<double>(trace.max_live);
}

std::string row(const Trace& trace, const Outcome& o) {
  return absl::StrFormat("%-16s %13s %7.3f %8d %8d %8d %8d %9.2f %9d %9d %9d\n", o.strategy,
                         mib(static_cast<uint64_t>(o.reserved_peak)), over_bound(trace, o), o.allocate.p50,
                         o.allocate.p99, o.free.p50, o.free.p99, static_cast<double>(o.total_ns) / 1e6,
                         o.upstream_allocations, o.upstream_frees, o.failures);
}

// The names of those whose value is smallest, in the order given.
template <typename Value>
std::string best(const std::vector<Outcome>& outcomes, Value value) {
  std::vector<const Outcome*> whole;
  for (const Outcome& o : outcomes)
    if (o.failures == 0) whole.push_back(&o);
  if (whole.empty()) return "none served every allocation";
  const auto least =
      std::min_element(whole.begin(), whole.end(), [&](auto* a, auto* b) { return value(*a) < value(*b); });
  std::string names;
  for (const Outcome* o : whole)
    if (value(*o) == value(**least)) names += (names.empty() ? "" : ", ") + o->strategy;
  return names;
}

}  // namespace

std::string summary(const Trace& trace, const std::string& name) {
  const std::string older =
      trace.older_frees ? absl::StrFormat(", %d frees of what is older than the log", trace.older_frees) : "";
  return absl::StrFormat(
      "%s: %d allocations, %d frees, %d left at the end, %d rows ignored%s; at most %s live at once\n", name,
      trace.allocations, trace.frees, trace.live_at_end, trace.ignored, older, mib(trace.max_live));
}

std::string table(const Trace& trace, const std::vector<Outcome>& outcomes) {
  std::string text = absl::StrFormat("%-16s %13s %7s %17s %17s %9s %19s %9s\n", "", "reserved", "times", "allocate, ns",
                                     "free, ns", "all, ms", "calls to the device", "failures");
  text += absl::StrFormat("%-16s %13s %7s %8s %8s %8s %8s %9s %9s %9s %9s\n", "strategy", "at most", "bound", "p50",
                          "p99", "p50", "p99", "", "allocate", "free", "");
  for (const Outcome& outcome : outcomes) text += row(trace, outcome);
  text += "least memory: " + best(outcomes, [](const Outcome& o) { return o.reserved_peak; });
  text += "; least time: " + best(outcomes, [](const Outcome& o) { return o.total_ns; }) + "\n";
  for (const Outcome& o : outcomes)
    if (o.lost_bytes != 0) text += absl::StrFormat("%s kept %d bytes for ever\n", o.strategy, o.lost_bytes);
  return text;
}

std::string json(const Trace& trace, const std::string& name, const std::vector<Outcome>& outcomes) {
  nlohmann::json out{{"trace",
                      {{"name", name},
                       {"allocations", trace.allocations},
                       {"frees", trace.frees},
                       {"live_at_end", trace.live_at_end},
                       {"ignored", trace.ignored},
                       {"older_frees", trace.older_frees},
                       {"max_live_bytes", trace.max_live}}},
                     {"strategies", nlohmann::json::array()}};
  for (const Outcome& o : outcomes)
    out["strategies"].push_back({{"strategy", o.strategy},
                                 {"reserved_peak_bytes", o.reserved_peak},
                                 {"reserved_over_bound", over_bound(trace, o)},
                                 {"allocate_p50_ns", o.allocate.p50},
                                 {"allocate_p99_ns", o.allocate.p99},
                                 {"free_p50_ns", o.free.p50},
                                 {"free_p99_ns", o.free.p99},
                                 {"total_ns", o.total_ns},
                                 {"upstream_allocations", o.upstream_allocations},
                                 {"upstream_frees", o.upstream_frees},
                                 {"failures", o.failures},
                                 {"lost_bytes", o.lost_bytes}});
  // A path may be no UTF-8.
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace vellum::allocator_replay
