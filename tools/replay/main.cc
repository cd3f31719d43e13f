#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "vellum/device/error.h"
#include "vellum/tools/replay/replay.h"

ABSL_FLAG(std::string, device, "cpu", "the device that computes, by the name of its backend");
ABSL_FLAG(std::string, op, "", "only operators that match this regular expression as a whole, with their variant");
ABSL_FLAG(std::string, known, "", "a list of known differences, which then count as skipped");
ABSL_FLAG(bool, verbose, false, "tell what is unsupported, and why");

namespace vellum::replay {
namespace {

// `bazel run` starts the program elsewhere; people name paths from where they are.
std::string from_where_the_user_is(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return folder ? (std::filesystem::path(folder) / path).string() : path;
}

void show_progress(size_t file, size_t files, const std::string& path) {
  std::fprintf(stderr, "\r\033[K%zu of %zu: %s", file + 1, files, path.c_str());
}

Options options_from_flags() {
  Options options;
  options.device = Device(absl::GetFlag(FLAGS_device));
  if (const std::string op = absl::GetFlag(FLAGS_op); !op.empty()) {
    const auto pattern = std::make_shared<std::regex>(op);
    options.wanted = [pattern](const std::string& label) { return std::regex_match(label, *pattern); };
  }
  if (isatty(STDERR_FILENO)) options.progress = show_progress;
  return options;
}

KnownDifferences known_from_flags(Device device) {
  const std::string path = absl::GetFlag(FLAGS_known);
  if (path.empty()) return {};
  return {read_known_differences(from_where_the_user_is(path)), device};
}

int run(const std::vector<char*>& arguments) {
  if (arguments.size() < 2) throw_error<InvalidArgumentError>("no PATH of a case file or of a folder of them");
  std::vector<std::string> paths;
  for (size_t i = 1; i < arguments.size(); ++i) paths.push_back(from_where_the_user_is(arguments[i]));
  const Options options = options_from_flags();
  KnownDifferences known = known_from_flags(options.device);
  const Report report = replay(find_files(paths), options, known);
  if (options.progress) std::fputs("\r\033[K", stderr);
  std::fputs(report.table(absl::GetFlag(FLAGS_verbose)).c_str(), stdout);
  std::printf("%s\n", report.last_line().c_str());
  return report.total().failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vellum::replay

// replay [--device=NAME] [--op=REGEX] [--known=FILE] [--verbose] PATH...: exits with 0 where nothing failed, with 1
// where something did, and with 2 where it could not start.
int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("replays operator calls that PyTorch made and compares: replay PATH...");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  try {
    return vellum::replay::run(arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "replay: %s\n", e.what());
    return 2;
  }
}
