#include <algorithm>
#include <cstdio>
#include <tuple>

#include "vellum/allocator/memory.h"
#include "vellum/device/error.h"
#include "vellum/profiler/internal/report.h"

namespace vellum::internal {
namespace {

using std::chrono::nanoseconds;
using Row = std::vector<std::string>;

constexpr size_t kMaxNameWidth = 60;

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string format_time(nanoseconds time) {
  const double ns = static_cast<double>(time.count());
  if (ns < 1e6) return format("%.3f us", ns / 1e3);
  return ns < 1e9 ? format("%.3f ms", ns / 1e6) : format("%.3f s", ns / 1e9);
}

std::string format_share(nanoseconds part, nanoseconds whole) {
  const double share = whole.count() ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
  return format("%.2f%%", 100 * share);
}

// In one line, however the user chose a label.
std::string format_name(const std::string& name) {
  std::string text = name.size() <= kMaxNameWidth ? name : name.substr(0, kMaxNameWidth - 3) + "...";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string align(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  size_t width = 2 * (widths.size() - 1);
  for (const size_t w : widths) width += w;
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += rows[r][0] + std::string(widths[0] - rows[r][0].size(), ' ');
    for (size_t i = 1; i < widths.size(); ++i) text += std::string(widths[i] - rows[r][i].size() + 2, ' ') + rows[r][i];
    text += '\n';
    if (r == 0) text += std::string(width, '-') + '\n';
  }
  return text;
}

// Largest first, but names from a to z.
template <typename Profile>
void sort_by(std::vector<Profile>* list, std::string Profile::*name, ProfilerSort by) {
  const auto key = [by](const Profile& p) -> int64_t {
    switch (by) {
      case ProfilerSort::kSelfTime:
        return p.self.count();
      case ProfilerSort::kTotalTime:
        return p.total.count();
      case ProfilerSort::kCalls:
        return p.calls;
      case ProfilerSort::kSelfBytes:
        return p.self_bytes;
      case ProfilerSort::kBytes:
        return p.bytes;
      case ProfilerSort::kName:
        break;
    }
    return 0;
  };
  std::sort(list->begin(), list->end(), [&](const Profile& a, const Profile& b) {
    const int64_t of_a = key(a), of_b = key(b);
    return std::tie(of_b, a.*name) < std::tie(of_a, b.*name);
  });
}

template <typename Profile>
nanoseconds sum_of_self(const std::vector<Profile>& list) {
  nanoseconds sum{0};
  for (const Profile& p : list) sum += p.self;
  return sum;
}

std::string operator_table(std::vector<OperatorProfile> list, const ProfilerTableOptions& options) {
  sort_profiles(&list, options.sort_by);
  const nanoseconds all = sum_of_self(list);
  std::vector<Row> rows{{"operator", "calls", "total", "self", "self %", "average", "bytes", "self bytes"}};
  for (size_t i = 0; i < std::min(list.size(), static_cast<size_t>(options.rows)); ++i) {
    const OperatorProfile& p = list[i];
    rows.push_back({format_name(p.name), std::to_string(p.calls), format_time(p.total), format_time(p.self),
                    format_share(p.self, all), format_time(p.total / p.calls), format_bytes(p.bytes),
                    format_bytes(p.self_bytes)});
  }
  return align(rows);
}

std::string module_table(std::vector<ModuleProfile> list, const ProfilerTableOptions& options) {
  if (list.empty()) return "";
  sort_profiles(&list, options.sort_by);
  const nanoseconds all = sum_of_self(list);
  std::vector<Row> rows{{"module", "calls", "total", "self", "self %", "backward", "bytes", "self bytes"}};
  for (size_t i = 0; i < std::min(list.size(), static_cast<size_t>(options.rows)); ++i) {
    const ModuleProfile& p = list[i];
    rows.push_back({format_name(p.path), std::to_string(p.calls), format_time(p.total), format_time(p.self),
                    format_share(p.self, all), format_time(p.backward), format_bytes(p.bytes),
                    format_bytes(p.self_bytes)});
  }
  return align(rows) + '\n';
}

}  // namespace

std::vector<OperatorProfile> operator_profiles(const ProfilerSession& session) {
  std::vector<OperatorProfile> list;
  const std::vector<CallTotals>& calls = session.recording().calls;
  for (uint32_t name = 0; name < calls.size(); ++name) {
    const CallTotals& t = calls[name];
    if (name == kModuleName || t.calls == 0) continue;
    list.push_back(
        {session.name_of(name).text, t.calls, nanoseconds(t.total), nanoseconds(t.self), t.bytes, t.self_bytes});
  }
  return list;
}

std::vector<ModuleProfile> module_profiles(const ProfilerSession& session) {
  std::vector<ModuleProfile> list;
  const std::vector<ModuleTotals>& modules = session.recording().modules;
  for (uint32_t module = 1; module < modules.size(); ++module) {
    const ModuleTotals& t = modules[module];
    if (t.calls == 0 && t.backward == 0) continue;
    list.push_back({module_path(module), t.calls, nanoseconds(t.total), nanoseconds(t.self), nanoseconds(t.backward),
                    t.bytes, t.self_bytes});
  }
  return list;
}

void sort_profiles(std::vector<OperatorProfile>* list, ProfilerSort by) { sort_by(list, &OperatorProfile::name, by); }
void sort_profiles(std::vector<ModuleProfile>* list, ProfilerSort by) { sort_by(list, &ModuleProfile::path, by); }

std::string profile_table(const ProfilerSession& session, const ProfilerTableOptions& options) {
  const Recording& recording = session.recording();
  std::string text =
      operator_table(operator_profiles(session), options) + '\n' + module_table(module_profiles(session), options);
  text += str_cat(format_time(nanoseconds(recording.inside)), " in calls, ",
                  format_time(nanoseconds(session.end() - session.start())), " recorded, on ", session.threads(),
                  session.threads() == 1 ? " thread\n" : " threads\n");
  if (recording.dropped)
    text +=
        str_cat(recording.dropped, " calls are not in the trace: max_events is ", session.options().max_events, "\n");
  if (session.unfinished_threads())
    text += str_cat(session.unfinished_threads(), " threads were still recording and are left out\n");
  return text;
}

}  // namespace vellum::internal
