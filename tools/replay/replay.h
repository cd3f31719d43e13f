#ifndef VELLUM_TOOLS_REPLAY_REPLAY_H_
#define VELLUM_TOOLS_REPLAY_REPLAY_H_

#include <functional>
#include <string>
#include <vector>

#include "vellum/tools/replay/known_differences.h"
#include "vellum/tools/replay/report.h"

namespace vellum::replay {

// The `.safetensors` files among the paths and in the folders among them, sorted. Throws IoError naming a path that is
// not there or a folder without such files.
std::vector<std::string> find_files(const std::vector<std::string>& paths);

struct Options {
  Device device = Device(kCPU);
  // Whether to replay the cases of an operator, by its name with its variant. Empty: all.
  std::function<bool(const std::string& label)> wanted = {};
  // Called before each file with its number among all.
  std::function<void(size_t file, size_t files, const std::string& path)> progress = {};
};

// Replays all cases of the files. A file or a case that is not as it should be counts as failed, and the others go on;
// a case that fails as `known` says counts apart.
Report replay(const std::vector<std::string>& files, const Options& options, KnownDifferences& known);

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_REPLAY_H_
