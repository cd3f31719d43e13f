#include "vellum/tools/replay/known_differences.h"

#include <fstream>
#include <set>
#include <string_view>

#include "vellum/device/error.h"

namespace vellum::replay {
namespace {

KnownDifference parse_entry(const nlohmann::json& value) {
  static const std::set<std::string_view> kKeys{"op", "variant", "dtype", "device", "reason", "selected"};
  for (const auto& [key, unused] : value.items())
    if (!kKeys.contains(key)) throw_error<IoError>("unknown key '", key, "'");
  KnownDifference known;
  known.op = value.at("op").get<std::string>();
  known.reason = value.at("reason").get<std::string>();
  known.variant = value.value("variant", "");
  known.dtype = value.value("dtype", "");
  known.device = value.value("device", "");
  known.selected = value.value("selected", true);
  return known;
}

bool fits(const std::string& pattern, std::string_view text) { return pattern.empty() || pattern == text; }

bool fits(const KnownDifference& known, const Case& c) {
  return fits(known.op, c.op) && fits(known.variant, c.variant) && fits(known.dtype, dtype_name(c.dtype()));
}

}  // namespace

std::vector<KnownDifference> read_known_differences(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw_error<IoError>(path, ": cannot be read");
  std::vector<KnownDifference> list;
  try {
    const nlohmann::json entries = nlohmann::json::parse(file);
    if (!entries.is_array()) throw_error<IoError>("no array");
    for (const nlohmann::json& entry : entries) list.push_back(parse_entry(entry));
  } catch (const std::exception& e) {
    throw_error<IoError>(path, ": entry ", list.size(), ": ", e.what(), "; see tools/replay/known_differences.h");
  }
  return list;
}

KnownDifferences::KnownDifferences(std::vector<KnownDifference> list, Device device) {
  for (KnownDifference& known : list)
    if (fits(known.device, device_type_name(device.type))) entries_.push_back({std::move(known)});
}

const std::string* KnownDifferences::judge(const Case& c, bool differs) {
  const std::string* reason = nullptr;
  for (Entry& entry : entries_) {
    if (!fits(entry.known, c)) continue;
    entry.met = true;
    entry.differed |= differs;
    if (differs && !reason) reason = &entry.known.reason;
  }
  return reason;
}

std::vector<std::string> KnownDifferences::stale(bool complete) const {
  std::vector<std::string> stale;
  for (const Entry& entry : entries_) {
    if (entry.differed || !entry.known.selected || (!entry.met && !complete)) continue;
    const KnownDifference& k = entry.known;
    stale.push_back(str_cat(k.op, k.variant.empty() ? "" : ".", k.variant, k.dtype.empty() ? "" : " of ", k.dtype,
                            ": known to differ (", k.reason, "), but ", entry.met ? "agrees" : "has no case",
                            "; take the entry out"));
  }
  return stale;
}

}  // namespace vellum::replay
