#ifndef VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_
#define VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vellum/tools/replay/case.h"
#include "vellum/tools/replay/compare.h"

namespace vellum::replay {

// Cases whose results differ from PyTorch's for a reason. What is left out stands for any.
struct KnownDifference {
  std::string op, variant, dtype, device;
  std::optional<std::vector<Dims>> shapes;  // of the case's operands, in the order of their names
  std::string reason;
  // How far they may differ; without it, in any way.
  std::optional<Tolerance> tolerance;
  // False where only the whole database shows it: a selection of cases may then pass.
  bool selected = true;
};

// Reads a JSON array of objects with the keys `op` and `reason` and, if need be, `variant`, `dtype`, `device`, `shapes`
// ([[3], [3]]), `tolerance` ([relative, absolute]) and `selected`. Several names in `op` or `dtype` stand for as many
// entries. Throws IoError when the file is not like that.
std::vector<KnownDifference> read_known_differences(const std::string& path);

// Which of them were met: holds each case that differs or passes against the list.
class KnownDifferences {
 public:
  KnownDifferences() = default;
  KnownDifferences(std::vector<KnownDifference> list, Device device);

  // The entry that this case differs by, or null. `differs` tells, for a tolerance or for none, whether it does.
  const KnownDifference* judge(const Case& c, const std::function<bool(const Tolerance*)>& differs);
  // What to take out of the list after the selected cases were held against it: entries of which no case differed.
  std::vector<std::string> stale() const;

 private:
  struct Entry {
    KnownDifference known;
    bool met = false, differed = false;
  };

  std::vector<Entry> entries_;
};

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_
