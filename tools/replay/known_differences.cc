#include "vellum/tools/replay/known_differences.h"

#include <array>
#include <fstream>
#include <set>
#include <string_view>

#include "vellum/device/error.h"

namespace vellum::replay {
namespace {

Dims parse_shape(const nlohmann::json& value) { return Dims(value.get<std::vector<int64_t>>()); }

std::vector<std::string> parse_names(const nlohmann::json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) return {""};
  if (found->is_string()) return {found->get<std::string>()};
  return found->get<std::vector<std::string>>();
}

KnownDifference parse_rest(const nlohmann::json& entry) {
  KnownDifference known;
  known.reason = entry.at("reason").get<std::string>();
  known.variant = entry.value("variant", "");
  known.device = entry.value("device", "");
  known.selected = entry.value("selected", true);
  if (entry.contains("shapes")) {
    known.shapes.emplace();
    for (const nlohmann::json& shape : entry["shapes"]) known.shapes->push_back(parse_shape(shape));
  }
  if (entry.contains("tolerance")) {
    const auto bounds = entry["tolerance"].get<std::array<double, 2>>();
    known.tolerance = {bounds[0], bounds[1]};
  }
  return known;
}

void parse_entry(const nlohmann::json& entry, std::vector<KnownDifference>& list) {
  static const std::set<std::string_view> kKeys{"op",     "variant", "dtype",     "device",
                                                "shapes", "reason",  "tolerance", "selected"};
  for (const auto& [key, unused] : entry.items())
    if (!kKeys.contains(key)) throw_error<IoError>("unknown key '", key, "'");
  KnownDifference known = parse_rest(entry);
  for (const std::string& op : parse_names(entry, "op")) {
    if (op.empty()) throw_error<IoError>("it names no 'op'");
    known.op = op;
    for (const std::string& dtype : parse_names(entry, "dtype")) {
      known.dtype = dtype;
      list.push_back(known);
    }
  }
}

bool fits(const std::string& pattern, std::string_view text) { return pattern.empty() || pattern == text; }

bool fits(const KnownDifference& known, const Case& c) {
  return (!known.shapes || *known.shapes == c.operand_shapes()) && fits(known.op, c.op) &&
         fits(known.variant, c.variant) && fits(known.dtype, dtype_name(c.dtype()));
}

}  // namespace

std::vector<KnownDifference> read_known_differences(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw_error<IoError>(path, ": cannot be read");
  std::vector<KnownDifference> list;
  size_t read = 0;
  try {
    const nlohmann::json entries = nlohmann::json::parse(file);
    if (!entries.is_array()) throw_error<IoError>("no array");
    for (const nlohmann::json& entry : entries) {
      parse_entry(entry, list);
      ++read;
    }
  } catch (const std::exception& e) {
    throw_error<IoError>(path, ": entry ", read, ": ", e.what(), "; see tools/replay/known_differences.h");
  }
  return list;
}

KnownDifferences::KnownDifferences(std::vector<KnownDifference> list, Device device) {
  for (KnownDifference& known : list)
    if (fits(known.device, device_type_name(device.type))) entries_.push_back({std::move(known)});
}

const KnownDifference* KnownDifferences::judge(const Case& c, const std::function<bool(const Tolerance*)>& differs) {
  const KnownDifference* explains = nullptr;
  const bool fails = differs(nullptr);
  for (Entry& entry : entries_) {
    if (!fits(entry.known, c)) continue;
    entry.met = true;
    entry.differed |= fails;
    if (!fails || explains) continue;
    if (!entry.known.tolerance || !differs(&*entry.known.tolerance)) explains = &entry.known;
  }
  return explains;
}

std::vector<std::string> KnownDifferences::stale() const {
  std::vector<std::string> stale;
  for (const Entry& entry : entries_) {
    if (entry.differed || !entry.known.selected) continue;
    const KnownDifference& k = entry.known;
    stale.push_back(str_cat(k.op, k.variant.empty() ? "" : ".", k.variant, k.dtype.empty() ? "" : " of ", k.dtype,
                            ": known to differ (", k.reason, "), but ", entry.met ? "agrees" : "has no case",
                            "; take the entry out"));
  }
  return stale;
}

}  // namespace vellum::replay
