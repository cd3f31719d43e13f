#ifndef VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_
#define VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_

#include <string>
#include <vector>

#include "vellum/tools/replay/case.h"

namespace vellum::replay {

// Cases whose results differ from PyTorch's for a reason. An empty field stands for any.
struct KnownDifference {
  std::string op, variant, dtype, device;
  std::string reason;
  // False where only the whole database shows it: a selection of cases may then pass.
  bool selected = true;
};

// Reads a JSON array of {"op": ..., "variant": ..., "dtype": ..., "device": ..., "reason": ..., "selected": ...} with
// `op` and `reason` always there. Throws IoError when the file is not like that.
std::vector<KnownDifference> read_known_differences(const std::string& path);

// Which of them were met: holds each case that differs or passes against the list.
class KnownDifferences {
 public:
  KnownDifferences() = default;
  KnownDifferences(std::vector<KnownDifference> list, Device device);

  // The reason why this case may differ, or null. `differs` says whether it does.
  const std::string* judge(const Case& c, bool differs);
  // Entries that cases were held against, none of which differed; and, if `complete`, those that no case met.
  std::vector<std::string> stale(bool complete) const;

 private:
  struct Entry {
    KnownDifference known;
    bool met = false, differed = false;
  };

  std::vector<Entry> entries_;
};

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_KNOWN_DIFFERENCES_H_
